import type { PodDisruptionBudget } from "../projection/batch-shapes.ts";
import type { Finding } from "./message.ts";
import { stateOf, type WorkloadState } from "./state.ts";
import type { Lifecycle } from "./words.ts";

/** Whether a drain will have to wait. */
export function podDisruptionBudgetState({ metadata, status }: PodDisruptionBudget): WorkloadState {
  const lifecycle: Lifecycle =
    metadata.deletionTimestamp !== undefined
      ? "deleting"
      : status.observedGeneration < metadata.generation
        ? "updating"
        : "running";
  const { currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods } = status;
  const findings: Finding[] = [];
  if (status.observedGeneration <= 0) findings.push({ health: "unknown", text: "no status yet" });
  else if (expectedPods > 0 && currentHealthy < desiredHealthy) {
    findings.push({ health: "degraded", text: `${currentHealthy} of ${desiredHealthy} healthy` });
  }
  if (expectedPods > 0 && disruptionsAllowed <= 0) findings.push({ health: "healthy", text: "no disruption allowed" });
  return stateOf(lifecycle, findings);
}
