import type { DaemonSet, Deployment, StatefulSet } from "../../kube/projection/shapes.ts";
import { daemonSetState } from "../../kube/workload-state/daemon-set.ts";
import { deploymentState } from "../../kube/workload-state/deployment.ts";
import type { PodsView } from "../../kube/workload-state/pods.ts";
import type { WorkloadState } from "../../kube/workload-state/state.ts";
import { statefulSetState } from "../../kube/workload-state/stateful-set.ts";
import type { WorkloadKind } from "../kernel/workload-kinds.ts";

type Metadata = StatefulSet["metadata"];
export type WorkloadCondition = Deployment["status"]["conditions"][number];

export interface Counts {
  readonly desired: number;
  readonly current: number;
  readonly ready: number;
  readonly available: number;
  readonly updated: number;
  readonly misscheduled?: number;
}

/** A Deployment, StatefulSet or DaemonSet, as far as its health goes: one shape for three kinds. */
export interface Workload {
  readonly kind: WorkloadKind;
  readonly metadata: Metadata;
  /** `matchLabels` of the selector: which pods are its own. */
  readonly selector: Readonly<Record<string, string>>;
  readonly counts: Counts;
  readonly observedGeneration: number;
  readonly conditions: readonly WorkloadCondition[];
  /** Health, lifecycle and message, by the rules of its kind. */
  readonly stateOf: (view: PodsView) => WorkloadState;
  /** Images of its containers, in order. */
  readonly images: readonly string[];
}

const imagesOf = (spec: Deployment["spec"] | DaemonSet["spec"]): readonly string[] =>
  spec.template.spec.containers.map(({ image }) => image);

/** `replicas` unset means 1 (the API server fills it in; a test's object may not). */
export function ofDeployment(deployment: Deployment): Workload {
  const { metadata, spec, status } = deployment;
  return {
    kind: "Deployment",
    metadata,
    selector: spec.selector.matchLabels,
    counts: {
      desired: spec.replicas ?? 1,
      current: status.replicas,
      ready: status.readyReplicas,
      available: status.availableReplicas,
      updated: status.updatedReplicas,
    },
    observedGeneration: status.observedGeneration,
    conditions: status.conditions,
    stateOf: (view) => deploymentState(deployment, view),
    images: imagesOf(spec),
  };
}

export function ofStatefulSet(set: StatefulSet): Workload {
  const { metadata, spec, status } = set;
  return {
    kind: "StatefulSet",
    metadata,
    selector: spec.selector.matchLabels,
    counts: {
      desired: spec.replicas ?? 1,
      current: status.currentReplicas,
      ready: status.readyReplicas,
      available: status.availableReplicas,
      updated: status.updatedReplicas,
    },
    observedGeneration: status.observedGeneration,
    conditions: status.conditions,
    stateOf: (view) => statefulSetState(set, view),
    images: imagesOf(spec),
  };
}

export function ofDaemonSet(set: DaemonSet): Workload {
  const { metadata, spec, status } = set;
  return {
    kind: "DaemonSet",
    metadata,
    selector: spec.selector.matchLabels,
    counts: {
      desired: status.desiredNumberScheduled,
      current: status.currentNumberScheduled,
      ready: status.numberReady,
      available: status.numberAvailable,
      updated: status.updatedNumberScheduled,
      misscheduled: status.numberMisscheduled,
    },
    observedGeneration: status.observedGeneration,
    conditions: status.conditions,
    stateOf: (view) => daemonSetState(set, view),
    images: imagesOf(spec),
  };
}
