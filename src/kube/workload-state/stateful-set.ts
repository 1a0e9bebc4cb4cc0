import type { PersistentVolumeClaim } from "../projection/batch-shapes.ts";
import type { Pod, StatefulSet } from "../projection/shapes.ts";
import { type Finding, plainName } from "./message.ts";
import { type PodsView, podFindings } from "./pods.ts";
import { isStarting, readinessFindings } from "./replicas.ts";
import { isYoung, stateOf, type WorkloadState } from "./state.ts";
import { stoppedUpdate } from "./update-stopped.ts";
import type { Lifecycle } from "./words.ts";

export interface StatefulSetView extends PodsView {
  /** Claims of its namespace that are not bound. */
  readonly claims?: readonly PersistentVolumeClaim[];
}

export function statefulSetState(set: StatefulSet, view: StatefulSetView): WorkloadState {
  const { metadata, spec, status } = set;
  const desired = spec.replicas ?? 1;
  const young = isYoung(metadata, view.now);
  const stopped = isBetweenRevisions(set) ? stoppedUpdate(view.pods ?? [], status.updateRevision, view.now) : undefined;
  const lifecycle = lifecycleOf(set, desired, young, stopped !== undefined);
  if (desired <= 0) return stateOf(lifecycle, []);
  const counts = { desired, present: status.replicas, ready: status.readyReplicas };
  const failure: readonly Finding[] =
    stopped !== undefined && lifecycle === "failed" ? [{ health: "unhealthy", text: stopped }] : [];
  const findings = [
    ...failure,
    ...readinessFindings(counts, lifecycle, isStarting(metadata, view)),
    ...podFindings(view, (pod) => unboundClaim(set, pod, view.claims ?? [])),
    ...updateFindings(set, desired),
  ];
  return stateOf(lifecycle, findings);
}

function lifecycleOf(set: StatefulSet, desired: number, young: boolean, isStopped: boolean): Lifecycle {
  const { metadata, status } = set;
  if (metadata.deletionTimestamp !== undefined) return "deleting";
  if (status.observedGeneration < metadata.generation) return "updating";
  if (desired <= 0) return "stopped";
  if (isStopped) return "failed";
  if (isBetweenRevisions(set) && status.updatedReplicas < toBeUpdated(set, desired)) return "updating";
  // Not `currentReplicas`, which counts the Pods of the old revision.
  if (status.replicas !== desired) return "scaling";
  return young && status.readyReplicas <= 0 ? "creating" : "running";
}

/**
 * Pods that the controller itself is to move from one revision to the next. With equal revisions there are none: what is
 * missing then is only not made yet.
 */
function isBetweenRevisions({ spec, status }: StatefulSet): boolean {
  if (spec.updateStrategy.type === "OnDelete") return false;
  return status.updateRevision === undefined || status.currentRevision !== status.updateRevision;
}

/** Pods below the partition stay as they are. The partition is counted from the first Pod, whatever its ordinal is. */
function toBeUpdated({ spec }: StatefulSet, desired: number): number {
  return Math.max(0, desired - (spec.updateStrategy.rollingUpdate?.partition ?? 0));
}

function updateFindings(set: StatefulSet, desired: number): readonly Finding[] {
  const { spec, status } = set;
  if (status.currentRevision === status.updateRevision) return [];
  const isOnDelete = spec.updateStrategy.type === "OnDelete";
  const target = isOnDelete ? desired : toBeUpdated(set, desired);
  const partition = spec.updateStrategy.rollingUpdate?.partition ?? 0;
  const how = isOnDelete ? ", OnDelete" : partition > 0 ? `, partition ${partition}` : "";
  return [{ health: "healthy", text: `rollout ${status.updatedReplicas}/${target} updated${how}` }];
}

/**
 * The claim for which the Pod is not scheduled. Its controller names it after a template of the set and the Pod, and gives
 * it the labels that the set selects; a Pod's volumes are not read.
 */
function unboundClaim({ spec }: StatefulSet, pod: Pod, claims: readonly PersistentVolumeClaim[]): string | undefined {
  const own = Object.entries(spec.selector.matchLabels);
  const claim = claims.find(
    ({ metadata }) =>
      metadata.name.endsWith(`-${pod.metadata.name}`) && own.every(([key, value]) => metadata.labels[key] === value),
  );
  if (claim === undefined) return undefined;
  return `claim ${plainName(claim.metadata.name)} ${claim.status.phase === "Lost" ? "has lost its volume" : "not bound"}`;
}
