import type { WorkloadsSummary } from "../observe/summary.ts";
import type { DeploymentCondition } from "./conditions.ts";

/** Kinds named in one message. */
const MAX_NAMED = 5;

const WHY = {
  Forbidden: "the agent may not read",
  TooLarge: "there are more pods than the agent has memory for, so it does not hold",
  WatchStale: "the API server has not confirmed for 3 minutes",
} as const;
const NEXT_STEP = {
  Forbidden: "",
  TooLarge:
    ". Raise agent.resources.limits.memory or observe.maxPods, or open fewer namespaces; it tries every 10 minutes",
  WatchStale: "",
} as const;

/** Whether the agent sees the deployment's workloads, and whether they are well. */
export function workloadConditions(summary: WorkloadsSummary): readonly DeploymentCondition[] {
  return [observed(summary), healthy(summary)];
}

function observed({ collection, isStarting, leftOut }: WorkloadsSummary): DeploymentCondition {
  // Sorted: what a person has to mend comes before what heals by itself.
  const reason = collection[0]?.reason;
  if (reason !== undefined && reason !== "NotInstalled") {
    const same = collection.filter((each) => each.reason === reason);
    const named = same.slice(0, MAX_NAMED).map(({ namespace, kind }) => `${kind} in ${namespace}`);
    const more = same.length > MAX_NAMED ? ` and ${same.length - MAX_NAMED} more` : "";
    const message = `${WHY[reason]} ${named.join(", ")}${more}; what is shown of them is old${NEXT_STEP[reason]}`;
    return { type: "Observed", status: "False", reason, message };
  }
  if (isStarting)
    return { type: "Observed", status: "Unknown", reason: "Starting", message: "workloads are being read" };
  const unmeasured =
    reason === "NotInstalled" ? "; cpu and memory are not known, because the cluster has no metrics.k8s.io" : "";
  const cut =
    leftOut === 0 ? "" : `; ${leftOut} objects, the healthiest, are not told to the platform, which keeps no more`;
  return {
    type: "Observed",
    status: "True",
    reason: "CachesSynced",
    message: `all workloads are watched${cut}${unmeasured}`,
  };
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
