import { randomUUID } from "node:crypto";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { type Stored, storeObjects } from "../../../lab/cluster/etcd-store.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { ours } from "../../world/objects.ts";
import { SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import type { DrainWorld } from "./drain-world.ts";

/** Pools and, of each, the nodes that are drained, all at once. */
const POOLS = 5;
const NODES_EACH = 10;
/** Their names begin with the prefix of their pool: node-100 to node-109 with node-10. */
const FIRST_NODE = 100;
export const DRAINED = Array.from({ length: POOLS * NODES_EACH }, (_, index) => `node-${FIRST_NODE + index}`);
export const HELD = Array.from({ length: POOLS }, (_, index) => `held-${index}`);
export const PACED = Array.from({ length: POOLS }, (_, index) => `paced-${index}`);
/** Of a workload with a budget. */
export const REPLICAS = 10;
/** On each drained node that no budget protects. */
const FREE_EACH = 16;
export const FREE = DRAINED.length * FREE_EACH;
/** On each drained node: those, one of each kind of budget, a static pod and one of a DaemonSet. */
const PODS_EACH = FREE_EACH + 4;
/** Label app of pods on the other nodes. */
export const ELSEWHERE = "elsewhere";
/** On the evictable pods of drained nodes, and on what is made for them. */
export const WATCHED = "watched";
/** With which the cluster begins: those that are drained, and others where their pods may go. */
export const FIRST_NODES = 150;
const NOW = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+Z$/, "Z");
const LOCAL = "example.com/local";

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}
interface DaemonSet extends KubeObject {
  readonly status?: { readonly numberReady?: number };
}
interface PodOptions {
  readonly owner: Owner;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * `pods` pods on `nodes` nodes, of which the cluster began with {@link FIRST_NODES}. On each drained node are sixteen that no budget protects, one of a workload whose budget
 * allows none (held), one of a workload whose budget allows two (paced), a mirror of a static pod, and one of a DaemonSet.
 *
 * Only held and paced ones come back elsewhere. The controller manager makes 20 pods a second: budgets would wait for
 * those of no budget.
 */
export async function seedFleet(world: DrainWorld, nodes: number, pods: number): Promise<void> {
  const { cluster } = world;
  const { controllerManager } = cluster.programs;
  // It starts anew when everything is there: else it makes pods of a ReplicaSet that it has seen before its pods.
  await controllerManager?.kill();
  const objects = [...budgeted(), ...(await mirrors(world))];
  for (let number = FIRST_NODES + 1; number <= nodes; number += 1) objects.push(node(`node-${number}`));
  const fleet = deployment("fleet");
  objects.push(fleet.stored);
  for (const nodeName of DRAINED) {
    for (let index = 0; index < FREE_EACH; index += 1) {
      objects.push(pod(`free-${nodeName}-${index}`, nodeName, { owner: fleet.owner, labels: labelsOf("free") }));
    }
  }
  const others = Array.from({ length: nodes }, (_, index) => `node-${index + 1}`).filter((at) => !DRAINED.includes(at));
  for (let index = 0; index < pods - DRAINED.length * PODS_EACH; index += 1) {
    const at = others[index % others.length] ?? "";
    objects.push(pod(`${ELSEWHERE}-${index}`, at, { owner: fleet.owner, labels: { app: ELSEWHERE } }));
  }
  await storeObjects(cluster.etcd, objects, signal());
  controllerManager?.spawn();
  await daemons(cluster);
  await cluster.apply(Array.from({ length: POOLS }, (_, index) => pool(index)));
  for (const app of HELD) await world.budget(app, app, { minAvailable: REPLICAS });
  for (const app of PACED) await world.budget(app, app, { maxUnavailable: 2 });
  await eventually(
    () => world.admin.get<DaemonSet>(resources.daemonSets, { namespace: SHOP, name: "logs" }, signal()),
    ({ status }) => status?.numberReady === DRAINED.length,
    300_000,
  );
}

const labelsOf = (app: string) => ({ app, [WATCHED]: "yes" });
const ownedBy = ({ apiVersion, kind, name, uid }: Owner) => ({
  ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
});
const TEMPLATE_SPEC = {
  containers: [{ name: "main", image: "none", terminationMessagePolicy: "File", imagePullPolicy: "Always" }],
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 30,
  dnsPolicy: "ClusterFirst",
  schedulerName: "default-scheduler",
  securityContext: {},
};

/** Ready, as the API server stores it. */
function pod(name: string, nodeName: string, { owner, labels, annotations }: PodOptions): Stored {
  const tolerations = ["not-ready", "unreachable"].map((what) => ({
    ...{ key: `node.kubernetes.io/${what}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
  }));
  const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
    ...{ type, status: "True", lastTransitionTime: NOW },
  }));
  const common = { name, namespace: SHOP, uid: randomUUID(), creationTimestamp: NOW };
  return {
    key: `/registry/pods/${SHOP}/${name}`,
    value: {
      ...{ apiVersion: "v1", kind: "Pod" },
      metadata: { ...common, labels, ...(annotations && { annotations }), ...ownedBy(owner) },
      spec: { ...TEMPLATE_SPEC, nodeName, serviceAccountName: "default", tolerations },
      status: { phase: "Running", qosClass: "BestEffort", startTime: NOW, podIP: "10.1.0.1", conditions },
    },
  };
}

/** Ready, and kwok keeps it so. */
function node(name: string): Stored {
  const labels = { type: "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" };
  const room = { cpu: "256", memory: "1Ti", pods: "20000" };
  const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
  const conditions = [{ ...ready, lastHeartbeatTime: NOW, lastTransitionTime: NOW }];
  return {
    key: `/registry/minions/${name}`,
    value: {
      ...{ apiVersion: "v1", kind: "Node", spec: {} },
      metadata: { name, uid: randomUUID(), creationTimestamp: NOW, labels },
      status: { phase: "Running", capacity: room, allocatable: room, conditions },
    },
  };
}

/** A controller by name that makes no pods: it wants none. */
function deployment(name: string): { readonly owner: Owner; readonly stored: Stored } {
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name, uid: randomUUID() };
  const labels = { app: `${name}-template` };
  const value = {
    ...{ apiVersion: owner.apiVersion, kind: owner.kind },
    metadata: { name, namespace: SHOP, uid: owner.uid, generation: 1, creationTimestamp: NOW },
    spec: {
      ...{ replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: TEMPLATE_SPEC } },
      strategy: { type: "Recreate" },
      ...{ revisionHistoryLimit: 10, progressDeadlineSeconds: 600 },
    },
  };
  return { owner, stored: { key: `/registry/deployments/${SHOP}/${name}`, value } };
}

/** Ten ReplicaSets of ten pods: of those that are held each has all nodes of a pool, the others two nodes of each pool. */
function budgeted(): Stored[] {
  const nodeOf = (app: string, index: number, replica: number): string =>
    (app.startsWith("held") ? DRAINED[index * NODES_EACH + replica] : DRAINED[replica * POOLS + index]) ?? "";
  return [HELD, PACED].flatMap((apps) =>
    apps.flatMap((app, index) => {
      const labels = labelsOf(app);
      const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: app, uid: randomUUID() };
      const value = {
        ...{ apiVersion: owner.apiVersion, kind: owner.kind },
        metadata: { name: app, namespace: SHOP, uid: owner.uid, generation: 1, creationTimestamp: NOW },
        spec: {
          ...{ replicas: REPLICAS, selector: { matchLabels: { app } } },
          template: { metadata: { labels }, spec: TEMPLATE_SPEC },
        },
      };
      const pods = Array.from({ length: REPLICAS }, (_, replica) =>
        pod(`${app}-${replica}`, nodeOf(app, index, replica), { owner, labels }),
      );
      return [{ key: `/registry/replicasets/${SHOP}/${app}`, value }, ...pods];
    }),
  );
}

async function mirrors(world: DrainWorld): Promise<Stored[]> {
  const found: Stored[] = [];
  for (const nodeName of DRAINED) {
    const uid = (await world.node(nodeName))?.metadata.uid;
    if (uid === undefined) throw new Error(`there is no node ${nodeName}`);
    const owner = { apiVersion: "v1", kind: "Node", name: nodeName, uid };
    const annotations = { "kubernetes.io/config.mirror": "0", "kubernetes.io/config.source": "file" };
    found.push(pod(`static-${nodeName}`, nodeName, { owner, labels: { [LOCAL]: "static" }, annotations }));
  }
  return found;
}

async function daemons(cluster: Cluster): Promise<void> {
  const labels = { [LOCAL]: "daemon" };
  const here = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: DRAINED }] };
  const affinity = {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [here] } },
  };
  const spec = { containers: [{ name: "main", image: "none" }], affinity };
  await cluster.apply([
    {
      ...{ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "logs", namespace: SHOP } },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
  ]);
}

function pool(index: number) {
  const namePrefix = `node-${FIRST_NODE / NODES_EACH + index}`;
  return ours("MachinePool", namePrefix, { deploymentId: "dep_1", namePrefix, drain: { maxParallel: NODES_EACH } });
}

/** Names with uids of what stays with a node that is drained. */
export async function localPods({ admin }: DrainWorld): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { metadata } of admin.list(resources.pods, { namespace: SHOP, labelSelector: LOCAL }, signal())) {
    if (metadata.deletionTimestamp === undefined) found.push(`${metadata.name} ${metadata.uid}`);
  }
  return found.sort();
}
