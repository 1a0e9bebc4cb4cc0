import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { objectName } from "../../../src/crds/group.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { useHealth } from "./health-world.ts";
import { condition, containers, eventOf, failure, job, owned, rowsOf, Scene } from "./scene.ts";
import { backUp } from "./table-backup.ts";

const { cluster, health } = useHealth({ workloads: ["api", "web"], settings: {} });
const { reports, seen } = health;
const scene = new Scene(cluster, health);

test("both sides see that all is well", async () => {
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.web === "healthy 2");
  const status = await eventually(scene.shown, (each) => each?.workloads?.summary === "2/2");
  expect(condition(status, "WorkloadsHealthy")).toMatchObject({ status: "True", reason: "AllHealthy" });
  expect(condition(status, "Observed")).toMatchObject({ status: "True", reason: "CachesSynced" });
});

test("a cluster without metrics.k8s.io is told as that, with nothing else missing", async () => {
  const told = await eventually(
    async () => scene.toldOf(`deployment.${SHOP}.api`),
    (each) => each?.status.collectionIssues.length === 1,
  );
  expect(told?.status.collectionIssues).toMatchObject([{ source: "metrics", reason: "not-installed" }]);
  expect(told).not.toHaveProperty("cpu");
});

test("a workload that gets worse is told by itself, with the reason on both sides", async () => {
  const before = reports.length;
  await health.ready("api", 1);
  await eventually(seen, (rows) => rows.api === "degraded 1");
  expect(reports.slice(before).map(rowsOf)).toEqual([1]);
  const status = await eventually(scene.shown, (each) => each?.workloads?.summary === "1/2");
  expect(status?.workloads?.attention).toEqual([`deployment/${SHOP}/api`]);
  const { stdout } = await cluster().kubectl(["get", "manageddeployments", "-n", GRANTS]);
  expect(stdout).toMatch(/HEALTHY.*OBSERVED[\s\S]*1\/2/);
  await health.ready("api", 2);
  const waited = ["wait", `manageddeployments.sallyport.dev/${objectName(health.world.deploymentId)}`, "-n", GRANTS];
  const wait = [...waited, "--for=condition=WorkloadsHealthy", "--timeout=240s"];
  expect(await cluster().kubectl(wait)).toMatchObject({ code: 0 });
  // The customer may see it first: the last report was just now.
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.web === "healthy 2");
});

test("what is deleted is gone from the vendor's lists", async () => {
  await health.apply("brief");
  await health.ready("brief", 2);
  await eventually(seen, (rows) => rows.brief === "healthy 2");
  await scene.removed("Deployment", "brief");
  await eventually(seen, (rows) => rows.brief === undefined);
  expect(await seen()).toEqual({ api: "healthy 2", web: "healthy 2" });
});

test("an object with words that no report can hold is told, and holds up no other", async () => {
  const far = "x".repeat(2_000);
  const labels = { app: "wild" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "€".repeat(1_000) }] } };
  const uid = await scene.made({
    ...{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "wild" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  });
  const owner = { apiVersion: "example.com/v1", kind: far, name: "other", uid: "00000000-0000-4000-8000-000000000000" };
  const { ownerReferences } = owned("ReplicaSet", "wild", uid);
  const metadata = { ownerReferences: [...ownerReferences, owner] };
  await scene.made({ apiVersion: "v1", kind: "Pod", name: "wild-a", metadata, spec: { containers } });
  const words = { type: far, status: far, reason: far, message: "\u001b[31m€".repeat(2_000) };
  await scene.stated("ReplicaSet", "wild", { replicas: 1, observedGeneration: 1, conditions: [words] });
  // Of a Pod the server takes no longer type.
  const ofPod = { phase: far, reason: "DB_PASSWORD=canary", conditions: [{ ...words, type: far.slice(0, 63) }] };
  await scene.stated("Pod", "wild-a", ofPod);
  await eventually(
    async () => scene.toldOf(`replicaSet.${SHOP}.wild`)?.workload?.conditions,
    (conditions) => conditions.length === 1,
  );
  await health.ready("web", 1);
  await eventually(seen, (rows) => rows.web === "degraded 1" && rows.wild !== undefined);
  await health.ready("web", 2);
  await scene.removed("ReplicaSet", "wild");
  await scene.removed("Pod", "wild-a");
  await eventually(seen, (rows) => rows.web === "healthy 2" && rows.wild === undefined);
});

test("a Job that fails is told as a worker, and goes with its object", async () => {
  await scene.made(job("import"));
  await scene.isSeen("import", "worker unknown creating");
  await scene.stated("Job", "import", failure());
  await scene.isSeen("import", "worker unhealthy failed");
  expect((await scene.listed("import"))?.message).toBe("Job failed (BackoffLimitExceeded)");
  const route = { resourceType: "worker" as const };
  const { resources } = await health.world.engineer.resources.listOfType({ params: route, query: {} }, signal());
  expect(resources.map(({ resourceId }) => resourceId)).toEqual(["job.import"]);
  await scene.removed("Job", "import");
  await scene.isSeen("import", "gone");
});

test("a Job that fails is told with its own events, also when another of its name had some", async () => {
  const uid = await scene.made(job("export"));
  const regarding = { apiVersion: "batch/v1", kind: "Job", name: "export", namespace: SHOP };
  await cluster().apply([
    eventOf("export.1", { ...regarding, uid }, "back-off; DB_PASSWORD=canary"),
    eventOf("export.2", { ...regarding, uid: "00000000-0000-4000-8000-000000000000" }, "of another"),
  ]);
  await scene.stated("Job", "export", failure());
  const told = await eventually(
    async () => scene.toldOf(`job.${SHOP}.export`),
    (each) => each?.events.length === 1,
  );
  expect(told?.events).toMatchObject([
    { reason: "Failed", message: "back-off; DB_PASSWORD=[redacted]", involvedObject: { kind: "Job", name: "export" } },
  ]);
  expect(told?.status.collectionIssues.map(({ source }) => source)).not.toContain("events");
  await scene.removed("Job", "export");
  await scene.isSeen("export", "gone");
});

test("a CronJob is told with its runs: one that failed is none, two are", async () => {
  const jobTemplate = { spec: job("x").spec };
  const uid = await scene.made({
    ...{ apiVersion: "batch/v1", kind: "CronJob", name: "nightly", spec: { schedule: "@daily", jobTemplate } },
  });
  await scene.isSeen("nightly", "worker healthy running");
  await scene.made(job("nightly-1", owned("CronJob", "nightly", uid)));
  await scene.stated("Job", "nightly-1", failure());
  await eventually(
    () => scene.listed("nightly"),
    ({ message }) => message === "last run failed",
  );
  // As its controller does, which keeps one failed run.
  await scene.removed("Job", "nightly-1");
  await scene.made(job("nightly-2", owned("CronJob", "nightly", uid)));
  await scene.stated("Job", "nightly-2", failure());
  await scene.isSeen("nightly", "worker unhealthy failed");
  expect(await scene.listed("nightly-2")).toBeUndefined();
  await scene.removed("CronJob", "nightly");
  await scene.removed("Job", "nightly-2");
  await scene.isSeen("nightly", "gone");
});

test("pods and ReplicaSets that belong to nothing are told, the others with what they belong to", async () => {
  const selector = { matchLabels: { app: "own" } };
  const template = { metadata: { labels: { app: "own" } }, spec: { containers } };
  const uid = await scene.made({
    ...{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "own", spec: { replicas: 1, selector, template } },
  });
  await scene.made({
    apiVersion: "v1",
    kind: "Pod",
    name: "own-a",
    metadata: owned("ReplicaSet", "own", uid),
    spec: { containers },
  });
  await scene.made({ apiVersion: "v1", kind: "Pod", name: "alone", spec: { containers } });
  await scene.stated("ReplicaSet", "own", { replicas: 1, observedGeneration: 1 });
  const waiting = { reason: "CrashLoopBackOff" };
  const containerStatuses = [
    { name: "app", image: "x", imageID: "", ready: false, restartCount: 4, state: { waiting } },
  ];
  await scene.stated("Pod", "own-a", { phase: "Running", containerStatuses });
  await eventually(
    () => scene.listed("own"),
    ({ message }) => message?.includes("own-a: CrashLoopBackOff (4 restarts)") === true,
  );
  expect(await scene.state("own")).toMatch(/^container (degraded|unhealthy) /);
  await scene.isSeen("alone", "container unknown creating");
  await scene.stated("Pod", "alone", { phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
  await scene.isSeen("alone", "container healthy running");
  expect(await scene.listed("own-a")).toBeUndefined();
  await scene.removed("ReplicaSet", "own");
  await scene.removed("Pod", "own-a");
  await scene.removed("Pod", "alone");
  await scene.isSeen("own", "gone");
  await scene.isSeen("alone", "gone");
});

test("a disruption budget that allows none is told, and counts as no workload", async () => {
  const selector = { matchLabels: { app: "api" } };
  await scene.made({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    name: "guard",
    spec: { minAvailable: 2, selector },
  });
  const counts = { expectedPods: 2, currentHealthy: 1, desiredHealthy: 2, disruptionsAllowed: 0 };
  await scene.stated("PodDisruptionBudget", "guard", { observedGeneration: 1, ...counts });
  await scene.isSeen("guard", "pod-disruption-budget degraded running");
  expect((await scene.listed("guard"))?.message).toBe("1 of 2 healthy; no disruption allowed");
  // What the tests before have removed may still be counted: the status follows the report.
  await eventually(scene.shown, (status) => status?.workloads?.summary === "2/2");
  await scene.removed("PodDisruptionBudget", "guard");
  await scene.isSeen("guard", "gone");
});

test("a platform that was restored from before asks once, has everything again, and shows nothing as gone that is there", async () => {
  const { gate, platform } = health.world;
  await health.apply("old");
  await health.ready("old", 2);
  const all = { api: "healthy 2", web: "healthy 2" };
  await eventually(seen, (rows) => isDeepStrictEqual(rows, { ...all, old: "healthy 2" }));
  const restore = await backUp(platform.db);
  await scene.removed("Deployment", "old");
  await health.apply("late");
  await health.ready("late", 2);
  await health.ready("api", 1);
  await eventually(seen, (rows) => isDeepStrictEqual(rows, { api: "degraded 1", web: "healthy 2", late: "healthy 2" }));
  gate.passage = "down";
  await restore();
  expect(await seen()).toEqual({ ...all, old: "healthy 2" });
  const before = reports.length;
  gate.passage = "open";
  await health.ready("web", 1);
  const looks: string[][] = [];
  await eventually(
    async () => {
      const rows = await seen();
      looks.push(Object.keys(rows).toSorted());
      return rows;
    },
    (rows) => isDeepStrictEqual(rows, { api: "degraded 1", web: "degraded 1", late: "healthy 2" }),
  );
  // As it was, and then as it is: in between at most with what both have.
  const changes = looks.map((names) => names.join()).filter((names, index, those) => names !== those[index - 1]);
  expect(changes.filter((names) => names !== "api,late,old,web")).toEqual(["api,old,web", "api,late,web"]);
  const since = () => reports.slice(before);
  const full = () => since().filter(({ resourceLevel }) => resourceLevel?.full === true);
  expect(full()).toHaveLength(1);
  await health.ready("api", 2);
  await health.ready("web", 2);
  await eventually(seen, (rows) => isDeepStrictEqual(rows, { ...all, late: "healthy 2" }));
  expect(full()).toHaveLength(1);
  const ended = since().flatMap(({ removedHeartbeats = [], observedInventoryBatches = [] }) => [
    ...removedHeartbeats.map(({ resourceId }) => resourceId),
    ...observedInventoryBatches.flatMap(({ removed = [] }) => removed),
  ]);
  expect(ended).toEqual([]);
});

test("a destructive plan on old knowledge is refused; when the engineer accepts that, the approver reads it", async () => {
  await health.stopAgent();
  const { db } = health.world.platform;
  const observedAt = new Date(Date.now() - 43 * 60_000);
  await db.updateTable("resource_levels").set({ confirmed_at: observedAt }).execute();
  await db.updateTable("resource_heartbeats").set({ observed_at: observedAt }).execute();
  await db.updateTable("inventory_rows").set({ observed_at: observedAt }).execute();
  const { accessRequests } = health.world.engineer;
  const params = { namespace: SHOP, pod: "web-0" };
  const plan = {
    ...{
      deploymentId: health.world.deploymentId,
      remediationPlanId: "plan-1",
      title: "Remove it",
      reason: "It hangs.",
    },
    commands: [{ command: "kubernetes/delete-pod", summary: "web-0", params }],
  };
  const { id, planHash } = await accessRequests.create({ body: plan }, signal());
  await expect(accessRequests.queue({ params: { id } }, signal())).rejects.toMatchObject({
    code: "RESOURCE_STATE_STALE",
    status: 409,
  });
  const queued = await accessRequests.queue({ params: { id }, body: { acceptStale: true } }, signal());
  expect(queued.acceptedStale?.observedAt).toBe(observedAt.toISOString());
  health.startAgent();
  const grant = await health.world.grant(id, (each) => each !== undefined);
  expect(grant.spec.planHash).toBe(planHash);
  const kubeconfig = cluster().kubeconfigFor({ user: "alice" });
  const words = ["get", "accessgrants", objectName(id), "-n", GRANTS, "-o", "jsonpath={.spec.reason}"];
  const { stdout } = await cluster().kubectl(words, { kubeconfig });
  expect(stdout).toBe(
    `It hangs.\n\n[platform] Raised on knowledge that is 43 minutes old: the resources were last observed at ${observedAt.toISOString()}.`,
  );
});
