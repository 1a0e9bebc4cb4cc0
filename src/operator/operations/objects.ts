import type { WorkloadKind } from "../../crds/operations/workload-kinds.ts";
import type { KubeObject, Resource } from "../../kube/objects/resource.ts";
import { resources } from "../../kube/objects/resource.ts";

/** The fields that operations read; the server sends many more, and none of them gets into a result by itself. */
export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly env?: readonly { readonly name: string }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number; readonly protocol?: string }[];
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

export interface ContainerStatus {
  readonly name: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly state?: Readonly<
    Record<string, { readonly reason?: string; readonly exitCode?: number; readonly startedAt?: string }>
  >;
}

export interface ObjectCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string; readonly containers: readonly Container[] };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly startTime?: string;
    readonly conditions?: readonly ObjectCondition[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface ClusterNode extends KubeObject {
  readonly spec: { readonly unschedulable?: boolean };
}

export interface Workload extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly strategy?: { readonly type?: string };
    readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: { readonly partition?: number } };
    readonly template: {
      readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: { readonly containers: readonly Container[] };
    };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly desiredNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberAvailable?: number;
    readonly numberReady?: number;
    readonly conditions?: readonly ObjectCondition[];
  };
}

export interface ClusterEvent extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly action?: string;
  readonly note?: string;
  readonly regarding?: { readonly kind?: string; readonly name?: string };
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly deprecatedLastTimestamp?: string | null;
  readonly deprecatedCount?: number;
}

export const workloadResources: Readonly<Record<WorkloadKind, Resource>> = {
  deployment: resources.deployments,
  statefulset: resources.statefulSets,
  daemonset: resources.daemonSets,
};
