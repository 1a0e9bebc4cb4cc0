import { bool, entries, int, interned, list, map, optional, string, time } from "./field-types.ts";
import { field, message } from "./projection.ts";

// Parts of several kinds. Field numbers: generated.proto of k8s.io/apimachinery/pkg/apis/meta/v1 and
// k8s.io/api/{core,apps}/v1.

const ownerReferenceShape = message({
  apiVersion: field(5, interned),
  kind: field(1, interned),
  name: field(3, interned),
  uid: field(4, interned),
  controller: field(6, optional(bool)),
  blockOwnerDeletion: field(7, optional(bool)),
});

/** Metadata without annotations: on most kinds they are the larger half of an object, and hold what others wrote. */
const leanMetadata = {
  name: field(1, string),
  namespace: field(3, optional(interned)),
  uid: field(5, string),
  resourceVersion: field(6, string),
  generation: field(7, int),
  creationTimestamp: field(8, time),
  deletionTimestamp: field(9, optional(time)),
  labels: field(11, map(interned)),
  ownerReferences: field(13, list(ownerReferenceShape)),
  finalizers: field(14, list(interned)),
};

export const leanMetadataShape = message(leanMetadata);

/** All of `ObjectMeta` but `managedFields`, `selfLink` and `generateName`. */
export const metadataShape = message({ ...leanMetadata, annotations: field(12, map(string)) });

/** With the period that a deletion gives the containers to end. */
export const podMetadataShape = message({ ...leanMetadata, deletionGracePeriodSeconds: field(10, optional(int)) });

/** Counts the rollouts of a Deployment; on its ReplicaSets the rollout that each is of. */
export const REVISION_ANNOTATION = "deployment.kubernetes.io/revision";

/** The metadata of Deployments and ReplicaSets: of the annotations the revision alone. */
export const revisionMetadataShape = message({
  ...leanMetadata,
  annotations: field(12, entries([REVISION_ANNOTATION], interned)),
});

/** Conditions of apps/v1 kinds but Deployments. */
export const appsConditionShape = message({
  type: field(1, interned),
  status: field(2, interned),
  lastTransitionTime: field(3, optional(time)),
  reason: field(4, optional(interned)),
  message: field(5, optional(string)),
});

/** Conditions of core/v1 and batch/v1 kinds. The time of the last probe is left out: it would make each probe a change. */
export const coreConditionShape = message({
  type: field(1, interned),
  status: field(2, interned),
  lastTransitionTime: field(4, optional(time)),
  reason: field(5, optional(interned)),
  message: field(6, optional(string)),
});

/** A Deployment's; the time of the last update is when its rollout last came forward. */
export const deploymentConditionShape = message({
  type: field(1, interned),
  status: field(2, interned),
  lastUpdateTime: field(6, optional(time)),
  lastTransitionTime: field(7, optional(time)),
  reason: field(4, optional(interned)),
  message: field(5, optional(string)),
});

export const labelSelectorShape = message({ matchLabels: field(1, map(interned)) });

/** Names and images only: environment, mounts and probes stay on the wire. */
export const containerShape = message({ name: field(1, interned), image: field(2, interned) });

export const podTemplateShape = message({
  spec: field(
    2,
    message({ containers: field(2, list(containerShape)), initContainers: field(20, list(containerShape)) }),
  ),
});

const terminatedShape = message({
  exitCode: field(1, int),
  signal: field(2, int),
  reason: field(3, optional(interned)),
  message: field(4, optional(string)),
  startedAt: field(5, optional(time)),
  finishedAt: field(6, optional(time)),
});

const containerStateShape = message({
  waiting: field(1, optional(message({ reason: field(1, optional(interned)), message: field(2, optional(string)) }))),
  running: field(2, optional(message({ startedAt: field(1, optional(time)) }))),
  terminated: field(3, optional(terminatedShape)),
});

export const containerStatusShape = message({
  name: field(1, interned),
  state: field(2, containerStateShape),
  lastState: field(3, containerStateShape),
  ready: field(4, bool),
  restartCount: field(5, int),
  image: field(6, interned),
});
