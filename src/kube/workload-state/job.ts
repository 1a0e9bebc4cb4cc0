import { counted } from "../../base/counted.ts";
import type { Job } from "../projection/batch-shapes.ts";
import type { Finding } from "./message.ts";
import { type PodsView, podFindings } from "./pods.ts";
import { conditionOf, isTrue, isYoung, known, stateOf, type WorkloadState } from "./state.ts";
import type { Lifecycle } from "./words.ts";

/** Why a Job has failed, as its controller says it. */
const FAILURES = [
  "BackoffLimitExceeded",
  "DeadlineExceeded",
  "PodFailurePolicy",
  "FailedIndexes",
  "MaxFailedIndexesExceeded",
] as const;
const DEFAULT_BACKOFF_LIMIT = 6;
const NO_LIMIT = 2_147_483_647;

export function jobState(job: Job, view: PodsView): WorkloadState {
  const { metadata } = job;
  const young = isYoung(metadata, view.now);
  const lifecycle = lifecycleOf(job, young);
  return stateOf(lifecycle, findingsOf(job, lifecycle, view));
}

/** Pods of a Job that is done are not ready, and need not be. */
export function isDone({ status }: Job): boolean {
  return isTrue(status.conditions, "Complete") || isTrue(status.conditions, "Failed");
}

function findingsOf(job: Job, lifecycle: Lifecycle, view: PodsView): readonly Finding[] {
  const { spec, status } = job;
  const failed = conditionOf(status.conditions, "Failed");
  if (failed?.status === "True") {
    const reason = known(FAILURES, failed.reason);
    return [{ health: "unhealthy", text: reason === undefined ? "Job failed" : `Job failed (${reason})` }];
  }
  if (isDone(job)) return [];
  if (isSuspended(job)) return [{ health: "healthy", text: "suspended" }];
  const retries: readonly Finding[] =
    status.failed > 0 ? [{ health: "healthy", text: `${counted(status.failed, "failure")}${limitOf(spec)}` }] : [];
  const unseen: readonly Finding[] =
    status.startTime === undefined && lifecycle !== "deleting" ? [{ health: "unknown", text: "not started yet" }] : [];
  return [...unseen, ...podFindings(view), ...retries];
}

/** With a limit an index the API server fills in the largest number for the whole: that is none. */
function limitOf({ backoffLimit = DEFAULT_BACKOFF_LIMIT, backoffLimitPerIndex }: Job["spec"]): string {
  if (backoffLimitPerIndex !== undefined) return `, at most ${backoffLimitPerIndex} an index`;
  return backoffLimit >= NO_LIMIT ? "" : ` of at most ${backoffLimit}`;
}

function lifecycleOf(job: Job, young: boolean): Lifecycle {
  const { metadata, status } = job;
  if (metadata.deletionTimestamp !== undefined) return "deleting";
  if (isTrue(status.conditions, "Failed")) return "failed";
  if (isTrue(status.conditions, "Complete") || isSuspended(job)) return "stopped";
  return young && status.succeeded <= 0 ? "creating" : "running";
}

function isSuspended({ spec, status }: Job): boolean {
  return spec.suspend || isTrue(status.conditions, "Suspended");
}
