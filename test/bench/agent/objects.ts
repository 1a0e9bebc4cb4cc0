import { randomUUID } from "node:crypto";
import type { ApiCredentials } from "../../../lab/cluster/api-request.ts";
import { type Stored, storeObjects } from "../../../lab/cluster/etcd-store.ts";

export const NAMESPACE = "shop";
const PODS_EACH = 10;
const WRITERS = 4;

export const nameOf = (index: number): string => `web-${index}`;
export const podOf = (index: number): string => `web-${Math.floor(index / PODS_EACH)}-5d8c7b9f4-${index % PODS_EACH}`;
export const workloadsOf = (pods: number): number => Math.ceil(pods / PODS_EACH);

/** Deployments, each with its ReplicaSet and ten pods that are ready, written into etcd as the API server stores them. */
export async function storeWorkloads(
  etcd: ApiCredentials,
  pods: number,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const total = workloadsOf(pods);
  let next = 0;
  const timer = setInterval(() => say(`storing: ${next} of ${total} Deployments with their pods`), 10_000);
  const write = async (): Promise<void> => {
    while (next < total) {
      const from = next;
      next = Math.min(total, next + 8);
      const objects = Array.from({ length: next - from }, (_, n) => workload(from + n)).flat();
      await storeObjects(etcd, objects, signal);
    }
  };
  try {
    await Promise.all(Array.from({ length: WRITERS }, write));
  } finally {
    clearInterval(timer);
  }
}

const NOW = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+Z$/, "Z");
const HASH = "5d8c7b9f4";

const owner = (kind: string, name: string, uid: string) => ({
  ownerReferences: [{ apiVersion: "apps/v1", kind, name, uid, controller: true, blockOwnerDeletion: true }],
});

const ANNOTATIONS = { "example.com/config-hash": "f".repeat(64), "example.com/note": "n".repeat(300) };

function podSpec(index: number) {
  const env = Array.from({ length: 12 }, (_, k) => ({ name: `SETTING_${k}`, value: `value-${k}-${"x".repeat(20)}` }));
  const container = (name: string) => ({
    name,
    image: `registry.example.com/team/${name}:1.2.${index % 7}`,
    env,
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
    ports: [{ containerPort: 8080, name: "http", protocol: "TCP" }],
    readinessProbe: { httpGet: { path: "/ready", port: 8080, scheme: "HTTP" } },
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
  });
  return {
    containers: [container("app"), container("sidecar")],
    volumes: [{ name: "config", configMap: { name: "web", defaultMode: 420 } }],
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
  };
}

const condition = (type: string, reason: string) => ({ type, status: "True", reason, lastTransitionTime: NOW });

function workload(index: number): readonly Stored[] {
  const name = nameOf(index);
  const labels = { app: name, "app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "storefront" };
  const podLabels = { ...labels, "pod-template-hash": HASH };
  const [uid, setUid, setName] = [randomUUID(), randomUUID(), `${name}-${HASH}`];
  const common = { namespace: NAMESPACE, creationTimestamp: NOW };
  const spec = podSpec(index);
  const counts = { replicas: PODS_EACH, readyReplicas: PODS_EACH, availableReplicas: PODS_EACH, observedGeneration: 1 };
  const annotations = { "deployment.kubernetes.io/revision": "1", ...ANNOTATIONS };
  const deployment = {
    ...{ apiVersion: "apps/v1", kind: "Deployment" },
    metadata: { ...common, name, uid, generation: 1, labels, annotations },
    spec: {
      replicas: PODS_EACH,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels }, spec },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    },
    status: {
      ...{ ...counts, updatedReplicas: PODS_EACH },
      conditions: [
        condition("Available", "MinimumReplicasAvailable"),
        condition("Progressing", "NewReplicaSetAvailable"),
      ],
    },
  };
  const replicaSet = {
    ...{ apiVersion: "apps/v1", kind: "ReplicaSet" },
    metadata: {
      ...{ ...common, name: setName, uid: setUid, generation: 1, labels: podLabels, annotations },
      ...owner("Deployment", name, uid),
    },
    spec: {
      replicas: PODS_EACH,
      selector: { matchLabels: { app: name, "pod-template-hash": HASH } },
      template: { metadata: { labels: podLabels }, spec },
    },
    status: { ...counts, fullyLabeledReplicas: PODS_EACH },
  };
  const pods = Array.from({ length: PODS_EACH }, (_, n) => pod(index * PODS_EACH + n, { podLabels, setName, setUid }));
  return [
    { key: `/registry/deployments/${NAMESPACE}/${name}`, value: deployment },
    { key: `/registry/replicasets/${NAMESPACE}/${setName}`, value: replicaSet },
    ...pods.map((value) => ({ key: `/registry/pods/${NAMESPACE}/${value.metadata.name}`, value })),
  ];
}

interface OfPod {
  readonly podLabels: Readonly<Record<string, string>>;
  readonly setName: string;
  readonly setUid: string;
}

function pod(index: number, { podLabels, setName, setUid }: OfPod) {
  const ofContainer = (name: string) => ({
    ...{ name, ready: true, started: true, restartCount: 0 },
    image: `registry.example.com/team/${name}:1.2.${index % 7}`,
    imageID: `registry.example.com/team/${name}@sha256:${"a".repeat(64)}`,
    containerID: `containerd://${randomUUID().replaceAll("-", "").repeat(2)}`,
    state: { running: { startedAt: NOW } },
  });
  return {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: {
      ...{ name: podOf(index), namespace: NAMESPACE, uid: randomUUID(), creationTimestamp: NOW, labels: podLabels },
      ...{ generateName: `${setName}-`, annotations: ANNOTATIONS, ...owner("ReplicaSet", setName, setUid) },
    },
    spec: { ...podSpec(index), nodeName: `node-${index % 100}`, serviceAccountName: "default" },
    status: {
      ...{ phase: "Running", qosClass: "Burstable", startTime: NOW },
      ...{ hostIP: "10.0.0.1", podIP: `10.1.${Math.floor(index / 250) % 250}.${index % 250}` },
      conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => condition(type, "Set")),
      containerStatuses: [ofContainer("app"), ofContainer("sidecar")],
    },
  };
}
