import { bool, int, interned, list, map, optional, string, time } from "./field-types.ts";
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

/** All of `ObjectMeta` but `managedFields`, `selfLink` and `generateName`. */
export const metadataShape = message({
  name: field(1, string),
  namespace: field(3, optional(interned)),
  uid: field(5, string),
  resourceVersion: field(6, string),
  generation: field(7, int),
  creationTimestamp: field(8, time),
  deletionTimestamp: field(9, optional(time)),
  labels: field(11, map(interned)),
  annotations: field(12, map(string)),
  ownerReferences: field(13, list(ownerReferenceShape)),
  finalizers: field(14, list(interned)),
});

/**
 * As {@link metadataShape} without annotations: on pods and nodes they are the larger half of an object and seldom
 * read.
 */
export const leanMetadataShape = message({
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
});

/** Conditions of apps/v1 kinds; ReplicaSet and StatefulSet number the time differently. */
export const conditionAt = (transitionNumber: number) =>
  message({
    type: field(1, interned),
    status: field(2, interned),
    lastTransitionTime: field(transitionNumber, optional(time)),
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
