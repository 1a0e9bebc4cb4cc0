import type { CronJob, Job, PersistentVolumeClaim, PodDisruptionBudget } from "../../kube/projection/batch-shapes.ts";
import { cronJobState } from "../../kube/workload-state/cron-job.ts";
import { isDone, jobState } from "../../kube/workload-state/job.ts";
import { persistentVolumeClaimState } from "../../kube/workload-state/persistent-volume-claim.ts";
import { podDisruptionBudgetState } from "../../kube/workload-state/pod-disruption-budget.ts";
import type { Workload } from "./workload.ts";

// Kinds beside those that run pods for ever, as far as their health goes.

export function ofJob(job: Job): Workload {
  const { metadata, spec, status } = job;
  return {
    kind: "Job",
    metadata,
    counts: { desired: spec.completions ?? spec.parallelism ?? 1, current: status.active, ready: status.ready ?? 0 },
    conditions: status.conditions,
    stateOf: (view) => jobState(job, view),
    images: [],
    isTimeless: isDone(job),
  };
}

export function ofCronJob(cronJob: CronJob): Workload {
  const { metadata, status } = cronJob;
  const { lastScheduleTime, lastSuccessfulTime } = status;
  return {
    kind: "CronJob",
    metadata,
    counts: { current: status.active.length },
    conditions: [],
    stateOf: (view) => cronJobState(cronJob, view),
    images: [],
    facts: {
      ...(lastScheduleTime !== undefined && { lastScheduleTime }),
      ...(lastSuccessfulTime !== undefined && { lastSuccessfulTime }),
    },
  };
}

export function ofPersistentVolumeClaim(claim: PersistentVolumeClaim): Workload {
  const { metadata, status } = claim;
  return {
    kind: "PersistentVolumeClaim",
    metadata,
    counts: {},
    conditions: [],
    stateOf: () => persistentVolumeClaimState(claim),
    images: [],
    facts: status.phase === "" ? {} : { phase: status.phase },
    isTimeless: true,
  };
}

export function ofPodDisruptionBudget(budget: PodDisruptionBudget): Workload {
  const { metadata, status } = budget;
  return {
    kind: "PodDisruptionBudget",
    metadata,
    counts: { desired: status.desiredHealthy, current: status.expectedPods, ready: status.currentHealthy },
    conditions: [],
    stateOf: () => podDisruptionBudgetState(budget),
    images: [],
    facts: { disruptionsAllowed: status.disruptionsAllowed },
    isTimeless: true,
  };
}
