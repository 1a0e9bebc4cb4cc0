import Type, { type Static, type TProperties, type TSchema } from "typebox";
import {
  Bounded,
  DeploymentId,
  FreeMap,
  Maybe,
  Platform,
  RESOURCE_BYTES,
  SMALL_DOCUMENT_BYTES,
  Strict,
  Timestamp,
  Words,
} from "../wire/schema.ts";

/** A resource's or manager's last report counts as stale this long after it (§11.1). */
export const STALE_AFTER_MS = 180_000;

export const HEALTHS = ["unknown", "healthy", "degraded", "unhealthy"] as const;
export const LIFECYCLES = [
  "unknown",
  "creating",
  "updating",
  "running",
  "scaling",
  "stopping",
  "stopped",
  "deleting",
  "deleted",
  "failed",
] as const;
export const BACKENDS = ["aws", "gcp", "azure", "kubernetes", "local", "managed", "external", "test"] as const;

const health = Words(HEALTHS);
const lifecycle = Words(LIFECYCLES);
const backend = Words(BACKENDS);
/**
 * Of any count. Kubernetes lets a workload want 2^31-1 pods, and a resource's restarts are a sum over its pods: a smaller
 * maximum would refuse the reports of a cluster that has such a one. Without one the sums of lists leave the whole numbers.
 */
const MAX_COUNT = 1_000_000_000_000;
const count = Type.Integer({ minimum: 0, maximum: MAX_COUNT });
const line = Type.String({ maxLength: 1024 });

/** Other types of this form are stored too, and shown only in the list of all resources (§11.3). */
export const ResourceType = Type.String({ pattern: "^[a-z][a-z0-9_-]{0,63}$" });

const CollectionIssue = Strict({
  reason: Words(["forbidden", "not-installed", "api-unavailable", "collection-failed", "timed-out"]),
  severity: Words(["info", "warning", "error"]),
  source: line,
  message: line,
});

export const ResourceStatus = Strict({
  health,
  lifecycle,
  message: Maybe(Type.String({ maxLength: 4096 })),
  partial: Type.Boolean(),
  stale: Type.Boolean({ description: "The collector's own flag: what it read was old." }),
  collectionIssues: Type.Array(CollectionIssue, { maxItems: 50 }),
});
export type ResourceStatus = Static<typeof ResourceStatus>;

const RawDocument = Strict({
  source: line,
  format: Words(["json", "yaml", "text"]),
  collectedAt: Timestamp,
  body: Type.String({ maxLength: 32_768 }),
  truncated: Type.Boolean(),
});

const Metric = Strict({
  value: Type.Number(),
  unit: Words(["count", "percent", "bytes", "cores", "milliseconds", "requests-per-second"]),
});
const Counts = Strict({
  desired: Maybe(count),
  current: Maybe(count),
  ready: Maybe(count),
  available: Maybe(count),
  updated: Maybe(count),
  misscheduled: Maybe(count),
});
const Pod = Strict({
  name: line,
  uid: Maybe(line),
  phase: Maybe(line),
  ready: Type.Boolean(),
  restartCount: count,
  waitingReason: Maybe(line),
  terminatedReason: Maybe(line),
  nodeName: Maybe(line),
  podIp: Maybe(line),
  ownerReferences: Type.Array(Strict({ kind: line, name: line, uid: Maybe(line) }), { maxItems: 10 }),
  cpu: Maybe(Metric),
  memory: Maybe(Metric),
});
const KubernetesEvent = Strict({
  reason: line,
  message: Type.String({ maxLength: 4096 }),
  type: Maybe(line),
  count: Maybe(count),
  eventTime: Maybe(Timestamp),
  firstTimestamp: Maybe(Timestamp),
  lastTimestamp: Maybe(Timestamp),
  involvedObject: Maybe(FreeMap),
  source: Maybe(line),
});
export type KubernetesEvent = Static<typeof KubernetesEvent>;
const Workload = Strict({
  desiredReplicas: Maybe(count),
  readyReplicas: Maybe(count),
  availableReplicas: Maybe(count),
  updatedReplicas: Maybe(count),
  observedGeneration: Maybe(count),
  desiredGeneration: Maybe(count),
  rolloutReason: Maybe(line),
  conditions: Type.Array(
    Strict({
      type: line,
      status: line,
      reason: Maybe(line),
      message: Maybe(Type.String({ maxLength: 4096 })),
      lastTransitionTime: Maybe(Timestamp),
    }),
    { maxItems: 20 },
  ),
});

/**
 * A resource's id over all deployments: free of what a path would have to escape, and no longer than a Kubernetes name
 * with its kind.
 */
export const LOGICAL_ID = "^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$";
const logicalId = Type.String({
  pattern: LOGICAL_ID,
  description: "The resource's id in the stack; of what no release of this deployment installed, its kind and name.",
});

/** Other reporters may send more keys; the platform keeps and shows them as they came. */
const kubernetes = <const P extends TProperties>(properties: P) =>
  Type.Object({
    status: ResourceStatus,
    backend: Type.Literal("kubernetes"),
    logicalId: Maybe(logicalId),
    ...properties,
  });
const workloadFields = {
  namespace: line,
  name: line,
  replicas: Counts,
  pods: Type.Array(Pod, { maxItems: 500 }),
  events: Type.Array(KubernetesEvent, { maxItems: 20 }),
  restarts: Maybe(count),
  cpu: Maybe(Metric),
  memory: Maybe(Metric),
  usageObservedAt: Maybe(
    Type.String({ format: "date-time", description: "Of cpu and memory, which are told with other changes only." }),
  ),
  workload: Maybe(Workload),
};

const WORKLOAD_KINDS = ["deployment", "statefulSet", "daemonSet", "replicaSet", "pod"] as const;

/** The exact `data.data` of the types that have one on Kubernetes (§11.5); the rest need a `status` and may add. */
export const KUBERNETES_DATA: Readonly<Record<string, TSchema>> = {
  container: kubernetes({ workloadKind: Words(WORKLOAD_KINDS), ...workloadFields }),
  worker: kubernetes({ triggerCount: count, ...workloadFields }),
  daemon: kubernetes({ commandSupported: Type.Boolean(), ...workloadFields }),
  "kubernetes-cluster": kubernetes({
    name: line,
    nodeCounts: Counts,
    podCounts: Counts,
    nodeStatuses: Type.Array(FreeMap, { maxItems: 500 }),
    version: Maybe(line),
    region: Maybe(line),
    cpu: Maybe(Metric),
    memory: Maybe(Metric),
  }),
};

/** One resource's health at one instant. */
export const ResourceHeartbeat = Strict({
  resourceId: Type.String({ minLength: 1, maxLength: 253 }),
  resourceType: ResourceType,
  controllerPlatform: Platform,
  backend,
  observedAt: Timestamp,
  data: Strict({ resourceType: ResourceType, data: Bounded(RESOURCE_BYTES, Type.Object({ status: ResourceStatus })) }),
  raw: Type.Array(RawDocument, { maxItems: 5 }),
  deploymentId: Maybe(DeploymentId),
});
export type ResourceHeartbeat = Static<typeof ResourceHeartbeat>;

/** A resource whose heartbeats have ended. */
export const RemovedHeartbeat = Strict({
  resourceType: ResourceType,
  resourceId: Type.String({ minLength: 1, maxLength: 253 }),
});
export type RemovedHeartbeat = Static<typeof RemovedHeartbeat>;

/** One object that the observer saw in the customer's environment, managed by us or not. */
export const ObservedResource = Strict({
  rawIdentity: Type.String({ minLength: 1, maxLength: 512, description: "For example `apps/v1:Deployment:shop:api`." }),
  providerKind: Type.String({ minLength: 1, maxLength: 128 }),
  displayName: Type.String({ minLength: 1, maxLength: 253 }),
  health,
  lifecycle,
  partial: Type.Boolean(),
  providerStale: Type.Boolean(),
  namespace: Maybe(line),
  region: Maybe(line),
  scope: Maybe(line),
  resourceTypeHint: Maybe(ResourceType),
  version: Maybe(Type.String({ maxLength: 256 })),
  managedResourceId: Maybe(Type.String({ maxLength: 253 })),
  message: Maybe(Type.String({ maxLength: 4096 })),
  counts: Maybe(Strict({ desired: Maybe(count), current: Maybe(count), ready: Maybe(count) })),
  collectionIssues: Type.Optional(Type.Array(CollectionIssue, { maxItems: 50 })),
  labels: Type.Optional(Bounded(SMALL_DOCUMENT_BYTES, Type.Record(Type.String(), Type.String()))),
  attributes: Type.Optional(Bounded(SMALL_DOCUMENT_BYTES, FreeMap)),
  raw: Type.Optional(Type.Array(RawDocument, { maxItems: 5 })),
});
export type ObservedResource = Static<typeof ObservedResource>;

/** One list of one scope, or a part of it (§11.6). */
export const ObservedInventoryBatch = Strict({
  sourceKind: Words(["operator", "manager-observer"]),
  inventoryScope: Type.String({ minLength: 1, maxLength: 512 }),
  controllerPlatform: Platform,
  backend,
  observedAt: Timestamp,
  complete: Type.Boolean({ description: "False when a list was refused or failed: nothing is removed then." }),
  /** `full`, the default: the whole list, or a part of it. `delta`: what changed; nothing else is removed. */
  mode: Type.Optional(Words(["full", "delta"])),
  resources: Type.Array(ObservedResource, { maxItems: 500 }),
  removed: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
      maxItems: 500,
      description: "`rawIdentity` of what is gone.",
    }),
  ),
  part: Type.Optional(
    Strict({ index: Type.Integer({ minimum: 0, maximum: 999 }), count: Type.Integer({ minimum: 1, maximum: 1000 }) }),
  ),
});
export type ObservedInventoryBatch = Static<typeof ObservedInventoryBatch>;
