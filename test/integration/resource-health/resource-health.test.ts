import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { objectName } from "../../../src/crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import {
  openAllToObservation,
  openNamespace,
  openNodes,
  redactNames,
} from "../../../src/crds/manifests/installation.ts";
import { GRANTS, SHOP } from "../agent/agent-world.ts";
import { installMetricsApi, podMetrics } from "../metrics-api.ts";
import { eventually, signal } from "../wait.ts";
import { type Report, useHealth } from "./health-world.ts";

const { cluster, health } = useHealth({
  workloads: ["api", "web"],
  settings: { SALLYPORT_ACCESS_CHECK_INTERVAL: "2s" },
});
const { reports, seen } = health;

/** What the customer reads. */
async function shown(): Promise<ManagedDeployment["status"]> {
  const key = { namespace: GRANTS, name: objectName(health.world.deploymentId) };
  return (await health.world.admin.get<ManagedDeployment>(managedDeployments, key, signal()))?.status;
}

const condition = (status: ManagedDeployment["status"], type: string) =>
  status?.conditions?.find((each) => each.type === type);
const rowsOf = ({ observedInventoryBatches = [] }: Report): number =>
  observedInventoryBatches.reduce((sum, { resources }) => sum + resources.length, 0);

test("both sides see that all is well", async () => {
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.web === "healthy 2");
  const status = await eventually(shown, (each) => each?.workloads?.summary === "2/2");
  expect(condition(status, "WorkloadsHealthy")).toMatchObject({ status: "True", reason: "AllHealthy" });
  expect(condition(status, "Observed")).toMatchObject({ status: "True", reason: "CachesSynced" });
});

interface Told {
  readonly cpu?: object;
  readonly workload?: { readonly conditions: readonly object[] };
  readonly events: readonly { readonly reason: string; readonly message: string; readonly involvedObject: object }[];
  readonly status: { readonly collectionIssues: readonly { readonly source: string; readonly reason: string }[] };
}

/** What the agent last told of a workload beside its row. */
function toldOf(resourceId: string): Told | undefined {
  const beats = reports.flatMap(({ resourceHeartbeats = [] }) => resourceHeartbeats);
  return beats.findLast((each) => each.resourceId === resourceId)?.data.data as Told | undefined;
}

test("a cluster without metrics.k8s.io is told as that, with nothing else missing", async () => {
  const told = await eventually(
    async () => toldOf(`deployment.${SHOP}.api`),
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
  const status = await eventually(shown, (each) => each?.workloads?.summary === "1/2");
  expect(status?.workloads?.attention).toEqual([`deployment/${SHOP}/api`]);
  const { stdout } = await cluster().kubectl(["get", "manageddeployments", "-n", GRANTS]);
  expect(stdout).toMatch(/HEALTHY.*OBSERVED[\s\S]*1\/2/);
  await health.ready("api", 2);
  const waited = ["wait", `manageddeployments.sallyport.dev/${objectName(health.world.deploymentId)}`, "-n", GRANTS];
  await cluster().kubectl([...waited, "--for=condition=WorkloadsHealthy", "--timeout=60s"]);
  // The customer may see it first: the last report was just now.
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.web === "healthy 2");
});

test("what is deleted is gone from the vendor's lists", async () => {
  await health.apply("brief");
  await health.ready("brief", 2);
  await eventually(seen, (rows) => rows.brief === "healthy 2");
  await cluster().kubectl(["delete", "deployment", "brief", "-n", SHOP]);
  await eventually(seen, (rows) => rows.brief === undefined);
  expect(await seen()).toEqual({ api: "healthy 2", web: "healthy 2" });
});

test("a right that is taken makes it unknown and nothing gone, and given back it is known again", async () => {
  const { stdout } = await cluster().kubectl(["get", "rolebindings", "-n", SHOP, "-o", "json"]);
  const bindings: { metadata: { name: string }; subjects: { name: string }[] }[] = JSON.parse(stdout).items;
  const own = bindings.filter(({ subjects }) => subjects.some(({ name }) => name === "sallyport-agent"));
  expect(own.length).toBeGreaterThan(0);
  for (const { metadata } of own) await cluster().kubectl(["delete", "rolebinding", metadata.name, "-n", SHOP]);
  await eventually(seen, (rows) => rows.api === "unknown 2" && rows.web === "unknown 2");
  const status = await eventually(shown, (each) => condition(each, "Observed")?.status === "False");
  expect(status?.collection).toContainEqual({ namespace: SHOP, kind: "Deployment", reason: "Forbidden" });
  expect(condition(status, "WorkloadsHealthy")?.status).toBe("Unknown");
  for (const { metadata, ...binding } of own) {
    await cluster().apply([{ ...binding, metadata: { name: metadata.name, namespace: SHOP } }]);
  }
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.web === "healthy 2");
  await eventually(shown, (each) => condition(each, "WorkloadsHealthy")?.status === "True");
});

const owned = (kind: string, name: string, uid: string) => ({
  ownerReferences: [{ apiVersion: kind === "CronJob" ? "batch/v1" : "apps/v1", kind, name, uid, controller: true }],
});

interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly metadata?: object;
  readonly spec: object;
}

/** @returns its uid */
async function made({ apiVersion, kind, name, metadata = {}, spec }: Sample): Promise<string> {
  await cluster().apply([{ apiVersion, kind, metadata: { name, namespace: SHOP, ...metadata }, spec }]);
  const { stdout } = await cluster().kubectl(["get", kind, name, "-n", SHOP, "-o", "jsonpath={.metadata.uid}"]);
  return stdout.trim();
}

async function stated(plural: string, name: string, status: object): Promise<void> {
  const group = { jobs: "apis/batch", pods: "api", replicasets: "apis/apps", poddisruptionbudgets: "apis/policy" };
  const path = `/${group[plural as keyof typeof group]}/v1/namespaces/${SHOP}/${plural}/${name}/status`;
  await cluster().request({ method: "PATCH", path, contentType: "application/merge-patch+json", body: { status } });
}

const containers = [{ name: "app", image: "registry.example/app:1" }];
const job = (name: string, metadata: object = {}): Sample => ({
  ...{ apiVersion: "batch/v1", kind: "Job", name, metadata },
  spec: { template: { spec: { containers, restartPolicy: "Never" } } },
});
const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, "Z");
const failure = (): object => {
  const failed = { status: "True", reason: "BackoffLimitExceeded", message: "too often", lastTransitionTime: now() };
  return { startTime: now(), failed: 7, conditions: ["FailureTarget", "Failed"].map((type) => ({ type, ...failed })) };
};

/** What the vendor reads of one, in full. */
async function listed(name: string) {
  const { resources } = await health.world.engineer.resources.list(
    { query: { project: health.world.projectId } },
    signal(),
  );
  return resources.find((each) => each.name === name);
}
const state = (row: Awaited<ReturnType<typeof listed>>): string =>
  row === undefined ? "gone" : `${row.resourceType} ${row.health} ${row.lifecycle}`;
const isSeen = (name: string, words: string) =>
  eventually(
    async () => state(await listed(name)),
    (seen) => seen === words,
  );

test("an object with words that no report can hold is told, and holds up no other", async () => {
  const far = "x".repeat(2_000);
  const labels = { app: "wild" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "€".repeat(1_000) }] } };
  const uid = await made({
    ...{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "wild" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  });
  const owner = { apiVersion: "example.com/v1", kind: far, name: "other", uid: "00000000-0000-4000-8000-000000000000" };
  const { ownerReferences } = owned("ReplicaSet", "wild", uid);
  const metadata = { ownerReferences: [...ownerReferences, owner] };
  await made({ apiVersion: "v1", kind: "Pod", name: "wild-a", metadata, spec: { containers } });
  const words = { type: far, status: far, reason: far, message: "\u001b[31m€".repeat(2_000) };
  await stated("replicasets", "wild", { replicas: 1, observedGeneration: 1, conditions: [words] });
  await stated("pods", "wild-a", { phase: far, reason: "DB_PASSWORD=canary", conditions: [words] });
  await eventually(
    async () => toldOf(`replicaSet.${SHOP}.wild`)?.workload?.conditions,
    (conditions) => conditions.length === 1,
  );
  await health.ready("web", 1);
  await eventually(seen, (rows) => rows.web === "degraded 1" && rows.wild !== undefined);
  await health.ready("web", 2);
  await cluster().kubectl(["delete", "replicaset/wild", "pod/wild-a", "-n", SHOP, "--force"]);
  await eventually(seen, (rows) => rows.web === "healthy 2" && rows.wild === undefined);
});

test("a Job that fails is told as a worker, and goes with its object", async () => {
  await made(job("import"));
  await isSeen("import", "worker unknown creating");
  await stated("jobs", "import", failure());
  await isSeen("import", "worker unhealthy failed");
  expect((await listed("import"))?.message).toBe("Job failed (BackoffLimitExceeded)");
  const route = { resourceType: "worker" as const };
  const { resources } = await health.world.engineer.resources.listOfType({ params: route, query: {} }, signal());
  expect(resources.map(({ resourceId }) => resourceId)).toEqual([`job.${SHOP}.import`]);
  await cluster().kubectl(["delete", "job", "import", "-n", SHOP]);
  await isSeen("import", "gone");
});

const eventOf = (name: string, regarding: object, note: string) => ({
  ...{ apiVersion: "events.k8s.io/v1", kind: "Event", metadata: { name, namespace: SHOP } },
  ...{ eventTime: new Date().toISOString().replace("Z", "000Z"), reason: "Failed", type: "Warning", note, regarding },
  ...{ reportingController: "example.com/app", reportingInstance: "app-1", action: "Start" },
});

test("a Job that fails is told with its own events, also when another of its name had some", async () => {
  const uid = await made(job("export"));
  const regarding = { apiVersion: "batch/v1", kind: "Job", name: "export", namespace: SHOP };
  await cluster().apply([
    eventOf("export.1", { ...regarding, uid }, "back-off; DB_PASSWORD=canary"),
    eventOf("export.2", { ...regarding, uid: "00000000-0000-4000-8000-000000000000" }, "of another"),
  ]);
  await stated("jobs", "export", failure());
  const told = await eventually(
    async () => toldOf(`job.${SHOP}.export`),
    (each) => each?.events.length === 1,
  );
  expect(told?.events).toMatchObject([
    { reason: "Failed", message: "back-off; DB_PASSWORD=[redacted]", involvedObject: { kind: "Job", name: "export" } },
  ]);
  expect(told?.status.collectionIssues.map(({ source }) => source)).not.toContain("events");
  await cluster().kubectl(["delete", "job", "export", "-n", SHOP]);
  await isSeen("export", "gone");
});

test("without the right to events a sick workload says so, and with it again it has them", async () => {
  const role = ["clusterrole", "sallyport-agent-observe"];
  const { stdout } = await cluster().kubectl(["get", ...role, "-o", "json"]);
  const rules: { resources: string[] }[] = JSON.parse(stdout).rules;
  const write = (kept: typeof rules) =>
    cluster().kubectl(["patch", ...role, "--type=merge", "-p", JSON.stringify({ rules: kept })]);
  await write(rules.filter(({ resources }) => !resources.includes("events")));
  await eventually(shown, (each) => condition(each, "Permitted")?.status === "False");
  const uid = await made(job("export"));
  const regarding = { apiVersion: "batch/v1", kind: "Job", name: "export", namespace: SHOP, uid };
  await cluster().apply([eventOf("export.3", regarding, "again")]);
  await stated("jobs", "export", failure());
  const issues = () =>
    toldOf(`job.${SHOP}.export`)?.status.collectionIssues.filter(({ source }) => source === "events");
  await eventually(
    async () => issues(),
    (found) => found?.[0]?.reason === "forbidden",
  );
  await write(rules);
  await eventually(
    async () => toldOf(`job.${SHOP}.export`),
    (each) => each?.events[0]?.message === "again",
  );
  expect(issues()).toEqual([]);
  await cluster().kubectl(["delete", "job", "export", "-n", SHOP]);
  await isSeen("export", "gone");
});

test("a CronJob is told with its runs: one that failed is none, two are", async () => {
  const jobTemplate = { spec: job("x").spec };
  const uid = await made({
    ...{ apiVersion: "batch/v1", kind: "CronJob", name: "nightly", spec: { schedule: "@daily", jobTemplate } },
  });
  await isSeen("nightly", "worker healthy running");
  await made(job("nightly-1", owned("CronJob", "nightly", uid)));
  await stated("jobs", "nightly-1", failure());
  await eventually(
    () => listed("nightly"),
    ({ message }) => message === "last run failed",
  );
  // As its controller does, which keeps one failed run.
  await cluster().kubectl(["delete", "job", "nightly-1", "-n", SHOP]);
  await made(job("nightly-2", owned("CronJob", "nightly", uid)));
  await stated("jobs", "nightly-2", failure());
  await isSeen("nightly", "worker unhealthy failed");
  expect(await listed("nightly-2")).toBeUndefined();
  await cluster().kubectl(["delete", "cronjob", "nightly", "-n", SHOP]);
  await cluster().kubectl(["delete", "job", "nightly-2", "-n", SHOP]);
  await isSeen("nightly", "gone");
});

test("pods and ReplicaSets that belong to nothing are told, the others with what they belong to", async () => {
  const selector = { matchLabels: { app: "own" } };
  const template = { metadata: { labels: { app: "own" } }, spec: { containers } };
  const uid = await made({
    ...{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "own", spec: { replicas: 1, selector, template } },
  });
  await made({
    apiVersion: "v1",
    kind: "Pod",
    name: "own-a",
    metadata: owned("ReplicaSet", "own", uid),
    spec: { containers },
  });
  await made({ apiVersion: "v1", kind: "Pod", name: "alone", spec: { containers } });
  await stated("replicasets", "own", { replicas: 1, observedGeneration: 1 });
  const waiting = { reason: "CrashLoopBackOff" };
  const containerStatuses = [
    { name: "app", image: "x", imageID: "", ready: false, restartCount: 4, state: { waiting } },
  ];
  await stated("pods", "own-a", { phase: "Running", containerStatuses });
  await eventually(
    () => listed("own"),
    ({ message }) => message?.includes("own-a: CrashLoopBackOff (4 restarts)") === true,
  );
  expect(state(await listed("own"))).toMatch(/^container (degraded|unhealthy) /);
  await isSeen("alone", "container unknown creating");
  await stated("pods", "alone", { phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
  await isSeen("alone", "container healthy running");
  expect(await listed("own-a")).toBeUndefined();
  await cluster().kubectl([
    "delete",
    "replicaset/own",
    "pod/own-a",
    "pod/alone",
    "-n",
    SHOP,

    "--force",
  ]);
  await isSeen("own", "gone");
  await isSeen("alone", "gone");
});

test("a disruption budget that allows none is told, and counts as no workload", async () => {
  const selector = { matchLabels: { app: "api" } };
  await made({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    name: "guard",
    spec: { minAvailable: 2, selector },
  });
  const counts = { expectedPods: 2, currentHealthy: 1, desiredHealthy: 2, disruptionsAllowed: 0 };
  await stated("poddisruptionbudgets", "guard", { observedGeneration: 1, ...counts });
  await isSeen("guard", "pod-disruption-budget degraded running");
  expect((await listed("guard"))?.message).toBe("1 of 2 healthy; no disruption allowed");
  // The status is written at most every 15 s: it may still count those that the tests before have removed.
  await eventually(shown, (status) => status?.workloads?.summary === "2/2");
  await cluster().kubectl(["delete", "pdb", "guard", "-n", SHOP]);
  await isSeen("guard", "gone");
});

test("a rule that is taken costs that kind alone, and given back it is known again", async () => {
  await made(job("import"));
  await stated("jobs", "import", failure());
  await isSeen("import", "worker unhealthy failed");
  const role = ["clusterrole", "sallyport-agent-observe"];
  const { stdout } = await cluster().kubectl(["get", ...role, "-o", "json"]);
  const rules: { resources: string[] }[] = JSON.parse(stdout).rules;
  const write = (kept: typeof rules) =>
    cluster().kubectl(["patch", ...role, "--type=merge", "-p", JSON.stringify({ rules: kept })]);
  await write(rules.filter(({ resources }) => !resources.includes("jobs")));
  await isSeen("import", "worker unknown failed");
  const status = await eventually(shown, (each) => condition(each, "Observed")?.status === "False");
  expect(status?.collection).toEqual([{ namespace: SHOP, kind: "Job", reason: "Forbidden" }]);
  expect(await seen()).toMatchObject({ api: "healthy 2", web: "healthy 2" });
  await write(rules);
  await isSeen("import", "worker unhealthy failed");
  await eventually(shown, (each) => condition(each, "Observed")?.status === "True");
  await cluster().kubectl(["delete", "job", "import", "-n", SHOP]);
  await isSeen("import", "gone");
});

test("a platform that was restored from before asks once, and has everything again", async () => {
  const { db } = health.world.platform;
  await db.deleteFrom("inventory_scopes").execute();
  await db.deleteFrom("resource_heartbeats").execute();
  const before = reports.length;
  await health.ready("api", 1);
  await eventually(seen, (rows) => rows.api === "degraded 1" && rows.web === "healthy 2");
  const full = () => reports.slice(before).filter(({ resourceLevel }) => resourceLevel?.full === true);
  expect(full()).toHaveLength(1);
  await health.ready("api", 2);
  await eventually(seen, (rows) => rows.api === "healthy 2");
  expect(full()).toHaveLength(1);
});

test("with a label selector only what it selects is told, and without it all again", async () => {
  await health.stopAgent();
  health.startAgent({ SALLYPORT_OBSERVED_LABEL_SELECTOR: "app in (api)" });
  await eventually(seen, (rows) => rows.web === undefined);
  expect(await seen()).toEqual({ api: "healthy 2" });
  await health.stopAgent();
  health.startAgent();
  await eventually(seen, (rows) => rows.web === "healthy 2");
});

test("cpu and memory of pods are told once the cluster measures them, and a pod that is not measured has none", async () => {
  await health.stopAgent();
  await installMetricsApi(cluster());
  for (const name of ["measured", "unmeasured"]) {
    await made({ apiVersion: "v1", kind: "Pod", name, spec: { containers } });
    await stated("pods", name, { phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
  }
  await cluster().apply([podMetrics(SHOP, "measured", { cpu: "250m", memory: "64Mi" })]);
  const before = reports.length;
  health.startAgent();
  const told = await eventually(
    async () => toldOf(`pod.${SHOP}.measured`),
    (each) => each?.cpu !== undefined,
  );
  expect(told).toMatchObject({
    cpu: { value: 0.25, unit: "cores" },
    memory: { value: 67_108_864, unit: "bytes" },
    status: { partial: false, collectionIssues: [] },
  });
  expect(reports.length).toBeGreaterThan(before);
  expect(toldOf(`pod.${SHOP}.unmeasured`)).not.toHaveProperty("cpu");
  await cluster().kubectl(["delete", "pod/measured", "pod/unmeasured", "-n", SHOP, "--force"]);
  await cluster().kubectl(["delete", "crd", "pods.metrics.k8s.io"]);
  await isSeen("measured", "gone");
});

test("nodes are told once the customer lets them be read: one report for the cluster, and unknown without the right", async () => {
  await health.stopAgent();
  for (const name of ["node-a", "node-b"]) {
    await cluster().apply([{ apiVersion: "v1", kind: "Node", metadata: { name } }]);
    await nodeIs(name, "Ready");
  }
  await cluster().apply([...openNodes()]);
  const before = reports.length;
  health.startAgent({ SALLYPORT_OBSERVED_NODES: "on", SALLYPORT_ACCESS_CHECK_INTERVAL: "2s" });
  const told = async () => {
    const { resources } = await health.world.engineer.resources.list(
      { query: { project: health.world.projectId } },
      signal(),
    );
    const found = resources.find(({ resourceType }) => resourceType === "kubernetes-cluster");
    return `${found?.health} ${found?.readyCount}/${found?.desiredCount} ${found?.message}`;
  };
  await eventually(told, (each) => each === "healthy 2/2 null");
  const since = reports.length;
  await nodeIs("node-b", "DiskPressure");
  await eventually(told, (each) => each === "degraded 2/2 2 of 2 nodes ready; node-b: DiskPressure");
  expect(reports.slice(since).reduce((sum, report) => sum + rowsOf(report), 0)).toBe(0);
  expect(JSON.stringify(reports.slice(before))).not.toContain("10.11.12.13");
  await cluster().kubectl(["delete", "clusterrolebinding", "sallyport-agent-nodes"]);
  await eventually(told, (each) => each.startsWith("unknown 2/2"));
  const status = await eventually(shown, (each) => condition(each, "Permitted")?.status === "False");
  expect(condition(status, "Permitted")?.message).toContain("nodes in the whole cluster");
  expect((await seen()).api).toBe("healthy 2");
  await health.stopAgent();
  await cluster().kubectl(["delete", "node/node-a", "node/node-b"]);
  health.startAgent();
  await eventually(told, (each) => each.startsWith("undefined"));
});

async function nodeIs(name: string, type: string): Promise<void> {
  const conditions = [{ type, status: "True", reason: "Set", message: "by the test" }];
  const status = { conditions, addresses: [{ type: "InternalIP", address: "10.11.12.13" }] };
  const contentType = "application/strategic-merge-patch+json";
  await cluster().request({ method: "PATCH", path: `/api/v1/nodes/${name}/status`, contentType, body: { status } });
}

test("in the scope of the cluster there is one stream a kind, and of a namespace that is not opened nothing leaves", async () => {
  await health.stopAgent();
  for (const namespace of ["jobs", "bank"]) {
    await cluster().apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }]);
    const pod = { metadata: { name: `of-${namespace}`, namespace }, spec: { containers } };
    await cluster().apply([{ apiVersion: "v1", kind: "Pod", ...pod }]);
  }
  await cluster().kubectl(["delete", "rolebinding", "sallyport-agent-observe", "-n", SHOP]);
  await cluster().apply([...openAllToObservation()]);
  const before = reports.length;
  health.startAgent({
    SALLYPORT_NAMESPACES: `${SHOP},jobs`,
    SALLYPORT_DEPLOYMENTS: `${health.world.deploymentId}=${SHOP}+jobs`,
    SALLYPORT_OBSERVED_SCOPE: "cluster",
  });
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows["of-jobs"] !== undefined);
  const { stdout } = await cluster().kubectl(["get", "--raw", "/metrics"]);
  const streams = stdout
    .split("\n")
    .filter((each) => each.startsWith("apiserver_longrunning_requests{") && each.includes('resource="cronjobs"'))
    .map((each) => `${/scope="(\w+)"/.exec(each)?.[1]} ${each.split(" ").at(-1)}`);
  expect(streams.filter((each) => !each.endsWith(" 0"))).toEqual(["cluster 1"]);
  await health.ready("api", 1);
  await eventually(seen, (rows) => rows.api === "degraded 1");
  await health.ready("api", 2);
  await eventually(seen, (rows) => rows.api === "healthy 2");
  expect(JSON.stringify(reports.slice(before))).not.toContain("bank");
  await health.stopAgent();
  await cluster().kubectl(["delete", "clusterrolebinding", "sallyport-agent-observe"]);
  await cluster().apply([...openNamespace(SHOP)]);
  health.startAgent();
  await eventually(seen, (rows) => rows["of-jobs"] === undefined && rows.api === "healthy 2");
});

test("with names hidden no report has the name of a pod, node or image, and a restart changes none of the others", async () => {
  await health.stopAgent();
  const hidden = ["heron-0", "basement-node", "registry.example/heron"];
  const heron = { nodeName: "basement-node", containers: [{ name: "app", image: "registry.example/heron:1" }] };
  await cluster().apply([...openNodes(), ...redactNames()]);
  await cluster().apply([{ apiVersion: "v1", kind: "Node", metadata: { name: "basement-node" } }]);
  await made({ apiVersion: "v1", kind: "Pod", name: "heron-0", spec: heron });
  await stated("pods", "heron-0", { phase: "Failed", reason: "Evicted", message: "heron-0 on basement-node" });
  const before = reports.length;
  const settings = { SALLYPORT_REDACT_NAMES: "on", SALLYPORT_OBSERVED_NODES: "on" };
  health.startAgent(settings);
  const alias = await eventually(
    async () => Object.keys(await seen()).find((name) => name.startsWith("pod-")),
    (name) => name !== undefined,
  );
  const secret = ["get", "secret", "sallyport-name-salt", "-n", "sallyport-system", "-o", "jsonpath={.data.salt}"];
  const salt = Buffer.from((await cluster().kubectl(secret)).stdout, "base64");
  expect(salt).toHaveLength(32);
  expect(alias).toBe(`pod-${createHmac("sha256", salt).update("heron-0").digest("hex").slice(0, 8)}`);
  expect((await seen()).api).toBe("healthy 2");
  await health.stopAgent();
  const since = reports.length;
  health.startAgent(settings);
  await eventually(
    async () => reports.slice(since).some((report) => rowsOf(report) > 0),
    (isTold) => isTold,
  );
  expect(Object.keys(await seen()).filter((name) => name.startsWith("pod-"))).toEqual([alias]);
  const text = JSON.stringify(reports.slice(before));
  expect(text).toContain(alias);
  expect(text).toContain('"nodeStatuses":[{"name":"node-');
  for (const name of hidden) expect(text).not.toContain(name);
  expect(health.world.logged.join()).not.toContain(salt.toString("base64"));
  await health.stopAgent();
  await cluster().kubectl(["delete", "pod/heron-0", "-n", SHOP, "--force"]);
  await cluster().kubectl(["delete", "node/basement-node"]);
  health.startAgent();
  await eventually(seen, (rows) => Object.keys(rows).every((name) => !name.startsWith("pod-")));
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
