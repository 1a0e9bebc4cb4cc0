import type { Pod } from "../projection/shapes.ts";
import { plainName } from "./message.ts";
import { type StuckReason, stuckOf } from "./pods.ts";
import { seconds } from "./state.ts";

/** On Pods of StatefulSets and DaemonSets: the revision of the template that they were made from. */
export const REVISION_LABEL = "controller-revision-hash";

/** A Pod that is stuck for longer stops the update of its set: these kinds have no deadline of their own. */
const STOPPED_AFTER_MS = 600_000;

/** Ends of Pods that are no fault of the new template. */
const NO_FAULT: ReadonlySet<StuckReason> = new Set(["Evicted", "Terminating"]);

/** The words for it when a Pod of the new revision has been stuck for ten minutes. */
export function stoppedUpdate(pods: readonly Pod[], revision: string | undefined, now: Date): string | undefined {
  if (revision === undefined) return undefined;
  for (const pod of pods) {
    if (pod.metadata.labels[REVISION_LABEL] !== revision) continue;
    const stuck = stuckOf(pod, now);
    if (stuck?.forMs === undefined || stuck.forMs <= STOPPED_AFTER_MS || NO_FAULT.has(stuck.reason)) continue;
    return `update stopped by ${plainName(pod.metadata.name)}, ${stuck.reason} for ${seconds(stuck.forMs)}`;
  }
  return undefined;
}
