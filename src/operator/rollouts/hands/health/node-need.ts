import type { Pod } from "../../../../kube/projection/shapes.ts";
import { stuckOf } from "../../../../kube/workload-state/pods.ts";
import { conditionOf } from "../../../../kube/workload-state/state.ts";

/** The scheduler has looked at the nodes, and the pod fits on none of them. */
const FITS_ON_NONE = /^(0\/\d+ nodes are available|no nodes available)\b/;
/** Another node does not heal this: the pod's volume or device is missing, or is bound to a node that is there. */
const IS_NOT_ROOM = /volume|claim/i;
/** Many a pod that is not placed at the first try is at the next one. */
const LASTING_MS = 5_000;

/**
 * Why the pods of an object that has not come up wait for a node that is not there, in the scheduler's words; undefined:
 * they do not. Those of a DaemonSet belong to the nodes that are there.
 *
 * @param kind kind and group: `Deployment.apps`
 * @param pods of the object, of its newest template
 */
export function nodeNeed(kind: string, pods: readonly Pod[], now: Date): string | undefined {
  if (kind === "DaemonSet.apps") return undefined;
  const found = pods.flatMap((pod) => {
    const why = refusalOf(pod, now);
    return why === undefined ? [] : [`${pod.metadata.name}: ${why}`];
  });
  // The same words at each look, whichever order the API server lists them in.
  return found.toSorted()[0];
}

function refusalOf(pod: Pod, now: Date): string | undefined {
  const stuck = stuckOf(pod, now);
  if (stuck?.reason !== "Unschedulable" || (stuck.forMs ?? 0) < LASTING_MS) return undefined;
  const message = conditionOf(pod.status.conditions, "PodScheduled")?.message ?? "";
  // What follows is about preemption.
  const [why = ""] = message.split(/\.(?: |$)/, 1);
  return FITS_ON_NONE.test(why) && !IS_NOT_ROOM.test(why) ? why : undefined;
}
