import type { ReplicaSet } from "../projection/shapes.ts";
import { replicaFailure } from "./deployment.ts";
import type { Finding } from "./message.ts";
import { type PodsView, podFindings } from "./pods.ts";
import { isStarting, readinessFindings } from "./replicas.ts";
import { conditionOf, isTrue, isYoung, stateOf, type WorkloadState } from "./state.ts";
import type { Lifecycle } from "./words.ts";

/** A ReplicaSet that no Deployment owns. */
export function replicaSetState(replicaSet: ReplicaSet, view: PodsView): WorkloadState {
  const { metadata, spec, status } = replicaSet;
  const desired = spec.replicas ?? 1;
  const young = isYoung(metadata, view.now);
  const lifecycle = lifecycleOf(replicaSet, desired, young);
  if (desired <= 0) return stateOf(lifecycle, []);
  const counts = { desired, present: status.replicas, ready: status.readyReplicas };
  const reason = conditionOf(status.conditions, "ReplicaFailure")?.reason;
  const failure: readonly Finding[] =
    lifecycle === "failed" ? [{ health: "unhealthy", text: replicaFailure(reason) }] : [];
  const findings = [
    ...failure,
    ...readinessFindings(counts, lifecycle, isStarting(metadata, view)),
    ...podFindings(view),
  ];
  return stateOf(lifecycle, findings);
}

function lifecycleOf({ metadata, status }: ReplicaSet, desired: number, young: boolean): Lifecycle {
  if (metadata.deletionTimestamp !== undefined) return "deleting";
  if (status.observedGeneration < metadata.generation) return "updating";
  if (desired <= 0) return "stopped";
  if (isTrue(status.conditions, "ReplicaFailure")) return "failed";
  if (status.replicas !== desired) return "scaling";
  return young && status.readyReplicas <= 0 ? "creating" : "running";
}
