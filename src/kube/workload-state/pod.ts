import { counted } from "../../base/counted.ts";
import type { Pod } from "../projection/shapes.ts";
import type { Finding } from "./message.ts";
import { type PodsView, podFindings } from "./pods.ts";
import { isTrue, isYoung, stateOf, type WorkloadState } from "./state.ts";
import type { Lifecycle } from "./words.ts";

export function isReady({ status }: Pod): boolean {
  return isTrue(status.conditions, "Ready");
}

/** A Pod that no controller owns. */
export function podState(pod: Pod, view: Omit<PodsView, "pods">): WorkloadState {
  const { metadata, status } = pod;
  const young = isYoung(metadata, view.now);
  const lifecycle = lifecycleOf(pod, young);
  const own = podFindings({ ...view, pods: [pod] });
  if (status.phase === "Succeeded") return stateOf(lifecycle, own);
  if (status.phase === "Failed") {
    return stateOf(lifecycle, [{ health: "unhealthy", text: "Pod failed" }, ...own]);
  }
  if (isReady(pod)) return stateOf(lifecycle, own);
  const notReady: Finding = { health: young ? "unknown" : "unhealthy", text: "0 of 1 ready" };
  return stateOf(lifecycle, [notReady, ...own, ...gateFindings(pod)]);
}

function lifecycleOf({ metadata, status }: Pod, young: boolean): Lifecycle {
  if (metadata.deletionTimestamp !== undefined) return "deleting";
  if (status.phase === "Failed") return "failed";
  if (status.phase === "Succeeded") return "stopped";
  const isPending = status.phase === "Pending" || status.phase === "";
  return young && isPending ? "creating" : "running";
}

/** Conditions that others must set before the Pod counts as ready. */
function gateFindings({ spec, status }: Pod): readonly Finding[] {
  const open = spec.readinessGates.filter(({ conditionType }) => !isTrue(status.conditions, conditionType)).length;
  return open === 0 ? [] : [{ health: "healthy", text: `${counted(open, "readiness gate")} not passed` }];
}
