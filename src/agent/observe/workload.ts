import type { DaemonSet, Deployment, StatefulSet } from "../../kube/projection/shapes.ts";
import type { WorkloadKind } from "../kernel/workload-kinds.ts";

type Metadata = Deployment["metadata"];
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
  /** Images of its containers, in order. */
  readonly images: readonly string[];
}

const imagesOf = (spec: Deployment["spec"] | DaemonSet["spec"]): readonly string[] =>
  spec.template.spec.containers.map(({ image }) => image);

/** `replicas` unset means 1 (the API server fills it in; a test's object may not). */
export function ofDeployment({ metadata, spec, status }: Deployment): Workload {
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
    images: imagesOf(spec),
  };
}

export function ofStatefulSet({ metadata, spec, status }: StatefulSet): Workload {
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
    images: imagesOf(spec),
  };
}

export function ofDaemonSet({ metadata, spec, status }: DaemonSet): Workload {
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
    images: imagesOf(spec),
  };
}
