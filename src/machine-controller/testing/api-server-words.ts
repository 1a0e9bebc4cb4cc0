import type { MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Budget } from "../drains/shapes.ts";

// As the API server says them.

export function refusal(status: number, message: string, reason = ""): ApiError {
  return new ApiError(message, { status, reason });
}

export function budgetRefusal({ metadata, status }: Budget): ApiError {
  const message = `The disruption budget ${metadata.name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`;
  const causes = [{ reason: "DisruptionBudget", message }];
  const body = { code: 429, reason: "TooManyRequests", details: { causes, retryAfterSeconds: 10 } };
  return new ApiError("Cannot evict pod", { status: 429, reason: "TooManyRequests", body, retryAfterMs: 10_000 });
}

/** The rules of the kind. */
export function checkRules(before: MachineDrainStatus, next: MachineDrainStatus): void {
  const isOver = before.state === "Drained" || before.state === "Failed";
  if (isOver && next.state !== before.state) throw new Error("a drain ends once");
  for (const field of ["cordonedByUs", "startedAt", "drainedAt"] as const) {
    if (before[field] !== undefined && next[field] !== before[field]) throw new Error(`${field} is write-once`);
  }
  if (before.deadlineAt !== undefined && (next.deadlineAt ?? "9") > before.deadlineAt) {
    throw new Error("a deadline only comes nearer");
  }
}
