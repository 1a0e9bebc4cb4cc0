import {
  appsConditionShape,
  containerShape,
  containerStatusShape,
  coreConditionShape,
  deploymentConditionShape,
  labelSelectorShape,
  leanMetadataShape,
  metadataShape,
  podMetadataShape,
  podTemplateShape,
  revisionMetadataShape,
} from "./common-shapes.ts";
import { bool, int, interned, list, map, microTime, optional, quantity, string, time } from "./field-types.ts";
import { field, message, type Projected } from "./projection.ts";

// Field numbers: generated.proto of k8s.io/api/{core,apps,events}/v1.

export const podShape = message({
  metadata: field(1, podMetadataShape),
  spec: field(
    2,
    message({
      containers: field(2, list(containerShape)),
      initContainers: field(20, list(containerShape)),
      nodeName: field(10, optional(interned)),
      serviceAccountName: field(8, optional(interned)),
      readinessGates: field(28, list(message({ conditionType: field(1, interned) }))),
    }),
  ),
  status: field(
    3,
    message({
      phase: field(1, interned),
      conditions: field(2, list(coreConditionShape)),
      message: field(3, optional(string)),
      reason: field(4, optional(interned)),
      podIP: field(6, optional(string)),
      startTime: field(7, optional(time)),
      containerStatuses: field(8, list(containerStatusShape)),
      initContainerStatuses: field(10, list(containerStatusShape)),
      qosClass: field(9, optional(interned)),
    }),
  ),
});
export type Pod = Projected<typeof podShape>;

export const deploymentShape = message({
  metadata: field(1, revisionMetadataShape),
  spec: field(
    2,
    message({
      replicas: field(1, optional(int)),
      selector: field(2, labelSelectorShape),
      template: field(3, podTemplateShape),
      strategy: field(4, message({ type: field(1, interned) })),
      paused: field(7, bool),
      progressDeadlineSeconds: field(9, optional(int)),
    }),
  ),
  status: field(
    3,
    message({
      observedGeneration: field(1, int),
      replicas: field(2, int),
      updatedReplicas: field(3, int),
      availableReplicas: field(4, int),
      unavailableReplicas: field(5, int),
      readyReplicas: field(7, int),
      conditions: field(6, list(deploymentConditionShape)),
    }),
  ),
});
export type Deployment = Projected<typeof deploymentShape>;

export const statefulSetShape = message({
  metadata: field(1, leanMetadataShape),
  spec: field(
    2,
    message({
      replicas: field(1, optional(int)),
      selector: field(2, labelSelectorShape),
      template: field(3, podTemplateShape),
      /** By name alone: with a Pod's name it is the name of its claim. */
      volumeClaimTemplates: field(4, list(message({ metadata: field(1, message({ name: field(1, interned) })) }))),
      serviceName: field(5, optional(string)),
      updateStrategy: field(
        7,
        message({
          type: field(1, interned),
          rollingUpdate: field(2, optional(message({ partition: field(1, optional(int)) }))),
        }),
      ),
      ordinals: field(11, optional(message({ start: field(1, int) }))),
    }),
  ),
  status: field(
    3,
    message({
      observedGeneration: field(1, int),
      replicas: field(2, int),
      readyReplicas: field(3, int),
      currentReplicas: field(4, int),
      updatedReplicas: field(5, int),
      currentRevision: field(6, optional(string)),
      updateRevision: field(7, optional(string)),
      conditions: field(10, list(appsConditionShape)),
      availableReplicas: field(11, int),
    }),
  ),
});
export type StatefulSet = Projected<typeof statefulSetShape>;

export const daemonSetShape = message({
  metadata: field(1, leanMetadataShape),
  spec: field(
    2,
    message({
      selector: field(1, labelSelectorShape),
      template: field(2, podTemplateShape),
      updateStrategy: field(3, message({ type: field(1, interned) })),
    }),
  ),
  status: field(
    3,
    message({
      currentNumberScheduled: field(1, int),
      numberMisscheduled: field(2, int),
      desiredNumberScheduled: field(3, int),
      numberReady: field(4, int),
      observedGeneration: field(5, int),
      updatedNumberScheduled: field(6, int),
      numberAvailable: field(7, int),
      numberUnavailable: field(8, int),
      conditions: field(10, list(appsConditionShape)),
    }),
  ),
});
export type DaemonSet = Projected<typeof daemonSetShape>;

export const replicaSetShape = message({
  metadata: field(1, revisionMetadataShape),
  spec: field(
    2,
    message({
      replicas: field(1, optional(int)),
      selector: field(2, labelSelectorShape),
      template: field(3, podTemplateShape),
    }),
  ),
  status: field(
    3,
    message({
      replicas: field(1, int),
      fullyLabeledReplicas: field(2, int),
      observedGeneration: field(3, int),
      readyReplicas: field(4, int),
      availableReplicas: field(5, int),
      conditions: field(6, list(appsConditionShape)),
    }),
  ),
});
export type ReplicaSet = Projected<typeof replicaSetShape>;

export const nodeShape = message({
  metadata: field(1, leanMetadataShape),
  spec: field(
    2,
    message({
      providerID: field(3, optional(string)),
      unschedulable: field(4, bool),
      taints: field(
        5,
        list(message({ key: field(1, interned), value: field(2, optional(interned)), effect: field(3, interned) })),
      ),
    }),
  ),
  status: field(
    3,
    message({
      capacity: field(1, map(quantity)),
      allocatable: field(2, map(quantity)),
      conditions: field(
        4,
        list(
          message({
            type: field(1, interned),
            status: field(2, interned),
            // lastHeartbeatTime (3) is left out: it would make every heartbeat a change.
            lastTransitionTime: field(4, optional(time)),
            reason: field(5, optional(interned)),
            message: field(6, optional(string)),
          }),
        ),
      ),
      addresses: field(5, list(message({ type: field(1, interned), address: field(2, string) }))),
      nodeInfo: field(
        7,
        message({
          kernelVersion: field(4, interned),
          osImage: field(5, interned),
          containerRuntimeVersion: field(6, interned),
          kubeletVersion: field(7, interned),
          operatingSystem: field(9, interned),
          architecture: field(10, interned),
        }),
      ),
    }),
  ),
});
export type Node = Projected<typeof nodeShape>;

export const namespaceShape = message({
  metadata: field(1, metadataShape),
  status: field(3, message({ phase: field(1, interned) })),
});
export type Namespace = Projected<typeof namespaceShape>;

/** Metadata only: what a ConfigMap holds is not ours to cache. */
export const configMapShape = message({ metadata: field(1, metadataShape) });
export type ConfigMap = Projected<typeof configMapShape>;

const objectReferenceShape = message({
  kind: field(1, interned),
  namespace: field(2, optional(interned)),
  name: field(3, string),
  uid: field(4, optional(string)),
  apiVersion: field(5, optional(interned)),
  fieldPath: field(7, optional(string)),
});

/** events.k8s.io/v1. */
export const eventShape = message({
  metadata: field(1, leanMetadataShape),
  eventTime: field(2, optional(microTime)),
  series: field(3, optional(message({ count: field(1, int), lastObservedTime: field(2, optional(microTime)) }))),
  reportingController: field(4, interned),
  action: field(6, optional(interned)),
  reason: field(7, interned),
  regarding: field(8, objectReferenceShape),
  note: field(10, optional(string)),
  type: field(11, interned),
  deprecatedFirstTimestamp: field(13, optional(time)),
  deprecatedLastTimestamp: field(14, optional(time)),
  deprecatedCount: field(15, int),
});
export type Event = Projected<typeof eventShape>;
