import type { Finding } from "./message.ts";
import type { Lifecycle } from "./words.ts";

/** Replicas, or for a DaemonSet nodes. */
export interface ReplicaCounts {
  readonly desired: number;
  /** Pods that exist. */
  readonly present: number;
  readonly ready: number;
}

/**
 * Too few ready Pods. While the number is being changed, Pods that do not exist yet are not missing: an autoscaler
 * changes it all day.
 */
export function readinessFindings(
  { desired, present, ready }: ReplicaCounts,
  lifecycle: Lifecycle,
  isYoung: boolean,
): readonly Finding[] {
  if (desired <= 0 || ready >= desired) return [];
  const text = `${ready} of ${desired} ready`;
  if (ready <= 0) return [{ health: isYoung ? "unknown" : "unhealthy", text }];
  const isGrowing = lifecycle === "scaling" && ready >= present;
  return [{ health: isGrowing ? "healthy" : "degraded", text }];
}
