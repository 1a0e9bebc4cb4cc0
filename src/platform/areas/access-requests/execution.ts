import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { Call, ChangeCall } from "../../kernel/call/call.ts";
import { createCommand, type NewCommand, OPERATOR_TARGET } from "../commands/create.ts";
import { settled, stateOf, withState } from "./settle.ts";
import { findOwnerOf, updateRequest } from "./store.ts";

/**
 * Creates the command of one line of an approved plan. Once only, whoever else tries: the pair of request and index
 * is unique in the database, and the second one loses the race (§2.6).
 */
export async function dispatchLine(
  call: Pick<Call, "db" | "now" | "raise">,
  row: AccessRequestRow,
  deployment: NewCommand["deployment"],
  index: number,
): Promise<void> {
  const line = row.commands[index];
  if (line === undefined || row.approved_until === null) throw new Error(`nothing to dispatch at line ${index}`);
  await createCommand(call, {
    deployment,
    name: line.command,
    params: line.params ?? {},
    target: OPERATOR_TARGET,
    // Not a moment longer than the customer allowed.
    deadline: row.approved_until,
    invokedBy: row.queued_by ?? row.created_by,
    accessRequestId: row.id,
    planIndex: index,
  });
}

/** The next line after a success, the end of the plan after anything else. Nothing for a plan that has been stopped. */
export async function continuePlan(call: ChangeCall, command: CommandRow): Promise<void> {
  if (command.access_request_id === null || command.plan_index === null) return;
  const stored = await findOwnerOf(call.db, command);
  if (stored === undefined) return;
  // Time first: at `approvedUntil` the plan is stopped, and its command's own deadline says nothing new (§2.5).
  const row = settled(stored, call.now);
  if (row !== stored) {
    await updateRequest(call.db, row);
    await call.raise("access-requests", row.deployment_id);
  }
  if (row.status !== "customer-approved" || row.execution !== "running") return;
  const next = command.plan_index + 1;
  if (command.state === "SUCCEEDED" && next < row.commands.length) {
    return dispatchLine(call, row, { ...command, id: command.deployment_id }, next);
  }
  const execution = command.state === "SUCCEEDED" ? "succeeded" : "failed";
  await updateRequest(call.db, withState(row, { ...stateOf(row), execution }, undefined, call.now));
}
