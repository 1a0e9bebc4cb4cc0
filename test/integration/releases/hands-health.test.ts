import { beforeAll, beforeEach, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { ReleaseManifest } from "../../../src/crds/kinds/release-content.ts";
import type { WaveHealth } from "../../../src/operator/rollouts/hands/hands.ts";
import { eventually, signal } from "../../world/wait.ts";
import { configMap, deployment, member, useHands } from "./hands-world.ts";

// Whether a wave has come up, on a real API server with its controllers. The clock is moved, the pods' times are true.

const cluster = useCluster({ controllers: true, kwok: { nodes: 1 } });
const world = useHands(cluster);
let silent: Readonly<Record<string, string>>;

beforeAll(async () => {
  silent = await world.silentNode();
});
beforeEach(() => {
  world.clock.shiftMs = 0;
});

/** Applies the objects as a wave, and gives a look at it so many seconds later. */
async function wave(namespace: string, manifests: readonly ReleaseManifest[]) {
  const objects = manifests.map((manifest) => member(manifest));
  const intent = await world.intent("install", { objects, namespaces: [namespace] });
  const hands = await world.hands();
  const startedAt = new Date();
  const until = world.until();
  expect((await hands.apply(intent, 0, until, signal())).failures).toEqual([]);
  return (laterMs = 0): Promise<WaveHealth> => {
    world.clock.shiftMs = laterMs;
    return hands.health(intent, 0, startedAt, until, signal());
  };
}

const job = (namespace: string, nodeSelector?: Readonly<Record<string, string>>): ReleaseManifest => ({
  ...{ apiVersion: "batch/v1", kind: "Job", metadata: { name: "migrate", namespace } },
  spec: {
    backoffLimit: 0,
    template: {
      spec: {
        ...{ automountServiceAccountToken: false, restartPolicy: "Never", ...(nodeSelector && { nodeSelector }) },
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
        containers: [
          {
            ...{ name: "c", image: "registry.example/migrate:1" },
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
          },
        ],
      },
    },
  },
});

test("pods have to be ready for ten seconds; what has no health is well when it is there", async () => {
  const shop = await world.namespace();
  const api = deployment(shop, "api", { replicas: 2 });
  const look = await wave(shop, [api, configMap(shop, "settings", {})]);
  await world.ready(api);
  const early = await look();
  expect(early).toMatchObject({ verdict: "waiting" });
  expect(early.againMs).toBeGreaterThan(1_000);
  expect(early.againMs).toBeLessThanOrEqual(5_000);
  expect(await look(12_000)).toEqual({
    verdict: "healthy",
    againMs: 0,
    resources: [
      { resourceId: "api", state: "running", health: "healthy", message: "" },
      { resourceId: "settings", state: "running", health: "healthy", message: "" },
    ],
  });
});

test("pods have to be available, which is later than ready; a Deployment that is paused holds nothing up, and the plan says so", async () => {
  const shop = await world.namespace();
  const slow = deployment(shop, "slow", { minReadySeconds: 300 });
  const held = deployment(shop, "held", { paused: true, nodeSelector: silent });
  const looks = await wave(shop, [slow]);
  await world.ready(slow);
  expect(await looks(12_000)).toMatchObject({
    verdict: "waiting",
    resources: [{ message: expect.stringContaining("0 of 1 available, which takes 300 s of being ready") }],
  });
  expect(await (await wave(shop, [held]))(12_000)).toMatchObject({ verdict: "healthy" });
  const update = await world.intent("update", {
    objects: [
      member(deployment(shop, "held", { paused: true, nodeSelector: silent, image: "registry.example/app:2" })),
    ],
    namespaces: [shop],
  });
  const { plan } = await (await world.hands()).plan(update, signal());
  expect(plan.changes).toContain(`starts no new pods of Deployment.apps/${shop}/held: it is paused`);
});

test("an image that cannot be pulled is waited for two minutes, not until the deadline", async () => {
  const shop = await world.namespace();
  const look = await wave(shop, [deployment(shop, "api", { nodeSelector: silent })]);
  const waiting = { reason: "ImagePullBackOff", message: "Back-off pulling image registry.example/app:1" };
  await world.report(shop, {
    phase: "Pending",
    conditions: [{ type: "Ready", status: "False", lastTransitionTime: new Date().toISOString() }],
    containerStatuses: [
      {
        ...{ name: "c", image: "registry.example/app:1", imageID: "" },
        ready: false,
        restartCount: 0,
        state: { waiting },
      },
    ],
  });
  expect(await look(100_000)).toMatchObject({ verdict: "waiting", resources: [{ resourceId: "api" }] });
  expect(await look(130_000)).toMatchObject({
    verdict: "failed",
    message: expect.stringMatching(/^Deployment\.apps\/.*ImagePullBackOff.*Back-off pulling image/),
  });
});

test("pods that a quota refuses fail the wave after two minutes, in the quota's words", async () => {
  const shop = await world.namespace();
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none", namespace: shop } };
  await cluster().apply([{ ...quota, spec: { hard: { pods: "0" } } }]);
  const look = await wave(shop, [deployment(shop, "api")]);
  await eventually(look, ({ resources }) => resources[0]?.state === "failed");
  expect(await look()).toMatchObject({ verdict: "waiting" });
  expect(await look(130_000)).toMatchObject({
    verdict: "failed",
    message: expect.stringContaining("exceeded quota: none"),
  });
});

test("a Job that has ended well is well at once", async () => {
  const shop = await world.namespace();
  const look = await wave(shop, [job(shop)]);
  expect(await eventually(look, ({ verdict }) => verdict !== "waiting")).toMatchObject({ verdict: "healthy" });
});

test("a Job that is gone is not run again when the installed content has completed it, and does not hold its wave up", async () => {
  const shop = await world.namespace();
  const hands = await world.hands();
  const fill = job(shop);
  const parts = { objects: [member(fill, { frozen: true })], namespaces: [shop] };
  const done = await world.intent("update", { ...parts, done: [`Job.batch/${shop}/migrate`] });
  expect((await hands.plan(done, signal())).plan).toMatchObject({ create: 0, unchanged: 1 });
  expect(await hands.apply(done, 0, world.until(), signal())).toMatchObject({ created: 0, unchanged: 1, failures: [] });
  expect(await world.read(fill)).toBeUndefined();
  expect(await hands.health(done, 0, new Date(), world.until(), signal())).toEqual({
    ...{ verdict: "healthy", againMs: 0 },
    resources: [{ resourceId: "migrate", state: "running", health: "healthy", message: "" }],
  });
  const fresh = await world.intent("update", parts);
  expect(await hands.apply(fresh, 0, world.until(), signal())).toMatchObject({ created: 1 });
});

test("a Job that failed in an earlier rollout is run again by a retry, also with another template", async () => {
  const shop = await world.namespace();
  const look = await wave(shop, [job(shop, silent)]);
  const terminated = { exitCode: 1, reason: "Error" };
  const container = { ...{ name: "c", image: "a", imageID: "" }, ready: false, restartCount: 0, state: { terminated } };
  await world.report(shop, { phase: "Failed", containerStatuses: [container] });
  await eventually(look, ({ verdict }) => verdict === "failed");
  const failed = await world.read(job(shop));
  const hands = await world.hands();
  const objects = [member(job(shop))];
  const retry = await world.intent("install", { objects, namespaces: [shop] });
  const { plan, problems } = await hands.plan(retry, signal());
  expect([plan.change, plan.changes?.at(-1), problems]).toEqual([1, `change Job.batch/${shop}/migrate: .status`, []]);
  expect((await world.read(job(shop)))?.metadata.uid).toBe(failed?.metadata.uid);
  const startedAt = new Date(Date.now() + 1_000).toISOString();
  const running = { ...retry, rollout: { ...retry.rollout, status: { startedAt } } };
  const applied = await eventually(
    () => hands.apply(running, 0, world.until(), signal()),
    ({ created }) => created === 1,
  );
  expect(applied.failures).toEqual([]);
  expect((await world.read(job(shop)))?.metadata.uid).not.toBe(failed?.metadata.uid);
});

test("a wave that waits says for what, with the last warning: also of a Job that has no pod at all", async () => {
  const shop = await world.namespace();
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none", namespace: shop } };
  await cluster().apply([{ ...quota, spec: { hard: { pods: "0" } } }]);
  const look = await wave(shop, [job(shop)]);
  const { waitsFor } = await eventually(look, (found) => found.waitsFor?.warning !== undefined);
  expect(waitsFor).toMatchObject({
    ref: `Job.batch/${shop}/migrate`,
    warning: expect.stringMatching(/^FailedCreate: .*exceeded quota: none/),
  });
});

test("an update counts a Job that has ended apart from what it deletes", async () => {
  const shop = await world.namespace();
  const look = await wave(shop, [job(shop)]);
  await eventually(look, ({ verdict }) => verdict !== "waiting");
  const hands = await world.hands();
  const parts = { objects: [member(configMap(shop, "settings", {}))], former: [member(job(shop))] };
  const update = await world.intent("update", { ...parts, namespaces: [shop] });
  const { plan } = await hands.plan(update, signal());
  expect(plan).toMatchObject({ create: 1, prune: 0 });
  expect(plan.changes?.[0]).toBe(`delete Job.batch/${shop}/migrate, which has ended`);
  const pruned = await eventually(
    () => hands.prune(update, world.until(), signal()),
    ({ waiting }) => waiting === 0,
  );
  expect(pruned.left).toEqual([]);
  expect(await world.read(job(shop))).toBeUndefined();
});

test("a Job that has failed fails the wave at once", async () => {
  const shop = await world.namespace();
  const look = await wave(shop, [job(shop, silent)]);
  expect(await look()).toMatchObject({ verdict: "waiting" });
  const terminated = { exitCode: 1, reason: "Error" };
  await world.report(shop, {
    phase: "Failed",
    containerStatuses: [
      { ...{ name: "c", image: "a", imageID: "" }, ready: false, restartCount: 0, state: { terminated } },
    ],
  });
  expect(await eventually(look, ({ verdict }) => verdict !== "waiting")).toMatchObject({
    verdict: "failed",
    message: expect.stringContaining("Job failed (BackoffLimitExceeded)"),
  });
});

test("what cannot be scheduled is waited for until the deadline of its own, and a minute", async () => {
  const shop = await world.namespace();
  const nowhere = { nodeSelector: { "example.com/nowhere": "yes" }, progressDeadlineSeconds: 300 };
  const look = await wave(shop, [deployment(shop, "api", nowhere)]);
  expect(await look(350_000)).toMatchObject({ verdict: "waiting" });
  expect(await look(361_000)).toMatchObject({
    verdict: "failed",
    message: expect.stringMatching(/not healthy after 361 s: 0 of 1 ready/),
  });
});

test("an object that is taken away is missed, for ten minutes", async () => {
  const shop = await world.namespace();
  const look = await wave(shop, [configMap(shop, "settings", {})]);
  expect(await look()).toMatchObject({ verdict: "healthy" });
  await world.send("DELETE", `/api/v1/namespaces/${shop}/configmaps/settings`);
  expect(await look()).toMatchObject({
    verdict: "waiting",
    resources: [{ resourceId: "settings", state: "pending", health: "unknown", message: "" }],
  });
  expect(await look(601_000)).toMatchObject({ verdict: "failed", message: expect.stringContaining("it is not there") });
});
