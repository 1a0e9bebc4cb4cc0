import { Informer, type InformerOptions } from "../../kube/cache/informer.ts";
import type { ObjectLimit } from "../../kube/cache/object-limit.ts";
import type { Cached } from "../../kube/cache/store.ts";
import {
  type CronJob,
  cronJobShape,
  type Job,
  jobShape,
  type PersistentVolumeClaim,
  type PodDisruptionBudget,
  persistentVolumeClaimShape,
  podDisruptionBudgetShape,
} from "../../kube/projection/batch-shapes.ts";
import {
  type DaemonSet,
  type Deployment,
  daemonSetShape,
  deploymentShape,
  type Pod,
  podShape,
  type ReplicaSet,
  replicaSetShape,
  type StatefulSet,
  statefulSetShape,
} from "../../kube/projection/shapes.ts";
import { OBSERVED, type ObservedKind } from "../kernel/observed-kinds.ts";
import { ofCronJob, ofJob, ofPersistentVolumeClaim, ofPodDisruptionBudget } from "./batch-workload.ts";
import { deploymentByName, ownerIndex } from "./owners.ts";
import { ofDaemonSet, ofDeployment, ofPod, ofReplicaSet, ofStatefulSet, type Workload } from "./workload.ts";

/** What is cached of each kind. */
export interface Objects {
  readonly Deployment: Deployment;
  readonly StatefulSet: StatefulSet;
  readonly DaemonSet: DaemonSet;
  readonly ReplicaSet: ReplicaSet;
  readonly Pod: Pod;
  readonly Job: Job;
  readonly CronJob: CronJob;
  readonly PersistentVolumeClaim: PersistentVolumeClaim;
  readonly PodDisruptionBudget: PodDisruptionBudget;
}

/** The caches of one namespace, or of all that are opened. A kind that is not observed has none. */
export type Lists = { readonly [K in ObservedKind]?: Informer<Objects[K]> };

type Parts<K extends ObservedKind> = Pick<InformerOptions<Objects[K]>, "projection" | "indexes">;

/** How each kind is cached. */
export const PARTS: { readonly [K in ObservedKind]: Parts<K> } = {
  Deployment: { projection: deploymentShape },
  StatefulSet: { projection: statefulSetShape },
  DaemonSet: { projection: daemonSetShape },
  ReplicaSet: { projection: replicaSetShape, indexes: { owner: ownerIndex.ReplicaSet } },
  Pod: {
    projection: podShape,
    indexes: {
      owner: ownerIndex.Pod,
      deployment: (pod) => [deploymentByName(pod) ?? ""].filter((name) => name !== ""),
    },
  },
  Job: { projection: jobShape, indexes: { owner: ownerIndex.Job } },
  CronJob: { projection: cronJobShape },
  PersistentVolumeClaim: { projection: persistentVolumeClaimShape },
  PodDisruptionBudget: { projection: podDisruptionBudgetShape },
};

/** Each kind as it is told. */
export const OF: { readonly [K in ObservedKind]: (object: Objects[K]) => Workload } = {
  Deployment: ofDeployment,
  StatefulSet: ofStatefulSet,
  DaemonSet: ofDaemonSet,
  ReplicaSet: ofReplicaSet,
  Pod: ofPod,
  Job: ofJob,
  CronJob: ofCronJob,
  PersistentVolumeClaim: ofPersistentVolumeClaim,
  PodDisruptionBudget: ofPodDisruptionBudget,
};

type Common = Omit<InformerOptions<never>, "resource" | "projection" | "indexes" | "keep" | "limit"> & {
  readonly keep?: ((object: Cached) => boolean) | undefined;
};

/** Of the objects of a kind in all namespaces. */
type Limits = { readonly [K in ObservedKind]?: ObjectLimit };

export function listsOf(kinds: readonly ObservedKind[], common: Common, limits: Limits = {}): Lists {
  const listOf = <K extends ObservedKind>(kind: K): Informer<Objects[K]> =>
    new Informer<Objects[K]>({ ...common, resource: OBSERVED[kind].resource, limit: limits[kind], ...PARTS[kind] });
  return Object.fromEntries(kinds.map((kind) => [kind, listOf(kind)]));
}
