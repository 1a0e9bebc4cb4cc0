import type { Cluster } from "../../../lab/cluster/cluster.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { type DynamicObject, type Resource, resources } from "../../../src/kube/objects/resource.ts";
import { SHOP } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";
import { installMetricsApi, podMetrics } from "../metrics-api.ts";

type Object_ = Readonly<Record<string, unknown>>;

const labels = { app: "web", "app.kubernetes.io/version": "1.4.2" };
const container = {
  name: "app",
  image: "registry.example/app:1",
  env: [{ name: "DATABASE_URL", value: "not to be told" }],
  ports: [{ containerPort: 8080 }],
  resources: { requests: { cpu: "100m" }, limits: { memory: "256Mi" } },
};
const usage = { cpu: "250m", memory: "64Mi" };
const PLACE = { "topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": "r1a" };
const template = { metadata: { labels }, spec: { containers: [container] } };
const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
const condition = (type: string) => ({
  type,
  status: "True",
  reason: "Fine",
  message: "all is well",
  lastTransitionTime: now,
});

const nodeStatus = {
  allocatable: { cpu: "3920m", memory: "16Gi", pods: "110" },
  conditions: [condition("Ready"), condition("DiskPressure")],
  nodeInfo: {
    ...{ kubeletVersion: "v1.36.3", architecture: "amd64", operatingSystem: "linux", kernelVersion: "not to be told" },
    ...{ machineID: "", systemUUID: "", bootID: "", osImage: "", containerRuntimeVersion: "", kubeProxyVersion: "" },
  },
};

/**
 * A shop in which every field that the agent can report has a value. No controller runs, so the test alone writes
 * status.
 */
export async function createSamples(cluster: Cluster, admin: Client, node: Object_): Promise<void> {
  await cluster.apply([{ ...node, metadata: { name: "node-1", labels: PLACE } }]);
  await cluster.request({
    method: "PATCH",
    path: "/api/v1/nodes/node-1/status",
    contentType: "application/merge-patch+json",
    body: { status: { ...(node.status as Object_), ...nodeStatus } },
  });
  await cluster.apply([workload("Deployment", "front", { replicas: 2 })]);
  await cluster.apply([workload("StatefulSet", "store", { replicas: 1, serviceName: "store" })]);
  await cluster.apply([workload("DaemonSet", "probe", {})]);
  const owner = await replicaSetOf(cluster, admin);
  await batch(cluster, admin);
  for (const name of ["front-1-a", "front-1-b", "front-1-c"]) await cluster.apply([pod(name, owner)]);
  await installMetricsApi(cluster);
  await cluster.apply([podMetrics(SHOP, "front-1-a", usage), podMetrics(SHOP, "front-1-b", usage)]);
  await cluster.apply([event({ apiVersion: "v1", kind: "Pod", name: "front-1-a", namespace: SHOP })]);
  await status(admin, "front-1-a", {
    phase: "Running",
    podIP: "10.0.3.17",
    reason: "Evicted",
    conditions: [{ ...condition("Ready"), status: "False" }],
    containerStatuses: [state({ waiting: { reason: "CrashLoopBackOff", message: "not to be told" } })],
  });
  await status(admin, "front-1-b", {
    phase: "Running",
    podIP: "10.0.3.18",
    conditions: [condition("Ready")],
    containerStatuses: [state({ terminated: { reason: "OOMKilled", exitCode: 137 } })],
  });
  const body = { status: { observedGeneration: 1, conditions: [condition("Progressing")] } };
  const key = { namespace: SHOP, name: "front" };
  await admin.patch(resources.deployments, key, { type: "merge", body }, { subresource: "status" }, signal());
}

/** The pods' owner, as the Deployment's controller makes it. */
async function replicaSetOf(cluster: Cluster, admin: Client): Promise<Object_> {
  const read = (resource: Resource, name: string) =>
    admin.get<DynamicObject>(resource, { namespace: SHOP, name }, signal());
  const deployment = await read(resources.deployments, "front");
  const ownerReferences = [{ ...ownerOf(deployment), controller: true }];
  const replicaSet = workload("ReplicaSet", "front-1", { replicas: 2 });
  await cluster.apply([{ ...replicaSet, metadata: { name: "front-1", namespace: SHOP, labels, ownerReferences } }]);
  return ownerOf(await read(resources.replicaSets, "front-1"));
}

function ownerOf(object: DynamicObject | undefined): Object_ {
  if (object === undefined) throw new Error("it was made just now");
  const { apiVersion, kind, metadata } = object;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid };
}

/** Batch work, a pod of its own, a claim and a disruption budget. */
async function batch(cluster: Cluster, admin: Client): Promise<void> {
  const object = (apiVersion: string, kind: string, name: string, spec: Object_): Object_ => ({
    ...{ apiVersion, kind, metadata: { name, namespace: SHOP, labels }, spec },
  });
  const once = { ...template, spec: { ...template.spec, restartPolicy: "Never" } };
  await cluster.apply([
    object("batch/v1", "Job", "import", { template: { spec: once.spec } }),
    object("batch/v1", "CronJob", "nightly", { schedule: "@daily", jobTemplate: { spec: { template: once } } }),
    object("v1", "Pod", "alone", template.spec),
    object("v1", "PersistentVolumeClaim", "data", {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    }),
    object("policy/v1", "PodDisruptionBudget", "front", { minAvailable: 1, selector: { matchLabels: labels } }),
  ]);
  const times = { lastScheduleTime: now, lastSuccessfulTime: now };
  const body = { status: times };
  const key = { namespace: SHOP, name: "nightly" };
  await admin.patch(resources.cronJobs, key, { type: "merge", body }, { subresource: "status" }, signal());
  await failedJob(cluster, admin, object("batch/v1", "Job", "export", { template: { spec: once.spec } }));
}

/** What is sick is told with its events. */
async function failedJob(cluster: Cluster, admin: Client, job: Object_): Promise<void> {
  await cluster.apply([job]);
  const key = { namespace: SHOP, name: "export" };
  const owner = ownerOf(await admin.get<DynamicObject>(resources.jobs, key, signal()));
  await cluster.apply([event({ ...owner, namespace: SHOP }, "export.1")]);
  const conditions = ["FailureTarget", "Failed"].map(condition);
  const body = { status: { startTime: now, failed: 7, conditions } };
  await admin.patch(resources.jobs, key, { type: "merge", body }, { subresource: "status" }, signal());
}

async function status(admin: Client, name: string, value: Object_): Promise<void> {
  const patch = { type: "merge", body: { status: value } } as const;
  await admin.patch(resources.pods, { namespace: SHOP, name }, patch, { subresource: "status" }, signal());
}

function state(value: Object_): Object_ {
  return { name: "app", image: container.image, imageID: "", ready: false, restartCount: 3, state: value };
}

function workload(kind: string, name: string, spec: Object_): Object_ {
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name, namespace: SHOP, labels },
    spec: { ...spec, selector: { matchLabels: { app: "web" } }, template },
  };
}

function pod(name: string, owner: Object_): Object_ {
  const ownerReferences = [{ ...owner, controller: true }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: SHOP, labels: { ...labels, "pod-template-hash": "1" }, ownerReferences },
    spec: { ...template.spec, nodeName: "node-1" },
  };
}

function event(regarding: Object_, name = "front-1-a.1"): Object_ {
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name, namespace: SHOP },
    eventTime: new Date().toISOString().replace("Z", "000Z"),
    reportingController: "example.com/app",
    reportingInstance: "app-1",
    action: "Start",
    reason: "Failed",
    type: "Warning",
    note: "back-off",
    regarding,
  };
}
