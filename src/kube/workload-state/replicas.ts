import type { Finding } from "./message.ts";
import type { PodsView } from "./pods.ts";
import { isYoung } from "./state.ts";
import type { Lifecycle } from "./words.ts";

/** Replicas, or for a DaemonSet nodes. */
export interface ReplicaCounts {
  readonly desired: number;
  /** Pods that exist. */
  readonly present: number;
  readonly ready: number;
}

/**
 * Too early to call it broken because no Pod is ready: the object is new, or was scaled up from nothing just now, or all
 * of its Pods are new. An object of last year that goes from 0 to 3 has no ready Pod for a while either.
 */
export function isStarting(
  metadata: { readonly creationTimestamp: string },
  { now, pods = [], scaledUpAt }: PodsView,
): boolean {
  if (isYoung(metadata, now)) return true;
  if (scaledUpAt !== undefined && isYoung({ creationTimestamp: scaledUpAt.toISOString() }, now)) return true;
  return pods.length > 0 && pods.every((pod) => isYoung(pod.metadata, now));
}

/**
 * Too few ready Pods. While the number is being changed, Pods that do not exist yet are not missing: an autoscaler
 * changes it all day.
 */
export function readinessFindings(
  { desired, present, ready }: ReplicaCounts,
  lifecycle: Lifecycle,
  isStartingNow: boolean,
): readonly Finding[] {
  if (desired <= 0 || ready >= desired) return [];
  const text = `${ready} of ${desired} ready`;
  if (ready <= 0) return [{ health: isStartingNow ? "unknown" : "unhealthy", text }];
  const isGrowing = lifecycle === "scaling" && ready >= present;
  return [{ health: isGrowing ? "healthy" : "degraded", text }];
}
