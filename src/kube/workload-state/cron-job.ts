import type { CronJob, Job } from "../projection/batch-shapes.ts";
import { isDone } from "./job.ts";
import type { Finding } from "./message.ts";
import { isTrue, isYoung, stateOf, type View, type WorkloadState } from "./state.ts";
import type { Lifecycle } from "./words.ts";

export interface CronJobView extends View {
  /**
   * The Jobs that it made, as far as they are known. A CronJob keeps one failed Job unless it says otherwise
   * (`failedJobsHistoryLimit`): for two failures in a row the caller has to hand in one that it saw before.
   */
  readonly jobs?: readonly Job[];
}

/** Failed runs in a row that make it unhealthy. */
const FAILED_RUNS = 2;

export function cronJobState(cronJob: CronJob, view: CronJobView): WorkloadState {
  const failures = failuresInARow(view.jobs ?? []);
  const lifecycle = lifecycleOf(cronJob, failures, isYoung(cronJob.metadata, view.now));
  const findings: Finding[] = [];
  if (cronJob.spec.suspend) findings.push({ health: "healthy", text: "suspended" });
  if (failures > 0) {
    const isUnhealthy = failures >= FAILED_RUNS && !cronJob.spec.suspend;
    const text = failures === 1 ? "last run failed" : `last ${failures} runs failed`;
    findings.push({ health: isUnhealthy ? "unhealthy" : "healthy", text });
  }
  return stateOf(lifecycle, findings);
}

function lifecycleOf({ metadata, spec, status }: CronJob, failures: number, young: boolean): Lifecycle {
  if (metadata.deletionTimestamp !== undefined) return "deleting";
  if (spec.suspend) return "stopped";
  if (failures >= FAILED_RUNS) return "failed";
  const hasRun = status.lastSuccessfulTime !== undefined;
  return young && !hasRun && status.active.length > 0 ? "creating" : "running";
}

/** The newest runs that ended, back to the first that succeeded. */
function failuresInARow(jobs: readonly Job[]): number {
  const newestFirst = jobs
    .filter(isDone)
    .toSorted((a, b) => (a.metadata.creationTimestamp > b.metadata.creationTimestamp ? -1 : 1));
  const success = newestFirst.findIndex(({ status }) => !isTrue(status.conditions, "Failed"));
  return success < 0 ? newestFirst.length : success;
}
