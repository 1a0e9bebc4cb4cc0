import type { DaemonSet, Pod } from "../projection/shapes.ts";
import type { Finding } from "./message.ts";
import { type PodsView, podFindings } from "./pods.ts";
import { isStarting, readinessFindings } from "./replicas.ts";
import { isYoung, stateOf, type WorkloadState } from "./state.ts";
import { REVISION_LABEL, stoppedUpdate } from "./update-stopped.ts";
import type { Lifecycle } from "./words.ts";

export function daemonSetState(set: DaemonSet, view: PodsView): WorkloadState {
  const { metadata, status } = set;
  const desired = status.desiredNumberScheduled;
  const young = isYoung(metadata, view.now);
  const pods = view.pods ?? [];
  const stopped = isUpdating(set) ? stoppedUpdate(pods, newestRevision(pods), view.now) : undefined;
  const lifecycle = lifecycleOf(set, young, stopped !== undefined);
  const misscheduled: readonly Finding[] =
    status.numberMisscheduled > 0
      ? [{ health: desired > 0 ? "degraded" : "healthy", text: `${status.numberMisscheduled} misscheduled` }]
      : [];
  // Without a status nothing is known, not even how many nodes it is for.
  const unseen: readonly Finding[] =
    status.observedGeneration <= 0 ? [{ health: "unknown", text: "no status yet" }] : [];
  if (desired <= 0) return stateOf(lifecycle, [...unseen, ...misscheduled]);
  const counts = { desired, present: status.currentNumberScheduled, ready: status.numberReady };
  const failure: readonly Finding[] =
    stopped !== undefined && lifecycle === "failed" ? [{ health: "unhealthy", text: stopped }] : [];
  const findings = [
    ...failure,
    ...readinessFindings(counts, lifecycle, isStarting(metadata, view)),
    ...podFindings(view),
    ...misscheduled,
    ...updateFindings(set),
  ];
  return stateOf(lifecycle, findings);
}

function lifecycleOf(set: DaemonSet, young: boolean, isStopped: boolean): Lifecycle {
  const { metadata, status } = set;
  if (metadata.deletionTimestamp !== undefined) return "deleting";
  if (status.observedGeneration < metadata.generation) return "updating";
  if (status.desiredNumberScheduled <= 0) return "stopped";
  if (isStopped) return "failed";
  if (isUpdating(set)) return "updating";
  if (status.currentNumberScheduled !== status.desiredNumberScheduled) return "scaling";
  return young && status.numberReady <= 0 ? "creating" : "running";
}

/** Pods of an old template run. Where none runs yet, as on a node that has just joined, nothing is to be updated. */
function isUpdating({ spec, status }: DaemonSet): boolean {
  if (spec.updateStrategy.type === "OnDelete") return false;
  return status.updatedNumberScheduled < Math.min(status.desiredNumberScheduled, status.currentNumberScheduled);
}

function updateFindings({ spec, status }: DaemonSet): readonly Finding[] {
  const { updatedNumberScheduled: updated, desiredNumberScheduled: desired } = status;
  if (updated >= desired) return [];
  const how = spec.updateStrategy.type === "OnDelete" ? ", OnDelete" : "";
  return [{ health: "healthy", text: `rollout ${updated}/${desired} updated${how}` }];
}

/** A DaemonSet's status does not name the revision that it updates to; its youngest Pod has it. */
function newestRevision(pods: readonly Pod[]): string | undefined {
  const [newest] = pods.toSorted((a, b) => (a.metadata.creationTimestamp > b.metadata.creationTimestamp ? -1 : 1));
  return newest?.metadata.labels[REVISION_LABEL];
}
