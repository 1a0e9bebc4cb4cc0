import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { newId } from "../../../kernel/ids.ts";
import { retarget, type Wish } from "./target.ts";

/**
 * The deployment after a new target. Returns the row itself when it already runs that release and nothing else is
 * queued; undefined when its status accepts no target.
 */
export function newRelease(call: Pick<Call, "now">, row: DeploymentRow, releaseId: string | null) {
  const next = retarget(row, wish(call, { reason: "release", releaseId }));
  const settled = row.desired_release_id === null && row.update_state?.next == null;
  return next !== undefined && settled && releaseId === row.current_release_id ? row : next;
}

export function wish(call: Pick<Call, "now">, what: Omit<Wish, "operationId" | "at">): Wish {
  return { operationId: newId("duop"), at: call.now, ...what };
}
