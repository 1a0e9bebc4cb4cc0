import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { freePort } from "../../../lab/cluster/ports.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { Watchdog } from "../../../lab/cluster/watchdog.ts";
import { productProcess } from "../../../lab/product-process.ts";
import { fullOnly } from "../../../src/base/testing/full.ts";
import { machineDrains } from "../../../src/crds/kinds/machine-drain.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { answerOf } from "../../../src/machine-controller/drains/judge.ts";
import { ours } from "../../world/objects.ts";
import { GRANTS, SHOP, SYSTEM } from "../../world/people.ts";
import { eventually, SHORT_LEASE, signal } from "../../world/wait.ts";
import { DrainWorld, type PodObject, reasonOf } from "./drain-world.ts";

const NODES = ["node-1", "node-2"];
const cluster = useCluster({ controllers: true, kwok: { nodes: NODES.length } });
let world: DrainWorld;
let controller: ReturnType<DrainWorld["start"]>;

beforeAll(async () => {
  world = await DrainWorld.create(cluster());
  controller = world.start();
}, 600_000);
afterEach(async () => {
  await world.clean(NODES);
});
afterAll(async () => {
  await controller?.stop();
  await world?.close();
});

const onNode1 = async (app: string): Promise<number> =>
  (await world.pods(app)).filter(({ spec }) => spec.nodeName === "node-1").length;

/** That drains of node-… may do as its `drain` says. */
async function pool(drain: object): Promise<void> {
  await cluster().apply([ours("MachinePool", "nodes", { deploymentId: "dep_1", namePrefix: "node-", drain })]);
}

test("a node is cordoned and emptied, a DaemonSet's pods stay; the deleted drain gives it back", async () => {
  await world.workload("web", "node-1", 4);
  const labels = { app: "logs" };
  const spec = { containers: [{ name: "main", image: "none" }], tolerations: [{ operator: "Exists" }] };
  const template = { metadata: { labels }, spec };
  const metadata = { name: "logs", namespace: SHOP };
  const daemons = { selector: { matchLabels: labels }, template };
  await cluster().apply([{ apiVersion: "apps/v1", kind: "DaemonSet", metadata, spec: daemons }]);
  await eventually(
    () => world.pods("logs"),
    (pods) => pods.length === NODES.length,
  );
  const drain = await world.drain({ nodeName: "node-1", reason: "a new kernel" });
  const drained = await world.drained(drain);
  expect(drained.status).toMatchObject({
    cordonedByUs: true,
    left: "0/4",
    counts: { total: 4, gone: 4, waiting: 0, blocked: 0, skipped: 1 },
  });
  expect([await onNode1("web"), await onNode1("logs")]).toEqual([0, 1]);
  expect((await world.node("node-1"))?.spec.unschedulable).toBe(true);
  await eventually(
    () => world.eventReasons(drain),
    (reasons) => ["Cordoned", "Evicted", "Drained"].every((reason) => reasons.includes(reason)),
  );
  const { stdout } = await cluster().kubectl(["get", "drain", "-n", GRANTS, "--no-headers"]);
  expect(stdout).toMatch(/^drain-\d+\s+node-1\s+Drained\s+0\/4\s/);
  await world.cancel(drain);
  await eventually(
    () => world.node("node-1"),
    (node) => node.spec.unschedulable !== true,
  );
  await eventually(
    () => world.eventReasons(drain),
    (reasons) => reasons.includes("Uncordoned"),
  );
});

test("a budget that never allows one is said with what would help; raised, the next pod goes within a second", async () => {
  await world.workload("web", "node-1", 3);
  await world.budget("web", "web", { minAvailable: 3 });
  const drain = await world.drain({ nodeName: "node-1" });
  const blocked = await world.until(drain, ({ status }) => status?.state === "Blocked");
  expect(blocked.status?.summary).toBe("pdb:3");
  expect(blocked.status?.blockers).toMatchObject([
    { reason: "pod-disruption-budget", workload: "shop/deployment/web", budget: "shop/web", count: 3 },
  ]);
  expect(blocked.status?.blockers?.[0]?.message).toBe(
    "The disruption budget web needs 3 healthy pods and has 3 currently; raise maxUnavailable of pdb/web, or scale deployment/web to 4",
  );
  await world.budget("web", "web", { minAvailable: 2 });
  const freedAt = performance.now();
  await eventually(
    () => onNode1("web"),
    (count) => count < 3,
  );
  expect(performance.now() - freedAt).toBeLessThan(3_000);
  await world.drained(drain);
});

test("pods that are not ready, and that their budget keeps, are said with what would help; then they go", async () => {
  await world.workload("web", "node-1", 2);
  await world.unready("web");
  await world.budget("web", "web", { minAvailable: 2 });
  const drain = await world.drain({ nodeName: "node-1" });
  const blocked = await world.until(drain, ({ status }) => status?.state === "Blocked");
  expect(blocked.status?.blockers).toMatchObject([
    { reason: "pod-disruption-budget", workload: "shop/deployment/web", budget: "shop/web", count: 2 },
  ]);
  expect(blocked.status?.blockers?.[0]?.message).toBe(
    "The disruption budget web needs 2 healthy pods and has 0 currently; 0 of 2 pods are healthy: mend those of deployment/web, or set unhealthyPodEvictionPolicy of pdb/web to AlwaysAllow",
  );
  await world.budget("web", "web", { minAvailable: 2, unhealthyPodEvictionPolicy: "AlwaysAllow" });
  await world.drained(drain);
});

test("two budgets of one pod are named, and the drain goes on when one is deleted", async () => {
  await world.workload("web", "node-1", 1);
  await world.budget("one", "web", { maxUnavailable: 1 });
  await world.budget("two", "web", { maxUnavailable: 1 });
  const drain = await world.drain({ nodeName: "node-1" });
  const blocked = await world.until(drain, ({ status }) => status?.state === "Blocked");
  expect(blocked.status?.blockers?.[0]).toMatchObject({ reason: "misconfigured-budget", count: 1 });
  expect(blocked.status?.blockers?.[0]?.message).toContain("pdb/one and pdb/two select this pod");
  await world.admin.delete(resources.podDisruptionBudgets, { namespace: SHOP, name: "two" }, {}, signal());
  await world.drained(drain);
});

test("what the API server answers is read rightly: a budget, two, another uid, gone, accepted", async () => {
  await world.workload("web", "node-1", 1);
  const [pod] = await world.pods("web");
  if (pod === undefined) throw new Error("no pod");
  const evict = async (uid: string, name = pod.metadata.name): Promise<string> => {
    const key = { namespace: SHOP, name };
    return world.machines.evict(key, { preconditions: { uid } }, signal()).then(
      (isThere) => (isThere ? "accepted" : "gone"),
      (error) => answerOf(error).is,
    );
  };
  const { uid } = pod.metadata;
  expect(await evict("00000000-0000-4000-8000-000000000000")).toBe("replaced");
  expect(await evict(uid, "no-such-pod")).toBe("gone");
  await world.budget("web", "web", { maxUnavailable: 0 });
  expect(await evict(uid)).toBe("budget");
  // The budget comes first: a refusal does not say that the pod of this uid is there.
  expect(await evict("00000000-0000-4000-8000-000000000000")).toBe("budget");
  await world.budget("web-too", "web", { maxUnavailable: 0 });
  expect(await evict(uid)).toBe("misconfigured");
  await cluster().kubectl(["delete", "pdb", "--all", "-n", SHOP]);
  expect(await evict(uid)).toBe("accepted");
});

test("a drain that is cancelled leaves what a person cordoned", async () => {
  await world.cordon("node-1", true);
  const drain = await world.drain({ nodeName: "node-1" });
  const drained = await world.drained(drain);
  expect(drained.status?.cordonedByUs).toBe(false);
  expect(reasonOf(drained, "Cordoned")).toBe("CordonedBefore");
  await world.cancel(drain);
  const second = await world.drain({ nodeName: "node-2" });
  await world.drained(second);
  expect((await world.node("node-1"))?.spec.unschedulable).toBe(true);
});

test("after its deadline a drain without force goes on trying; force needs the pool's word", async () => {
  await world.workload("web", "node-1", 2);
  await world.budget("web", "web", { maxUnavailable: 0 });
  const deadlineAt = new Date(Date.now() - 1_000).toISOString();
  const drain = await world.drain({ nodeName: "node-1", deadlineAt });
  const overdue = await world.until(drain, (each) => reasonOf(each, "DeadlineExceeded") === "GoesOn");
  expect(overdue.status?.state).toBe("Blocked");
  const blocked = await world.until(drain, ({ status }) => status?.blockers?.[0] !== undefined);
  expect(blocked.status?.blockers?.[0]?.message).toContain("it never allows one: raise maxUnavailable of pdb/web");
  const key = { namespace: GRANTS, name: drain.metadata.name };
  await world.admin.patch(machineDrains, key, { type: "merge", body: { spec: { force: true } } }, {}, signal());
  await world.until(drain, (each) => reasonOf(each, "DeadlineExceeded") === "ForceNotAllowed");
  expect(await onNode1("web")).toBe(2);
  await pool({ allowForce: true });
  const forced = await world.drained(drain);
  expect(reasonOf(forced, "DeadlineExceeded")).toBe("Forced");
  expect(await onNode1("web")).toBe(0);
});

test("what the pool keeps stays: emptyDirs hold the drain up, skipped pods do not", async () => {
  const volumes = [{ name: "cache", emptyDir: {} }];
  await world.workload("web", "node-1", 1, { volumes });
  await world.workload("kept", "node-1", 1);
  await pool({ deleteEmptyDir: false, skip: ["app in (kept)"] });
  const drain = await world.drain({ nodeName: "node-1" });
  const blocked = await world.until(drain, ({ status }) => status?.state === "Blocked");
  expect(blocked.status).toMatchObject({ summary: "local:1", counts: { total: 1, blocked: 1, skipped: 1 } });
  await pool({ deleteEmptyDir: true, skip: ["app in (kept)"] });
  await world.drained(drain);
  expect([await onNode1("web"), await onNode1("kept")]).toEqual([0, 1]);
});

test("while a policy that narrows the controller is missing it evicts nothing; put back, the drain goes on", async () => {
  await world.workload("web", "node-1", 1);
  await world.budget("web", "web", { maxUnavailable: 0 });
  const drain = await world.drain({ nodeName: "node-1" });
  await world.until(drain, ({ status }) => status?.state === "Blocked");
  const key = { name: "sallyport-machines-evict" };
  const { validatingAdmissionPolicyBindings: bindings } = resources;
  const binding = await world.admin.get(bindings, key, signal());
  await world.admin.delete(bindings, key, {}, signal());
  const waiting = await world.until(drain, (each) => reasonOf(each, "Progressing") === "PolicyMissing");
  expect(waiting.status?.state).toBe("Waiting");
  await cluster().kubectl(["delete", "pdb", "--all", "-n", SHOP]);
  await world.admin.create(bindings, { ...binding, metadata: key } as never, signal());
  await world.drained(drain);
});

test("the node is deleted under the drain", async () => {
  await cluster().apply([{ apiVersion: "v1", kind: "Node", metadata: { name: "gone-1" } }]);
  await cluster().apply([
    {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "alone", namespace: SHOP } },
      spec: { nodeName: "gone-1", containers: [{ name: "main", image: "none" }] },
    },
  ]);
  const drain = await world.drain({ nodeName: "gone-1" });
  const blocked = await world.until(drain, ({ status }) => status?.state === "Blocked");
  expect(blocked.status?.blockers?.[0]?.reason).toBe("unmanaged-pod");
  await world.admin.delete(resources.nodes, { name: "gone-1" }, {}, signal());
  expect(reasonOf(await world.drained(drain), "Drained")).toBe("NodeGone");
  const never = await world.drain({ nodeName: "never-was" });
  await world.until(never, ({ status }) => status?.state === "Failed");
});

test("a wish of the platform waits for the operator's word; then the node is emptied and removed", async () => {
  const pool = { deploymentId: "dep_1", namePrefix: "old-" };
  await cluster().apply([
    {
      ...{ apiVersion: "v1", kind: "Node" },
      metadata: { name: "old-1", labels: { "sallyport.dev/machine": "true" }, finalizers: ["example.com/held"] },
    },
    { apiVersion: "v1", kind: "Node", metadata: { name: "control-plane-1" } },
    ours("MachinePool", "old", pool),
  ]);
  const requested = { deploymentId: "dep_1", machineId: "old-1", revision: 1, remove: true };
  const drain = await world.drain({ nodeName: "old-1", requested });
  const waiting = await world.until(drain, (each) => reasonOf(each, "Progressing") === "AwaitingApproval");
  expect(waiting.status?.state).toBe("Waiting");
  expect((await world.node("old-1"))?.spec.unschedulable).toBeUndefined();
  const key = { namespace: GRANTS, name: drain.metadata.name };
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const word = { type: "Approved", status: "True", reason: "PolicyAuto", message: "", lastTransitionTime };
  const conditions = [...(waiting.status?.conditions ?? []), word];
  const body = { metadata: { resourceVersion: waiting.metadata.resourceVersion }, status: { conditions } };
  await world.operator.patch(machineDrains, key, { type: "merge", body }, { subresource: "status" }, signal());
  await world.until(drain, (each) => reasonOf(each, "Removed") === "NodeHeld");
  const free = { type: "merge", body: { metadata: { finalizers: null } } } as const;
  await world.admin.patch(resources.nodes, { name: "old-1" }, free, {}, signal());
  await world.until(drain, (each) => reasonOf(each, "Removed") === "NodeDeleted");
  expect(await world.node("old-1")).toBeUndefined();
  // A stolen agent: the customer's word is for one machine, and the drain names the node of another.
  const stray = await world.drain({ nodeName: "control-plane-1", requested: { ...requested, revision: 2 } });
  const approved = { type: "merge", body: { status: { conditions: [word] } } } as const;
  const { name } = stray.metadata;
  await world.operator.patch(machineDrains, { namespace: GRANTS, name }, approved, { subresource: "status" }, signal());
  await world.until(stray, (each) => reasonOf(each, "Progressing") === "OtherMachine");
  expect((await world.node("control-plane-1"))?.spec.unschedulable).toBeUndefined();
  await world.admin.delete(resources.nodes, { name: "control-plane-1" }, {}, signal());
});

fullOnly(
  "the controller is killed in mid-drain, and another one goes on where it stopped",
  async () => {
    await controller.stop();
    const watchdog = new Watchdog();
    try {
      await world.workload("web", "node-1", 30);
      const replica = async (name: string) => {
        const env = { ...world.env, ...SHORT_LEASE, SALLYPORT_IDENTITY: name };
        return productProcess({
          kind: "machine-controller",
          name,
          logs: cluster().dir,
          port: await freePort(),
          watchdog,
          env,
        });
      };
      const [first, second] = [await replica("first"), await replica("second")];
      await first.start(signal());
      const drain = await world.drain({ nodeName: "node-1" });
      await eventually(
        () => onNode1("web"),
        (count) => count < 28 && count > 3,
      );
      await first.kill();
      await second.start(signal());
      const drained = await world.drained(drain);
      expect(drained.status).toMatchObject({ left: "0/30", cordonedByUs: true });
      await second.kill();
      // Deleted while no controller runs.
      await world.cancel(drain);
    } finally {
      watchdog.done();
      controller = world.start();
    }
    await eventually(
      () => world.node("node-1"),
      (node) => node.spec.unschedulable !== true,
    );
  },
  300_000,
);

test("the controller's own pod goes last, and the drain ends under its successor", async () => {
  await controller.stop();
  let first: typeof controller | undefined;
  try {
    await world.workload("web", "node-1", 3);
    await world.budget("web", "web", { maxUnavailable: 0 });
    await world.workload("sallyport-machines", "node-1", 1, {}, SYSTEM);
    const own = async (): Promise<readonly PodObject[]> => {
      const pods = await world.pods("sallyport-machines", SYSTEM);
      return pods.filter(({ spec }) => spec.nodeName === "node-1");
    };
    const [pod] = await own();
    first = world.start({ SALLYPORT_IDENTITY: pod?.metadata.name ?? "" });
    const drain = await world.drain({ nodeName: "node-1" });
    const blocked = await world.until(drain, ({ status }) => status?.state === "Blocked");
    expect(blocked.status).toMatchObject({ left: "4/4", summary: "pdb:3" });
    await cluster().kubectl(["delete", "pdb", "--all", "-n", SHOP]);
    const isLeaving = async (): Promise<boolean> =>
      (await own()).every(({ metadata }) => metadata.deletionTimestamp !== undefined);
    await eventually(isLeaving, (is) => is);
    // Asked for after the others had ended.
    expect(await onNode1("web")).toBe(0);
    await first.stop();
    first = undefined;
    controller = world.start({ SALLYPORT_IDENTITY: "machines-successor" });
    const drained = await world.drained(drain);
    expect([drained.status?.left, await own()]).toEqual(["0/4", []]);
  } finally {
    await first?.stop();
    await cluster().kubectl(["delete", "deploy", "sallyport-machines", "-n", SYSTEM]);
    await controller.stop();
    controller = world.start();
  }
});

test("what the pods of each node ask for is written for the agent", async () => {
  const containers = [{ name: "main", image: "none", resources: { requests: { cpu: "250m", memory: "1Gi" } } }];
  await world.workload("asking", "node-1", 2, { containers });
  const key = { namespace: GRANTS, name: "sallyport-machine-loads-0" };
  const loads = await eventually(
    async () => {
      const found = await world.admin.get(resources.configMaps, key, signal());
      return JSON.parse((found?.data as { loads?: string } | undefined)?.loads ?? "{}") as Record<string, number[]>;
    },
    (found) => (found["node-1"]?.[0] ?? 0) >= 500,
  );
  expect(loads["node-1"]?.[1]).toBeGreaterThanOrEqual(2 * 2 ** 30);
});
