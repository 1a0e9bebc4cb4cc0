import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { newId } from "../../../kernel/ids.ts";
import { retarget, type Wish } from "./target.ts";

/**
 * What a new target makes of a deployment: itself when that release is what runs and nothing else is on its way,
 * undefined when it takes no target.
 */
export function newRelease(call: Pick<Call, "now">, row: DeploymentRow, releaseId: string | null) {
  const next = retarget(row, wish(call, { reason: "release", releaseId }));
  const settled = row.desired_release_id === null && row.update_state?.next == null;
  return next !== undefined && settled && releaseId === row.current_release_id ? row : next;
}

export function wish(call: Pick<Call, "now">, what: Omit<Wish, "operationId" | "at">): Wish {
  return { operationId: newId("duop"), at: call.now, ...what };
}
