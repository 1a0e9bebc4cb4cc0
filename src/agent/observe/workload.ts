import type { Job, PersistentVolumeClaim } from "../../kube/projection/batch-shapes.ts";
import type { DaemonSet, Deployment, Pod, ReplicaSet, StatefulSet } from "../../kube/projection/shapes.ts";
import { daemonSetState } from "../../kube/workload-state/daemon-set.ts";
import { deploymentState } from "../../kube/workload-state/deployment.ts";
import { isReady, podState } from "../../kube/workload-state/pod.ts";
import type { PodsView } from "../../kube/workload-state/pods.ts";
import { replicaSetState } from "../../kube/workload-state/replica-set.ts";
import type { WorkloadState } from "../../kube/workload-state/state.ts";
import { statefulSetState } from "../../kube/workload-state/stateful-set.ts";
import type { ObservedKind } from "../kernel/observed-kinds.ts";

type Metadata = StatefulSet["metadata"];

export interface WorkloadCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
}

export interface Counts {
  readonly desired?: number;
  readonly current?: number;
  readonly ready?: number;
  readonly available?: number;
  readonly updated?: number;
  readonly misscheduled?: number;
}

/** What the caches know of other objects that belong to one; what is left out is not known. */
export interface Related extends Omit<PodsView, "now"> {
  readonly replicaSets?: readonly ReplicaSet[];
  readonly jobs?: readonly Job[];
  /** Of a StatefulSet, by the uid of a pod: its claim that is not bound. */
  readonly claims?: ReadonlyMap<string, PersistentVolumeClaim>;
}

/** One object that is told, as far as its health goes: one shape for all kinds. */
export interface Workload {
  readonly kind: ObservedKind;
  readonly metadata: Metadata;
  readonly counts: Counts;
  readonly observedGeneration?: number;
  readonly conditions: readonly WorkloadCondition[];
  /** Health, lifecycle and message, by the rules of its kind. */
  readonly stateOf: (view: Related & { readonly now: Date }) => WorkloadState;
  /** Images of its containers, in order. */
  readonly images: readonly string[];
  /** What else is told of this kind. */
  readonly facts?: Readonly<Record<string, string | number>>;
  /** It has ended, or only events change it: time alone does not. */
  readonly isTimeless?: boolean;
}

/** What the kinds with a pod template have in common. */
function templated(
  kind: ObservedKind,
  { metadata, spec, status }: Deployment | StatefulSet | DaemonSet | ReplicaSet,
  counts: Counts,
  stateOf: Workload["stateOf"],
): Workload {
  const { observedGeneration, conditions } = status;
  const images = spec.template.spec.containers.map(({ image }) => image);
  return { kind, metadata, counts, observedGeneration, conditions, stateOf, images };
}

/** `replicas` unset means 1 (the API server fills it in; a test's object may not). */
export function ofDeployment(deployment: Deployment): Workload {
  const { spec, status } = deployment;
  const counts = {
    desired: spec.replicas ?? 1,
    current: status.replicas,
    ready: status.readyReplicas,
    available: status.availableReplicas,
    updated: status.updatedReplicas,
  };
  return templated("Deployment", deployment, counts, (view) => deploymentState(deployment, view));
}

export function ofStatefulSet(set: StatefulSet): Workload {
  const { spec, status } = set;
  const counts = {
    desired: spec.replicas ?? 1,
    current: status.replicas,
    ready: status.readyReplicas,
    available: status.availableReplicas,
    updated: status.updatedReplicas,
  };
  return templated("StatefulSet", set, counts, (view) => statefulSetState(set, view));
}

export function ofDaemonSet(set: DaemonSet): Workload {
  const { status } = set;
  const counts = {
    desired: status.desiredNumberScheduled,
    current: status.currentNumberScheduled,
    ready: status.numberReady,
    available: status.numberAvailable,
    updated: status.updatedNumberScheduled,
    misscheduled: status.numberMisscheduled,
  };
  return templated("DaemonSet", set, counts, (view) => daemonSetState(set, view));
}

export function ofReplicaSet(replicaSet: ReplicaSet): Workload {
  const { spec, status } = replicaSet;
  const counts = {
    desired: spec.replicas ?? 1,
    current: status.replicas,
    ready: status.readyReplicas,
    available: status.availableReplicas,
  };
  return templated("ReplicaSet", replicaSet, counts, (view) => replicaSetState(replicaSet, view));
}

export function ofPod(pod: Pod): Workload {
  const { metadata, spec, status } = pod;
  return {
    kind: "Pod",
    metadata,
    counts: { desired: 1, current: 1, ready: isReady(pod) ? 1 : 0 },
    conditions: status.conditions,
    stateOf: (view) => podState(pod, view),
    images: spec.containers.map(({ image }) => image),
    isTimeless: status.phase === "Succeeded" || status.phase === "Failed",
  };
}
