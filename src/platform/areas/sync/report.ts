import type { DeploymentState, DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import { isDeletePhase, nextStatus, reportable } from "../deployments/lifecycle/status.ts";
import { advance, type Targeted } from "../deployments/lifecycle/target.ts";

/** What a reported state does to the stored one. */
export type Verdict =
  /** It is about an earlier phase, or about an operation that another one has replaced: outdated (§15.3). */
  | { readonly kind: "ignored" }
  | { readonly kind: "illegal"; readonly from: DeploymentStatus; readonly allowed: readonly DeploymentStatus[] }
  | { readonly kind: "applied"; readonly next: Targeted; readonly retryRequested: boolean };

type Judged = Targeted & Pick<DeploymentRow, "deployment_model" | "retry_requested">;

/**
 * Checks a manager's report against the transitions of §24.4. Pure.
 *
 * @param operationId the operation that the manager works on; null: on none. Undefined: it does not say.
 */
export function judge(row: Judged, state: DeploymentState, at: Date, operationId?: string | null): Verdict {
  const isDeleted = isDeletePhase(row.status);
  if (isDeleted && !isDeletePhase(state.status)) return { kind: "ignored" };
  // Otherwise the end of one operation would end another, which has not begun.
  const active = isDeleted ? undefined : row.update_state?.active;
  if (operationId !== undefined && active != null && active.id !== operationId) return { kind: "ignored" };
  const report = { by: "report", to: state.status, model: row.deployment_model } as const;
  // A manager may report the result of a retry without having acquired it.
  const retried = row.retry_requested ? nextStatus(row.status, { by: "retry" }) : undefined;
  const legal = nextStatus(row.status, report) ?? (retried === undefined ? undefined : nextStatus(retried, report));
  if (legal === undefined) {
    const allowed = [
      ...reportable(row.status, row.deployment_model),
      ...(retried === undefined ? [] : [retried, ...reportable(retried, row.deployment_model)]),
    ];
    return { kind: "illegal", from: row.status, allowed: [...new Set(allowed)] };
  }
  const current = currentReleaseOf(row, state);
  if (operationId === null && endsSetupWithout(current, row, state)) return { kind: "ignored" };
  const desired = row.desired_release_id === current ? null : row.desired_release_id;
  const reported: Targeted = { ...row, current_release_id: current, desired_release_id: desired };
  const next = legal === row.status ? reported : advance(reported, legal, at);
  return { kind: "applied", next, retryRequested: row.retry_requested && next.status === row.status };
}

const SETUP: ReadonlySet<DeploymentStatus> = new Set(["pending", "initial-setup", "provisioning"]);

/**
 * A setup ends with the release that is wanted. A report that it runs with another, or with none, is from before that one was
 * promoted: taken, the release would be wanted by no setup and no update, and never come.
 */
function endsSetupWithout(
  current: string | null,
  { status, desired_release_id: desired }: Judged,
  state: DeploymentState,
): boolean {
  return SETUP.has(status) && state.status === "running" && desired !== null && desired !== current;
}

/** Absent in the report: unchanged. */
export function currentReleaseOf(row: Pick<Targeted, "current_release_id">, state: DeploymentState): string | null {
  const { currentRelease } = state;
  if (currentRelease === null) return null;
  return currentRelease?.releaseId === undefined ? row.current_release_id : currentRelease.releaseId;
}
