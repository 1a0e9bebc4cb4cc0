import { describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { ReleaseManifest } from "../../../src/crds/kinds/release-content.ts";
import type { WireRequest } from "../../../src/kube/client/connection.ts";
import type { Intent } from "../../../src/operator/rollouts/hands/hands.ts";
import { PROBE } from "../../../src/operator/rollouts/hands/planning/dry-run-proof.ts";
import { eventually, signal } from "../../world/wait.ts";
import { configMap, type DeploymentOptions, deployment, member, useHands } from "./hands-world.ts";

const cluster = useCluster({ controllers: true, kwok: { nodes: 1 } });
const world = useHands(cluster);

const image = (live: Awaited<ReturnType<typeof world.read>>): string | undefined =>
  live?.spec?.template?.spec.containers[0]?.image;

async function install(intent: Intent, waves = 1): Promise<void> {
  const hands = await world.hands();
  for (let wave = 0; wave < waves; wave += 1) {
    expect((await hands.apply(intent, wave, world.until(), signal())).failures).toEqual([]);
  }
}

/** Of the customer's own: its pods start without the ConfigMap, and take it when it is there. */
function optionallyReading(shop: string, name: string, configMapName: string): ReleaseManifest {
  const envFrom = [{ configMapRef: { name: configMapName, optional: true } }];
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "theirs:1", envFrom }] } };
  const spec = { selector: { matchLabels: labels }, template };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace: shop }, spec };
}

describe("a plan", () => {
  test("shows what would be done, changes nothing, and leaves no account", async () => {
    const shop = await world.namespace();
    const kept = configMap(shop, "kept", { a: "1" });
    const going = configMap(shop, "going", { a: "1" });
    const former = [member(kept), member(going), member(deployment(shop, "api"))];
    await install(await world.intent("install", { objects: former, namespaces: [shop] }));
    const next = deployment(shop, "api", { image: "registry.example/app:2" });
    const spec = { selector: { app: "api" }, ports: [{ port: 80 }] };
    await world.change({ apiVersion: "v1", kind: "Service", metadata: { name: "theirs", namespace: shop }, spec });
    await world.change(optionallyReading(shop, "waiting", "new"));
    const objects = [member(kept), member(next), member(configMap(shop, "new", {}), { wave: 1 })];
    const before = await Promise.all([kept, going, next].map((each) => world.read(each)));
    const intent = await world.intent("update", { objects, former, namespaces: [shop] });
    const hands = await world.hands();
    const { plan, problems, plannedDigest } = await hands.plan(intent, signal());
    expect(problems).toEqual([]);
    expect(plan).toEqual({
      ...{ create: 1, change: 1, prune: 1, unchanged: 1 },
      changes: [
        `delete ConfigMap/${shop}/going`,
        `your Deployment ${shop}/waiting names ConfigMap new, which is new`,
        `pods of Deployment ${shop}/api match your Service ${shop}/theirs`,
        "comes to 1 pod at most",
        `runs registry.example/app:2, new in this release, in Deployment.apps/${shop}/api`,
        `change Deployment.apps/${shop}/api: .spec.template.spec.containers[name="c"].image`,
        `create ConfigMap/${shop}/new`,
      ],
    });
    const versions = (all: typeof before) => all.map((each) => each?.spec ?? each?.metadata.resourceVersion);
    expect(versions(await Promise.all([kept, going, next].map((each) => world.read(each))))).toEqual(versions(before));
    expect(await world.read(configMap(shop, "new", {}))).toBeUndefined();
    expect(await world.lent(intent, shop)).toEqual([]);
    expect((await hands.plan(intent, signal())).plannedDigest).toBe(plannedDigest);
    await world.change(configMap(shop, "going", { b: "theirs" }));
    expect((await hands.plan({ ...intent, former: [] }, signal())).plannedDigest).not.toBe(plannedDigest);
  });

  test("says what does not run while it is updated, and what a way back would leave", async () => {
    const shop = await world.namespace();
    const updated = (strategy: object, name: string, image: string): ReleaseManifest => {
      const { spec, ...rest } = deployment(shop, name, { image });
      return { ...rest, spec: { ...(spec as object), strategy } };
    };
    const recreated = (name: string, image: string) => updated({ type: "Recreate" }, name, image);
    // The API server refuses the change where it has filled these numbers in itself.
    const oneByOne = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    const former = [
      member(recreated("db", "registry.example/db:1")),
      member(recreated("same", "registry.example/db:1")),
      member(deployment(shop, "api")),
      member(updated(oneByOne, "turned", "registry.example/app:1")),
    ];
    await install(await world.intent("install", { objects: former, namespaces: [shop] }));
    const policy: ReleaseManifest = {
      ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name: "new", namespace: shop } },
      spec: { podSelector: { matchLabels: { app: "api" } } },
    };
    const objects = [
      member(recreated("db", "registry.example/db:2")),
      member(recreated("same", "registry.example/db:1")),
      member(deployment(shop, "api", { image: "registry.example/app:2" })),
      member(recreated("turned", "registry.example/app:1")),
      member(policy),
      member(configMap(shop, "new", {})),
    ];
    const hands = await world.hands();
    const closed = ["Service/jobs/api", "Deployment.apps/jobs/api"];
    const of = async (action: "install" | "update") =>
      (await hands.plan(await world.intent(action, { objects, former, closed, namespaces: [shop] }), signal())).plan;
    const { changes = [], refused = [] } = await of("update");
    expect(refused).toEqual([]);
    const stops = ["db", "turned"].map(
      (name) => `stops Deployment.apps/${shop}/${name} while its pods are replaced: its strategy is Recreate`,
    );
    const left = "leaves 2 objects in jobs, where the deployment is not accepted any more";
    expect(changes.slice(0, 4)).toEqual([
      left,
      `leaves new NetworkPolicy.networking.k8s.io in ${shop} when it is taken back: the role of releases lacks delete`,
      ...stops,
    ]);
    expect(changes.filter((line) => /^(stops|leaves)/.test(line))).toHaveLength(4);
    // There is no way back from the first one.
    expect(((await of("install")).changes ?? []).slice(0, 3)).toEqual([left, ...stops]);
  });

  test("collects what speaks against it: an immutable field, a strange object, a rule, labels, a lacking right", async () => {
    const shop = await world.namespace();
    await install(await world.intent("install", { objects: [member(deployment(shop, "api"))], namespaces: [shop] }));
    await world.change(configMap(shop, "theirs", { a: "1" }));
    const budget: ReleaseManifest = {
      ...{ apiVersion: "policy/v1", kind: "PodDisruptionBudget" },
      ...{ metadata: { name: "pdb", namespace: shop }, spec: { minAvailable: 1 } },
    };
    const unlabelled = { wave: 0, frozen: false, resourceId: "x", manifest: configMap(shop, "unlabelled", {}) };
    const objects = [
      member(deployment(shop, "api", { app: "other" })),
      member(configMap(shop, "theirs", { a: "2" })),
      member(configMap("kube-system", "elsewhere", {})),
      unlabelled,
      member(budget),
      member(configMap(shop, "fine", { a: "1" })),
    ];
    const intent = await world.intent("update", { objects, namespaces: [shop] });
    const { plan, problems } = await (await world.hands()).plan(intent, signal());
    expect(problems.toSorted((one, other) => (one.ref < other.ref ? -1 : 1))).toEqual([
      { ref: "ConfigMap/kube-system/elsewhere", message: expect.stringContaining("kube-system") },
      { ref: `ConfigMap/${shop}/theirs`, message: expect.stringContaining("NotOurs") },
      { ref: `ConfigMap/${shop}/unlabelled`, message: expect.stringContaining("labels") },
      { ref: `Deployment.apps/${shop}/api`, message: "spec.selector: field is immutable" },
      {
        ref: `PodDisruptionBudget.policy/${shop}/`,
        message: expect.stringMatching(/role .* get, create, patch/),
      },
    ]);
    expect(plan).toMatchObject({ create: 1, change: 0, refused: problems });
  });

  test("says which field has another type than its kind's, which the API server answers as if it were its own fault", async () => {
    const shop = await world.namespace();
    const objects = [member(configMap(shop, "mode", { on: true } as unknown as Record<string, string>))];
    const intent = await world.intent("install", { objects, namespaces: [shop] });
    expect((await (await world.hands()).plan(intent, signal())).problems).toEqual([
      { ref: `ConfigMap/${shop}/mode`, message: expect.stringContaining(".data.on: expected string") },
    ]);
  });

  test("is not made without the policy that holds it to dry runs, and is made once the policy is there", async () => {
    const shop = await world.namespace();
    const objects = [member(configMap(shop, "new", {}))];
    const intent = await world.intent("install", { objects, namespaces: [shop] });
    const hands = await world.hands();
    await world.policy(false);
    try {
      await eventually(
        () => hands.plan(intent, signal()),
        ({ problems }) => problems[0]?.message.includes("sallyport-plan-accounts") === true,
      );
      // The garbage collector ends its deletion.
      await eventually(
        async () => ({ probe: await world.read(configMap(shop, PROBE, {})) }),
        ({ probe }) => probe === undefined,
      );
    } finally {
      await world.policy(true);
    }
    expect(await hands.plan(intent, signal())).toMatchObject({ problems: [], plan: { create: 1 } });
  });
});

describe("an apply", () => {
  test("of the same again writes nothing", async () => {
    const shop = await world.namespace();
    const manifests = [deployment(shop, "api", { replicas: 0 }), configMap(shop, "settings", { a: "1" })];
    const intent = await world.intent("install", {
      objects: manifests.map((each) => member(each)),
      namespaces: [shop],
    });
    const hands = await world.hands();
    const first = await hands.apply(intent, 0, world.until(), signal());
    expect(first).toEqual({ created: 2, changed: 0, unchanged: 0, overrides: [], failures: [] });
    const settled = () =>
      eventually(
        () => world.read(manifests[0] as ReleaseManifest),
        (live) => (live as { status?: { observedGeneration?: number } }).status?.observedGeneration === 1,
      );
    await settled();
    const versions = async () =>
      Promise.all(manifests.map(async (each) => (await world.read(each))?.metadata.resourceVersion));
    const before = await versions();
    const again = await hands.apply(intent, 0, world.until(), signal());
    expect(again).toEqual({ created: 0, changed: 0, unchanged: 2, overrides: [], failures: [] });
    expect(await versions()).toEqual(before);
  });

  test("sends nothing for what is there as it is wished, also where others have added to it since; another content is applied", async () => {
    const shop = await world.namespace();
    const objects = ["one", "two"].map((name) => member(configMap(shop, name, { a: "1" })));
    await install(await world.intent("install", { objects, namespaces: [shop] }));
    const sent: string[] = [];
    const before = async ({ method, path }: WireRequest): Promise<void> => {
      const name = /configmaps\/(\w+)/.exec(path)?.[1];
      if (name !== undefined && !path.includes("dryRun=All")) sent.push(`${method} ${name}`);
    };
    const hands = await world.hands({ before });
    const intent = await world.intent("update", { objects, former: objects, namespaces: [shop] });
    expect((await hands.plan(intent, signal())).plan).toMatchObject({ unchanged: 2 });
    await world.change(configMap(shop, "two", { b: "theirs" }));
    const unchanged = { created: 0, changed: 0, unchanged: 2, overrides: [], failures: [] };
    expect(await hands.apply(intent, 0, world.until(), signal())).toEqual(unchanged);
    expect(sent).toEqual([]);
    const back = { ...intent, objects: [member(configMap(shop, "one", { a: "0" }))] };
    expect(await hands.apply(back, 0, world.until(), signal())).toMatchObject({ changed: 1, unchanged: 0 });
    expect(sent).toEqual(["PATCH one"]);
  });

  test("leaves a customer's replicas and image as they are, tells of them, and takes them where the customer says so", async () => {
    const shop = await world.namespace();
    const api = (options: DeploymentOptions) => deployment(shop, "api", options);
    await install(await world.intent("install", { objects: [member(api({}))], namespaces: [shop] }));
    const scale = `/apis/apps/v1/namespaces/${shop}/deployments/api/scale?fieldManager=kubectl`;
    await world.send("PATCH", scale, { spec: { replicas: 4 } }, "application/merge-patch+json");
    const hotfix = {
      spec: { template: { spec: { containers: [{ name: "c", image: "registry.example/app:hotfix" }] } } },
    };
    const { apiVersion, kind, metadata } = api({});
    await world.change({ apiVersion, kind, metadata, ...hotfix });
    const objects = [member(api({ image: "registry.example/app:2", replicas: 2 }))];
    const intent = await world.intent("update", { objects, former: objects, namespaces: [shop] });
    const hands = await world.hands();
    const overrides = [
      { ref: `Deployment.apps/${shop}/api`, field: ".spec.replicas", manager: "kubectl" },
      {
        ...{ ref: `Deployment.apps/${shop}/api`, manager: "customer" },
        field: '.spec.template.spec.containers[name="c"].image',
      },
    ];
    const { plan } = await hands.plan(intent, signal());
    expect(plan.overrides).toEqual(expect.arrayContaining(overrides));
    const applied = await hands.apply(intent, 0, world.until(), signal());
    expect(applied).toMatchObject({ failures: [], overrides: expect.arrayContaining(overrides) });
    expect(await world.read(api({}))).toMatchObject({ spec: { replicas: 4 } });
    expect(image(await world.read(api({})))).toBe("registry.example/app:hotfix");
    const taken = { ...intent, takeOver: [{ kind: "Deployment", name: "api" }] };
    expect(await hands.apply(taken, 0, world.until(), signal())).toMatchObject({ changed: 1, overrides: [] });
    expect(await world.read(api({}))).toMatchObject({ spec: { replicas: 2 } });
    expect(image(await world.read(api({})))).toBe("registry.example/app:2");
  });

  test("that leaves the number of copies to an autoscaler never lowers it, before and after that has written one", async () => {
    const shop = await world.namespace();
    const api = (replicas: number | undefined, tag: string): ReleaseManifest => {
      const made = deployment(shop, "api", { image: `registry.example/app:${tag}` });
      return { ...made, spec: { ...(made.spec as object), replicas } };
    };
    await install(await world.intent("install", { objects: [member(api(3, "1"))], namespaces: [shop] }));
    const scaler: ReleaseManifest = {
      ...{ apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler", metadata: { name: "api", namespace: shop } },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "api" },
        ...{ minReplicas: 1, maxReplicas: 9 },
      },
    };
    const hands = await world.hands();
    const update = async (tag: string) => {
      const objects = [member(api(undefined, tag)), member(scaler)];
      const intent = await world.intent("update", { objects, former: objects, namespaces: [shop] });
      const { plan } = await hands.plan(intent, signal());
      const applied = await hands.apply(intent, 0, world.until(), signal());
      expect(applied).toMatchObject({ failures: [], overrides: [] });
      const { spec } = (await world.read(api(undefined, tag))) ?? {};
      return [plan.changes?.filter((line) => line.includes("replicas")), spec?.replicas];
    };
    expect(await update("2")).toEqual([[], 3]);
    expect(await update("3")).toEqual([[], 3]);
    const scale = `/apis/apps/v1/namespaces/${shop}/deployments/api/scale?fieldManager=kube-controller-manager`;
    await world.send("PATCH", scale, { spec: { replicas: 5 } }, "application/merge-patch+json");
    expect(await update("4")).toEqual([[], 5]);
    const gone = { ...(await world.intent("update", { objects: [member(api(undefined, "5"))], namespaces: [shop] })) };
    expect((await hands.apply(gone, 0, world.until(), signal())).failures).toEqual([]);
    expect((await world.read(api(undefined, "5")))?.spec?.replicas).toBe(5);
  });

  test("of an update leaves the setup as it is, makes what is missing of it, and lets others use it", async () => {
    const shop = await world.namespace();
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "runner", namespace: shop } };
    const api = deployment(shop, "api", { account: "runner" });
    // No node has this label: its pods never come up.
    const db = (image: string) => deployment(shop, "db", { image, nodeSelector: { "example.com/nowhere": "yes" } });
    const setup = (image: string) => [account, db(image)].map((each) => member(each, { frozen: true }));
    const former = [...setup("registry.example/db:1"), member(api)];
    await install(await world.intent("install", { objects: former, namespaces: [shop] }));
    const added = [member(configMap(shop, "added", { a: "1" }), { frozen: true })];
    const objects = [...setup("registry.example/db:2"), member(api), ...added];
    const intent = await world.intent("update", { objects, former, namespaces: [shop] });
    const hands = await world.hands();
    expect(await hands.plan(intent, signal())).toMatchObject({
      problems: [],
      plan: { create: 1, change: 0, unchanged: 3 },
    });
    const applied = await hands.apply(intent, 0, world.until(), signal());
    expect(applied).toMatchObject({ created: 1, changed: 0, unchanged: 3, failures: [] });
    expect(image(await world.read(db("")))).toBe("registry.example/db:1");
    expect(await world.read(configMap(shop, "added", {}))).toHaveProperty("data", { a: "1" });
    // The setup that is there does not hold the update up.
    await world.ready(api);
    const waveStartedAt = new Date();
    const until = world.until();
    const health = (startedAt: string, laterMs: number) => {
      world.clock.shiftMs = laterMs;
      const rollout = { ...intent.rollout, status: { startedAt } };
      return hands.health({ ...intent, rollout }, 0, waveStartedAt, until, signal());
    };
    const ofDb = expect.objectContaining({ resourceId: "db" });
    const begun = new Date(Date.now() + 1_000).toISOString();
    const kept = await health(begun, 30_000);
    expect(kept).toMatchObject({ verdict: "healthy", resources: expect.arrayContaining([ofDb]) });
    const made = await health("2026-01-01T12:00:00Z", 700_000);
    world.clock.shiftMs = 0;
    expect(made).toMatchObject({ verdict: "failed", message: expect.stringContaining(`${shop}/db: `) });
  });

  test("makes anew what cannot be changed, where the customer lets it, and goes back the same way; never what has claims", async () => {
    const shop = await world.namespace();
    const api = (app: string) => deployment(shop, "api", { app, replicas: 0 });
    const store = (size: string): ReleaseManifest => {
      const { spec } = deployment(shop, "store", { replicas: 0 }) as { spec?: object };
      const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: size } } };
      const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: claim }];
      return {
        ...{ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "store", namespace: shop } },
        spec: { ...spec, serviceName: "store", volumeClaimTemplates },
      };
    };
    const former = [member(api("api")), member(store("1Gi"))];
    await install(await world.intent("install", { objects: former, namespaces: [shop] }));
    const uidOf = async (manifest: ReleaseManifest) => (await world.read(manifest))?.metadata.uid;
    const [first, kept] = [await uidOf(api("api")), await uidOf(store("1Gi"))];

    const asked = await world.intent("update", { objects: [member(api("web"))], former, namespaces: [shop] });
    const ref = `Deployment.apps/${shop}/api`;
    expect((await (await world.hands()).plan(asked, signal())).problems).toEqual([
      { ref, message: "spec.selector: field is immutable" },
    ]);
    const hands = await world.hands({}, undefined, undefined, { recreates: true });
    const { plan, problems } = await hands.plan(asked, signal());
    expect(problems).toEqual([]);
    expect(plan).toMatchObject({ create: 0, change: 0, recreate: [ref] });
    expect(plan.changes).toContain(`delete ${ref} and make it anew, because of what cannot be changed: .spec.selector`);
    expect(await uidOf(api("api"))).toBe(first);
    const grown = await world.intent("update", { objects: [member(store("2Gi"))], former, namespaces: [shop] });
    expect((await hands.plan(grown, signal())).problems).toHaveLength(1);

    // Only what was shown: a plan without it has asked no person.
    const unshown = await hands.apply(asked, 0, world.until(), signal());
    expect(unshown.failures).toEqual([{ ref, message: "spec.selector: field is immutable", isTemporary: false }]);
    const rollout = { ...asked.rollout, status: { ...asked.rollout.status, plan } };
    const applied = (intent: Intent) =>
      eventually(
        () => hands.apply({ ...intent, rollout }, 0, world.until(), signal()),
        ({ failures }) => failures.every(({ isTemporary }) => isTemporary) && failures.length === 0,
      );
    await applied(asked);
    const second = await uidOf(api("web"));
    expect(second).not.toBe(first);
    await applied({ ...asked, objects: former, former: [] });
    expect(await uidOf(api("api"))).not.toBe(second);
    expect(await uidOf(store("1Gi"))).toBe(kept);
  });

  test("never touches an object that the deployment has not made", async () => {
    const shop = await world.namespace();
    const theirs = configMap(shop, "theirs", { a: "theirs" });
    await world.change(theirs);
    const objects = [member(configMap(shop, "theirs", { a: "ours" }))];
    // The customer lets it have another one.
    const takeOver = [{ kind: "ConfigMap", name: "other" }];
    const intent = await world.intent("install", { objects, takeOver, namespaces: [shop] });
    const { failures } = await (await world.hands()).apply(intent, 0, world.until(), signal());
    expect(failures).toEqual([
      { ref: `ConfigMap/${shop}/theirs`, message: expect.stringContaining("NotOurs"), isTemporary: false },
    ]);
    expect(await world.read(theirs)).toMatchObject({ data: { a: "theirs" }, metadata: { name: "theirs" } });
  });

  test("does not take an object that appears, or is exchanged, between its look and its write", async () => {
    const shop = await world.namespace();
    const ours = [member(configMap(shop, "one", { a: "ours" })), member(configMap(shop, "two", { a: "ours" }))];
    await install(await world.intent("install", { objects: ours.slice(1), namespaces: [shop] }));
    const waiting = new Map<string, () => Promise<void>>([
      ["one", () => world.change(configMap(shop, "one", { theirs: "1" }))],
      [
        "two",
        async () => {
          await world.send("DELETE", `/api/v1/namespaces/${shop}/configmaps/two`);
          await world.change(configMap(shop, "two", { theirs: "1" }));
        },
      ],
    ]);
    const before = async ({ method, path }: WireRequest): Promise<void> => {
      const name = /configmaps\/(one|two)\?/.exec(path)?.[1] ?? "";
      const act = method === "PATCH" ? waiting.get(name) : undefined;
      waiting.delete(act === undefined ? "" : name);
      await act?.();
    };
    const hands = await world.hands({ before });
    const objects = [...ours.slice(0, 1), member(configMap(shop, "two", { a: "changed" }))];
    const intent = await world.intent("update", { objects, namespaces: [shop] });
    const { failures } = await hands.apply(intent, 0, world.until(), signal());
    expect(waiting.size).toBe(0);
    expect(failures.map(({ message }) => message)).toEqual([
      expect.stringContaining("NotOurs"),
      expect.stringContaining("NotOurs"),
    ]);
    for (const name of ["one", "two"]) {
      expect(await world.read(configMap(shop, name, {}))).toHaveProperty("data", { theirs: "1" });
    }
  });
});
