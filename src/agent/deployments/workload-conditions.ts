import type { WorkloadsSummary } from "../observe/summary.ts";
import type { DeploymentCondition } from "./conditions.ts";

/** Kinds named in one message. */
const MAX_NAMED = 5;

/** Whether the agent sees the deployment's workloads, and whether they are well. */
export function workloadConditions(summary: WorkloadsSummary): readonly DeploymentCondition[] {
  return [observed(summary), healthy(summary)];
}

function observed({ collection, isStarting, leftOut }: WorkloadsSummary): DeploymentCondition {
  // Sorted by reason: what a person has to give back comes before what heals by itself.
  const reason = collection[0]?.reason;
  if (reason !== undefined) {
    const same = collection.filter((each) => each.reason === reason);
    const named = same.slice(0, MAX_NAMED).map(({ namespace, kind }) => `${kind} in ${namespace}`);
    const more = same.length > MAX_NAMED ? ` and ${same.length - MAX_NAMED} more` : "";
    const why = reason === "Forbidden" ? "the agent may not read" : "the API server has not confirmed for 3 minutes";
    const message = `${why} ${named.join(", ")}${more}; what is shown of them is old`;
    return { type: "Observed", status: "False", reason, message };
  }
  if (isStarting)
    return { type: "Observed", status: "Unknown", reason: "Starting", message: "workloads are being read" };
  const cut =
    leftOut === 0 ? "" : `; ${leftOut} objects, the healthiest, are not told to the platform, which keeps no more`;
  return { type: "Observed", status: "True", reason: "CachesSynced", message: `all workloads are watched${cut}` };
}

function healthy({ workloads, worst }: WorkloadsSummary): DeploymentCondition {
  const { total, healthy: well, degraded, unhealthy, unknown } = workloads;
  const counts = `${well} of ${total} workloads are healthy`;
  if (degraded + unhealthy > 0) {
    const message = `${counts}, ${unhealthy} unhealthy, ${degraded} degraded. ${worst.join(". ")}`;
    return { type: "WorkloadsHealthy", status: "False", reason: "SomeUnhealthy", message };
  }
  if (unknown > 0) {
    return {
      type: "WorkloadsHealthy",
      status: "Unknown",
      reason: "SomeUnknown",
      message: `${counts}, ${unknown} unknown`,
    };
  }
  return { type: "WorkloadsHealthy", status: "True", reason: "AllHealthy", message: counts };
}
