import type { HEALTHS, LIFECYCLES } from "../../contract/resources/resource-heartbeat.ts";
import type { Workload } from "./workload.ts";

export type Health = (typeof HEALTHS)[number];
export type Lifecycle = (typeof LIFECYCLES)[number];

/** A workload younger than this without a ready pod is being created, not broken (§11.5). */
const YOUNG_MS = 60_000;

/** Health and lifecycle as every reporter must compute them (§11.5). */
export function healthOf(workload: Workload, now: Date): { readonly health: Health; readonly lifecycle: Lifecycle } {
  const { desired, ready } = workload.counts;
  const lifecycle = lifecycleOf(workload, now);
  if (desired === 0) return { health: "healthy", lifecycle };
  if (ready >= desired) return { health: "healthy", lifecycle };
  return { health: ready > 0 ? "degraded" : "unhealthy", lifecycle };
}

/** The first that holds, in the order of the contract; a workload scaled to nothing has stopped. */
function lifecycleOf({ metadata, counts, observedGeneration, conditions }: Workload, now: Date): Lifecycle {
  if (metadata.deletionTimestamp !== undefined) return "deleting";
  if (observedGeneration < metadata.generation) return "updating";
  if (counts.desired === 0) return "stopped";
  if (counts.updated < counts.desired) return "updating";
  if (counts.current !== counts.desired) return "scaling";
  if (conditions.some(({ type, status }) => type === "Progressing" && status === "False")) return "failed";
  const ageMs = now.getTime() - Date.parse(metadata.creationTimestamp);
  return ageMs < YOUNG_MS && counts.ready === 0 ? "creating" : "running";
}
