import type { PersistentVolumeClaim } from "../projection/batch-shapes.ts";
import type { Pod, StatefulSet } from "../projection/shapes.ts";
import { type Finding, plainName } from "./message.ts";
import { type PodsView, podFindings } from "./pods.ts";
import { isStarting, readinessFindings } from "./replicas.ts";
import { isYoung, stateOf, type WorkloadState } from "./state.ts";
import { stoppedUpdate } from "./update-stopped.ts";
import type { Lifecycle } from "./words.ts";

export interface StatefulSetView extends PodsView {
  /** By the uid of a Pod, a claim of it that is not bound: see `unboundClaims`. */
  readonly claims?: ReadonlyMap<string, PersistentVolumeClaim>;
}

/**
 * The claims for which Pods of the set are not scheduled. Its controller names each after a template of the set and the
 * Pod; a Pod's volumes are not read.
 *
 * @param claimOf the claim of this name in the set's namespace, if it is not bound.
 */
export function unboundClaims(
  { spec }: Pick<StatefulSet, "spec">,
  pods: readonly Pod[],
  claimOf: (name: string) => PersistentVolumeClaim | undefined,
): ReadonlyMap<string, PersistentVolumeClaim> {
  const found = new Map<string, PersistentVolumeClaim>();
  for (const { metadata } of pods) {
    const names = spec.volumeClaimTemplates.map((template) => `${template.metadata.name}-${metadata.name}`);
    const claim = names.map(claimOf).find((each) => each !== undefined);
    if (claim !== undefined) found.set(metadata.uid, claim);
  }
  return found;
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
    ...podFindings(view, ({ metadata }) => claimDetail(view.claims?.get(metadata.uid))),
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

function claimDetail(claim: PersistentVolumeClaim | undefined): string | undefined {
  if (claim === undefined) return undefined;
  return `claim ${plainName(claim.metadata.name)} ${claim.status.phase === "Lost" ? "has lost its volume" : "not bound"}`;
}
