import { expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { isFull } from "../../../src/base/testing/full.ts";
import type { ReleaseManifest } from "../../../src/crds/kinds/release-content.ts";
import { RELEASE_FIELD_MANAGER, rolloutAccount } from "../../../src/crds/release-names.ts";
import type { Intent, Pruned, RolloutHands } from "../../../src/operator/rollouts/hands/hands.ts";
import { eventually, signal } from "../../world/wait.ts";
import { configMap, deployment, type Live, member, useHands } from "./hands-world.ts";

// What a release leaves, takes back and lets go, and that a crash at any point of it changes nothing.

const cluster = useCluster({ controllers: true, kwok: { nodes: 1 } });
const world = useHands(cluster);

async function install(intent: Intent): Promise<void> {
  const hands = await world.hands();
  const waves = new Set(intent.objects.map(({ wave }) => wave));
  for (const wave of [...waves].sort()) {
    expect((await hands.apply(intent, wave, world.until(), signal())).failures).toEqual([]);
  }
}

const pruned = (hands: RolloutHands, intent: Intent): Promise<Pruned> =>
  eventually(
    () => hands.prune(intent, world.until(), signal()),
    ({ waiting }) => waiting === 0,
  );

const claim = (namespace: string, name: string): ReleaseManifest => ({
  ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name, namespace } },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});

test("prune deletes what the release made and has no more, and leaves claims, the setup and all that is not its own", async () => {
  const shop = await world.namespace();
  const former = [
    member(configMap(shop, "kept", {})),
    member(deployment(shop, "api"), { wave: 1 }),
    member(configMap(shop, "gone", {})),
    member(configMap(shop, "released", {})),
    member(configMap(shop, "written-by-hand", {})),
    member(configMap(shop, "setup", {}), { frozen: true }),
    member(claim(shop, "data")),
  ];
  const made = former.filter(({ resourceId }) => resourceId !== "written-by-hand");
  await install(await world.intent("install", { objects: made, namespaces: [shop] }));
  // The customer's: of the same look with our labels, one whose labels they have removed, one of another name.
  const lookAlike = member(configMap(shop, "look-alike", {})).manifest;
  const byHand = member(configMap(shop, "written-by-hand", {})).manifest;
  await world.change(lookAlike);
  await world.change(byHand);
  const unlabel = { metadata: { labels: null } };
  const path = `/api/v1/namespaces/${shop}/configmaps/released`;
  await world.send("PATCH", path, unlabel, "application/merge-patch+json");
  const intent = await world.intent("update", { objects: former.slice(0, 1), former, namespaces: [shop] });
  const hands = await world.hands();
  const { apiVersion, kind, metadata } = deployment(shop, "api");
  const holding = (finalizers: readonly string[]) =>
    world.change({ apiVersion, kind, metadata: { ...metadata, finalizers } as never });
  await holding(["example.com/wait"]);
  const first = await hands.prune(intent, world.until(), signal());
  expect(first).toMatchObject({ deleted: 0, left: [] });
  expect(first.waiting).toBeGreaterThan(1);
  expect(await world.read(configMap(shop, "gone", {}))).not.toHaveProperty("metadata.deletionTimestamp");
  await holding([]);
  const { deleted, left } = await pruned(hands, intent);
  expect(deleted).toBe(2);
  expect(left).toEqual(
    expect.arrayContaining([
      { ref: `PersistentVolumeClaim/${shop}/data`, message: expect.stringContaining("never deleted") },
      { ref: `ConfigMap/${shop}/released`, message: expect.stringContaining("labels") },
      { ref: `ConfigMap/${shop}/written-by-hand`, message: expect.stringContaining("no release has applied it") },
      { ref: `ConfigMap/${shop}/setup`, message: expect.stringContaining("setup") },
    ]),
  );
  expect(left).toHaveLength(4);
  const names = ["kept", "released", "written-by-hand", "look-alike", "setup"];
  const there = await Promise.all(names.map((name) => world.read(configMap(shop, name, {}))));
  expect(there.map((live) => live?.metadata.name)).toEqual(names);
  expect(await world.read(claim(shop, "data"))).not.toHaveProperty("metadata.deletionTimestamp");
  expect(await world.read(deployment(shop, "api"))).toBeUndefined();
  expect(await world.pods(shop)).toEqual([]);
});

test("what a setup that failed made goes also when it is frozen, as the plan says; what is older, and claims, stay", async () => {
  const shop = await world.namespace();
  const frozen = { frozen: true };
  const former = [
    member(configMap(shop, "live", {})),
    member(configMap(shop, "made", {}), frozen),
    member(claim(shop, "data"), frozen),
  ];
  await install(await world.intent("install", { objects: former, namespaces: [shop] }));
  const refs = new Set([`ConfigMap/${shop}/live`, `ConfigMap/${shop}/made`, `PersistentVolumeClaim/${shop}/data`]);
  const next = (since: string, of = refs) =>
    world.intent("install", { former, unfinished: { since, refs: of }, namespaces: [shop] });
  const hands = await world.hands();
  const made = { ref: `ConfigMap/${shop}/made`, message: expect.stringContaining("setup") };
  const data = { ref: `PersistentVolumeClaim/${shop}/data`, message: expect.stringContaining("never deleted") };
  // It was there before: a rollout that failed has adopted it, or an earlier setup made it.
  const older = (name: string) => ({
    ref: `ConfigMap/${shop}/${name}`,
    message: expect.stringContaining("was there before"),
  });
  const all = { deleted: 0, waiting: 0, left: [older("live"), older("made"), data] };
  expect(await pruned(hands, await next("2999-01-01T00:00:00Z"))).toEqual(all);
  // The content that came up has it.
  const cameUp = await next("2000-01-01T00:00:00Z", new Set());
  expect(await pruned(hands, { ...cameUp, former: former.slice(1) })).toMatchObject({ deleted: 0, left: [made, data] });
  const intent = await next("2000-01-01T00:00:00Z");
  const { plan } = await hands.plan(intent, signal());
  expect(plan.changes).toEqual(["live", "made"].map((name) => `delete ConfigMap/${shop}/${name}`));
  expect(await pruned(hands, intent)).toMatchObject({ deleted: 2, left: [data] });
});

test("a deletion tells of the claims that a StatefulSet has made, and of what an earlier release has left", async () => {
  const shop = await world.namespace();
  const { spec } = deployment(shop, "db") as { spec?: object };
  const { spec: wanted } = claim(shop, "data");
  const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: wanted }];
  const db: ReleaseManifest = {
    ...{ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "db", namespace: shop } },
    spec: { ...spec, serviceName: "db", volumeClaimTemplates },
  };
  const dropped = member(configMap(shop, "dropped", {}), { frozen: true });
  const former = [member(db), member(configMap(shop, "api", {}))];
  await install(await world.intent("install", { objects: [...former, dropped], namespaces: [shop] }));
  const made = claim(shop, "data-db-0");
  await eventually(
    () => world.read(made),
    (live) => live !== undefined,
  );
  // The customer's: of the same look, and one that only has our label.
  await world.change(claim(shop, "theirs"));
  await world.change(member(configMap(shop, "by-hand", {})).manifest);
  const intent = await world.intent("delete", { former, namespaces: [shop] });
  const hands = await world.hands();
  expect(await pruned(hands, intent)).toEqual({ deleted: 2, waiting: 0, left: [] });
  const { left } = await hands.leftBehind(intent, world.until(), signal());
  expect(left).toEqual([
    { ref: `ConfigMap/${shop}/dropped`, message: "an earlier release has left it" },
    { ref: `PersistentVolumeClaim/${shop}/data-db-0`, message: expect.stringContaining("never deleted") },
  ]);
  expect(await world.read(made)).not.toHaveProperty("metadata.deletionTimestamp");
});

test("a deletion that finalizers hold is waited for, and after five minutes they are named", async () => {
  const shop = await world.namespace();
  const manifest = configMap(shop, "held", {});
  const former = [member(manifest), member(configMap(shop, "free", {}))];
  await install(await world.intent("install", { objects: former, namespaces: [shop] }));
  await world.change({ ...manifest, metadata: { ...manifest.metadata, finalizers: ["example.com/wait"] } as never });
  const intent = await world.intent("delete", { former, namespaces: [shop] });
  const hands = await world.hands();
  // The garbage collector takes its own finalizer off either.
  const look = () => hands.prune(intent, world.until(), signal());
  const waiting = await eventually(look, ({ deleted }) => deleted === 1);
  expect(waiting).toEqual({ deleted: 1, waiting: 1, left: [] });
  world.clock.shiftMs = 301_000;
  const held = await eventually(look, ({ left }) => left[0]?.message.includes("foregroundDeletion") === false);
  const message = "its deletion waits for the finalizers example.com/wait";
  expect(held).toEqual({ deleted: 1, waiting: 0, left: [{ ref: `ConfigMap/${shop}/held`, message }] });
  world.clock.shiftMs = 0;
});

test("what is detached stays as it is, and is the customer's alone", async () => {
  const shop = await world.namespace();
  const api = deployment(shop, "api");
  const former = [member(api), member(configMap(shop, "settings", { a: "1" }))];
  await install(await world.intent("install", { objects: former, namespaces: [shop] }));
  await world.ready(api);
  const [pod] = await world.pods(shop);
  const intent = await world.intent("detach", { former, namespaces: [shop] });
  const hands = await world.hands();
  const { plan, problems } = await hands.plan(intent, signal());
  expect(problems).toEqual([]);
  expect(plan).toMatchObject({ create: 0, change: 2, prune: 0 });
  expect(plan.changes).toContain(`change ConfigMap/${shop}/settings: .metadata.labels, .metadata.managedFields`);
  expect(await hands.detach(intent, world.until(), signal())).toMatchObject({ changed: 2, failures: [] });
  expect(await hands.detach(intent, world.until(), signal())).toMatchObject({ changed: 0, unchanged: 2, failures: [] });
  for (const { manifest } of former) {
    const live = await world.read(manifest);
    expect(Object.keys(live?.metadata.labels ?? {})).toEqual([]);
    expect(live?.metadata.managedFields?.map(({ manager }) => manager) ?? []).not.toContain(RELEASE_FIELD_MANAGER);
    expect(live).toMatchObject(manifest.kind === "ConfigMap" ? { data: { a: "1" } } : { spec: { replicas: 1 } });
  }
  expect((await world.pods(shop)).map(({ metadata }) => metadata.uid)).toEqual([pod?.metadata.uid]);
  expect(await hands.prune(intent, world.until(), signal())).toMatchObject({ deleted: 0, waiting: 0 });
});

test("close takes accounts and bindings away, again and again; what a crash leaves is found by label", async () => {
  const shop = await world.namespace();
  const objects = [member(configMap(shop, "a", {}))];
  const intent = await world.intent("install", { objects, namespaces: [shop] });
  await install(intent);
  const { rollout } = intent;
  const account = rolloutAccount(rollout);
  expect(await world.lent(intent, shop)).toEqual([`RoleBinding ${account}`, `ServiceAccount ${account}`]);
  const hands = await world.hands();
  await hands.close(rollout, [shop], signal());
  await hands.close(rollout, [shop], signal());
  expect(await world.lent(intent, shop)).toEqual([]);
});

test("a crash after any request, and a run anew, end in the same state", async () => {
  const run = async (crashAfter: number): Promise<{ hasCrashed: boolean; end: unknown }> => {
    const shop = await world.namespace();
    const former = [member(configMap(shop, "gone", {})), member(configMap(shop, "changed", { a: "1", b: "1" }))];
    await install(await world.intent("install", { objects: former, namespaces: [shop] }));
    await world.change(configMap(shop, "changed", { b: "theirs" }));
    const objects = [
      member(configMap(shop, "changed", { a: "2", b: "2", c: "2" })),
      member(configMap(shop, "new", { a: "1" }), { wave: 1 }),
    ];
    const intent = await world.intent("update", { objects, former, namespaces: [shop] });
    const until = world.until();
    const whole = async (hands: RolloutHands): Promise<unknown> => {
      const { plannedDigest } = await hands.plan(intent, signal());
      await hands.apply(intent, 0, until, signal());
      await hands.apply(intent, 1, until, signal());
      const health = await hands.health(intent, 1, new Date(), until, signal());
      const { left } = await pruned(hands, intent);
      await hands.close(intent.rollout, [shop], signal());
      return { hasDigest: plannedDigest !== "", verdict: health.verdict, left };
    };
    let sent = 0;
    const after = (): void => {
      sent += 1;
      if (sent >= crashAfter) throw new Error("crashed");
    };
    const crashed = await whole(await world.hands({ after })).catch((error: unknown) => String(error));
    const hasCrashed = String(crashed).includes("crashed");
    const said = await whole(await world.hands());
    const names = ["changed", "new", "gone"];
    const there = await Promise.all(names.map((name) => world.read(configMap(shop, name, {}))));
    return { hasCrashed, end: { said, there: there.map(state), lent: await world.lent(intent, shop) } };
  };
  const state = (live: Live | undefined): unknown =>
    live && [live.data, live.metadata.managedFields?.map(({ manager }) => manager)];
  const whole = await run(Number.POSITIVE_INFINITY);
  expect(whole).toMatchObject({
    hasCrashed: false,
    end: {
      said: { verdict: "healthy", left: [] },
      there: [[{ a: "2", b: "theirs", c: "2" }, expect.anything()], [{ a: "1" }, expect.anything()], undefined],
      lent: [],
    },
  });
  // Each request in a full run, else each seventh.
  const every = isFull ? 1 : 7;
  let crashAfter = 1;
  for (; ; crashAfter += every) {
    const { hasCrashed, end } = await run(crashAfter);
    expect(end, `after ${crashAfter} requests`).toEqual(whole.end);
    if (!hasCrashed) break;
  }
  expect(crashAfter).toBeGreaterThan(40);
}, 300_000);

test("a hundred objects are planned, applied and applied again in a reasonable time", async () => {
  const shop = await world.namespace();
  const names = Array.from({ length: 100 }, (_, index) => `app-${index}`);
  const objects = names.map((name) => member(deployment(shop, name, { replicas: 0 })));
  const intent = await world.intent("install", { objects, namespaces: [shop] });
  const hands = await world.hands();
  const times: string[] = [];
  const timed = async <T>(what: string, work: Promise<T>): Promise<T> => {
    const startedMs = performance.now();
    const result = await work;
    times.push(`${what} ${Math.round(performance.now() - startedMs)} ms`);
    return result;
  };
  expect((await timed("plan", hands.plan(intent, signal()))).plan.create).toBe(100);
  const apply = () => hands.apply(intent, 0, world.until(), signal());
  expect(await timed("apply", apply())).toMatchObject({ created: 100, failures: [] });
  expect(await timed("apply again", apply())).toMatchObject({ unchanged: 100, failures: [] });
  await timed("health", hands.health(intent, 0, new Date(), world.until(), signal()));
  process.stdout.write(`100 Deployments: ${times.join(", ")}\n`);
});
