import type { TerminalCommandState } from "../../../contract/operations/commands.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import { json } from "../../database/json.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { ChangeCall } from "../../kernel/call/call.ts";
import { kept } from "../../kernel/tenancy/stored-error.ts";
import { expiryOf, hasExpired } from "./states.ts";
import { moveCommand } from "./store.ts";

export interface Settlement {
  readonly state: TerminalCommandState;
  readonly completedAt: Date;
  readonly error?: StoredError | null;
  readonly responseSizeBytes?: number | null;
  /** JSON text. */
  readonly result?: string | null;
}

/** Ends a command and runs the hooks that follow; undefined when another caller has ended it first. */
export async function settle(call: ChangeCall, row: CommandRow, end: Settlement): Promise<CommandRow | undefined> {
  const moved = await moveCommand(call.db, row.id, [row.state], {
    state: end.state,
    completed_at: end.completedAt,
    ...(end.error === undefined ? {} : { error: end.error === null ? null : json(kept(end.error)) }),
    ...(end.responseSizeBytes === undefined ? {} : { response_size_bytes: end.responseSizeBytes }),
    ...(end.result === undefined ? {} : { result: end.result }),
  });
  if (moved === undefined) return undefined;
  for (const hook of call.hooks.commandSettled) await hook(call, moved);
  return moved;
}

/** Stores that a command has expired, if it has. Every write on a command calls this first. */
export async function settleIfExpired(call: ChangeCall, row: CommandRow): Promise<CommandRow> {
  if (!hasExpired(row, call.now)) return row;
  return (await settle(call, row, { state: "EXPIRED", completedAt: expiryOf(row) ?? call.now })) ?? row;
}

/**
 * Ends the commands of a deployment or access request that will not run any more. Commands not yet handed out become
 * EXPIRED; dispatched ones end by themselves (§2.5, §24.4).
 */
export async function expirePending(
  call: ChangeCall,
  of: { readonly deploymentId: string } | { readonly accessRequestId: string },
): Promise<readonly CommandRow[]> {
  const open = call.db.selectFrom("commands").selectAll().where("state", "in", ["PENDING", "PENDING_UPLOAD"]);
  const rows = await ("deploymentId" in of
    ? open.where("deployment_id", "=", of.deploymentId)
    : open.where("access_request_id", "=", of.accessRequestId)
  ).execute();
  const ended: CommandRow[] = [];
  for (const row of rows) {
    const moved = await settle(call, row, { state: "EXPIRED", completedAt: call.now });
    if (moved !== undefined) ended.push(moved);
  }
  return ended;
}
