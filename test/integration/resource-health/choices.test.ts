import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import {
  openAllToObservation,
  openNamespace,
  openNodes,
  redactNames,
} from "../../../src/crds/manifests/installation.ts";
import { SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { installMetricsApi, podMetrics } from "../metrics-api.ts";
import { useHealth } from "./health-world.ts";
import { condition, containers, eventOf, failure, job, rowsOf, Scene } from "./scene.ts";

// What the customer takes away, gives, and chooses in the chart: the agent's rights, and its settings.
const { cluster, health } = useHealth({ workloads: ["api", "web"], settings: {} });
const { reports, seen } = health;
const scene = new Scene(cluster, health);

test("a right that is taken makes it unknown and nothing gone, and given back it is known again", async () => {
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.web === "healthy 2");
  const { stdout } = await cluster().kubectl(["get", "rolebindings", "-n", SHOP, "-o", "json"]);
  const bindings: { metadata: { name: string }; subjects: { name: string }[] }[] = JSON.parse(stdout).items;
  const own = bindings.filter(({ subjects }) => subjects.some(({ name }) => name === "sallyport-agent"));
  expect(own.length).toBeGreaterThan(0);
  for (const { metadata } of own) await cluster().kubectl(["delete", "rolebinding", metadata.name, "-n", SHOP]);
  await eventually(seen, (rows) => rows.api === "unknown 2" && rows.web === "unknown 2");
  const status = await eventually(scene.shown, (each) => condition(each, "Observed")?.status === "False");
  expect(status?.collection).toContainEqual({ namespace: SHOP, kind: "Deployment", reason: "Forbidden" });
  expect(condition(status, "WorkloadsHealthy")?.status).toBe("Unknown");
  for (const { metadata, ...binding } of own) {
    await cluster().apply([{ ...binding, metadata: { name: metadata.name, namespace: SHOP } }]);
  }
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.web === "healthy 2");
  await eventually(scene.shown, (each) => condition(each, "WorkloadsHealthy")?.status === "True");
});

test("a rule that is taken costs that kind alone, and given back it is known again", async () => {
  await scene.made(job("import"));
  await scene.stated("Job", "import", failure());
  await scene.isSeen("import", "worker unhealthy failed");
  const giveBack = await scene.withoutRule("jobs");
  await scene.isSeen("import", "worker unknown failed");
  const status = await eventually(scene.shown, (each) => condition(each, "Observed")?.status === "False");
  expect(status?.collection).toEqual([
    { namespace: SHOP, kind: "Job", reason: "Forbidden" },
    { namespace: SHOP, kind: "PodMetrics", reason: "NotInstalled" },
  ]);
  expect(await seen()).toMatchObject({ api: "healthy 2", web: "healthy 2" });
  await giveBack();
  await scene.isSeen("import", "worker unhealthy failed");
  await eventually(scene.shown, (each) => condition(each, "Observed")?.status === "True");
  await scene.removed("Job", "import");
  await scene.isSeen("import", "gone");
});

test("without the right to events a sick workload says so, and with it again it has them", async () => {
  const giveBack = await scene.withoutRule("events");
  await eventually(scene.shown, (each) => condition(each, "Permitted")?.status === "False");
  const uid = await scene.made(job("export"));
  const regarding = { apiVersion: "batch/v1", kind: "Job", name: "export", namespace: SHOP, uid };
  await cluster().apply([eventOf("export.3", regarding, "again")]);
  await scene.stated("Job", "export", failure());
  const issues = () =>
    scene.toldOf(`job.${SHOP}.export`)?.status.collectionIssues.filter(({ source }) => source === "events");
  await eventually(
    async () => issues(),
    (found) => found?.[0]?.reason === "forbidden",
  );
  await giveBack();
  await eventually(
    async () => scene.toldOf(`job.${SHOP}.export`),
    (each) => each?.events[0]?.message === "again",
  );
  expect(issues()).toEqual([]);
  await scene.removed("Job", "export");
  await scene.isSeen("export", "gone");
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
    await scene.made({ apiVersion: "v1", kind: "Pod", name, spec: { containers } });
    await scene.stated("Pod", name, { phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
  }
  await cluster().apply([podMetrics(SHOP, "measured", { cpu: "250m", memory: "64Mi" })]);
  const before = reports.length;
  health.startAgent();
  const told = await eventually(
    async () => scene.toldOf(`pod.${SHOP}.measured`),
    (each) => each?.cpu !== undefined,
  );
  expect(told).toMatchObject({
    cpu: { value: 0.25, unit: "cores" },
    memory: { value: 67_108_864, unit: "bytes" },
    status: { partial: false, collectionIssues: [] },
  });
  expect(reports.length).toBeGreaterThan(before);
  expect(scene.toldOf(`pod.${SHOP}.unmeasured`)).not.toHaveProperty("cpu");
  await scene.removed("Pod", "measured");
  await scene.removed("Pod", "unmeasured");
  await cluster().kubectl(["delete", "crd", "pods.metrics.k8s.io"]);
  await scene.isSeen("measured", "gone");
});

test("nodes are told once the customer lets them be read: one report for the cluster, and unknown without the right", async () => {
  await health.stopAgent();
  for (const name of ["node-a", "node-b"]) {
    await cluster().apply([{ apiVersion: "v1", kind: "Node", metadata: { name } }]);
    await nodeIs(name, "Ready");
  }
  await cluster().apply([...openNodes()]);
  const before = reports.length;
  health.startAgent({ SALLYPORT_OBSERVED_NODES: "on" });
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
  const status = await eventually(scene.shown, (each) => condition(each, "Permitted")?.status === "False");
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

test("with names hidden no report has the name of a pod, claim, node or image, and a restart changes none of the others", async () => {
  await health.stopAgent();
  const hidden = ["heron-0", "basement-node", "registry.example/heron"];
  const heron = { nodeName: "basement-node", containers: [{ name: "app", image: "registry.example/heron:1" }] };
  await cluster().apply([...openNodes(), ...redactNames()]);
  await cluster().apply([{ apiVersion: "v1", kind: "Node", metadata: { name: "basement-node" } }]);
  await scene.made({ apiVersion: "v1", kind: "Pod", name: "heron-0", spec: heron });
  await scene.stated("Pod", "heron-0", { phase: "Failed", reason: "Evicted", message: "heron-0 on basement-node" });
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
  await scene.removed("Pod", "heron-0");
  await cluster().kubectl(["delete", "node/basement-node"]);
  health.startAgent();
  await eventually(seen, (rows) => Object.keys(rows).every((name) => !name.startsWith("pod-")));
});
