import { DeadlineError } from "../../base/deadline.ts";
import type { ResourceStatus } from "../../contract/resources/resource-heartbeat.ts";
import { ApiError } from "../../kube/client/api-error.ts";

export type CollectionIssue = ResourceStatus["collectionIssues"][number];

/** Why a list that was asked for did not come, in the contract's words. */
export function reasonOf(error: unknown): CollectionIssue["reason"] {
  if (!(error instanceof ApiError)) return error instanceof DeadlineError ? "timed-out" : "collection-failed";
  if (error.isForbidden || error.isUnauthorized) return "forbidden";
  if (error.isNotFound) return "not-installed";
  if (error.status === 504 || error.cause instanceof DeadlineError) return "timed-out";
  return error.isTransient ? "api-unavailable" : "collection-failed";
}
