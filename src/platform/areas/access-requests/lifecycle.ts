import type { Decision } from "../../../contract/access-requests/access-requests.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { Call, ChangeCall } from "../../kernel/call/call.ts";
import { inTransaction } from "../../kernel/call/transaction.ts";
import { unrequested } from "../../kernel/call/unrequested.ts";
import type { Sweep } from "../../kernel/sweeps/sweep.ts";
import { createCommand, type NewCommand, OPERATOR_TARGET } from "../commands/create.ts";
import { expirePending } from "../commands/settle.ts";
import { afterMove, hasLapsed, lapse, lapsesAt, moved, type Reported, type State } from "./state.ts";
import { findOwnerOf, listLapsed, updateRequest } from "./store.ts";

/** The part of the row that the rules of state.ts use. */
export function stateOf(row: AccessRequestRow): Reported {
  return {
    status: row.status,
    execution: row.execution,
    decideBefore: row.decide_before,
    approvedUntil: row.approved_until,
    risk: row.risk,
    planHash: row.plan_hash,
    maxMinutes: row.max_minutes,
    decision: row.decisions.at(-1) ?? null,
  };
}

/** The row after a move that the rules allowed; `at` is the time of the move. */
export function withState(
  row: AccessRequestRow,
  next: State,
  decision: Decision | undefined,
  at: Date,
): AccessRequestRow {
  const closed = next.status === "rejected" || next.status === "expired";
  return {
    ...row,
    status: next.status,
    execution: next.execution,
    approved_until: next.approvedUntil,
    decisions: decision === undefined ? row.decisions : [...row.decisions, decision],
    closed_at: closed ? (row.closed_at ?? at) : null,
    updated_at: at,
  };
}

/**
 * The request as it is at `now`: ended, if its time is over, with the time at which it was due as the end. Applied on
 * every read and before every write. Returns the same object when time has changed nothing.
 */
export function asOf(row: AccessRequestRow, now: Date): AccessRequestRow {
  const state = stateOf(row);
  const at = lapsesAt(state);
  const next = hasLapsed(state, now) ? afterMove(state, "lapse", now) : undefined;
  if (at === undefined || next === undefined) return row;
  return withState(row, next, lapse(at, row.approved_until), at);
}

/**
 * On the deletion of a deployment: its cluster cannot decide any more, so its queued requests are rejected with outcome
 * expired (§24.4).
 */
export async function abandonRequests(
  { db, now }: Pick<Call, "db" | "now">,
  deployment: { readonly id: string },
): Promise<void> {
  const rows = await db
    .selectFrom("access_requests")
    .selectAll()
    .where("deployment_id", "=", deployment.id)
    .where("status", "=", "queued")
    .execute();
  for (const stored of rows) {
    const row = asOf(stored, now);
    const ended =
      row.status === "queued" ? withState(row, moved(stateOf(row), "deny", now), lapse(now, null), now) : row;
    await updateRequest(db, ended);
  }
}

/** Stores that time has ended a request: its waiting commands expire, and the manager is notified. */
export async function writeLapse(call: ChangeCall, row: AccessRequestRow): Promise<void> {
  await updateRequest(call.db, row);
  await expirePending(call, { accessRequestId: row.id });
  await call.raise("access-requests", row.deployment_id);
}

/** Rows in one transaction: few, so that it rarely conflicts with requests. */
const BATCH = 50;

/**
 * Stores which requests time has ended, so that managers are notified. Every read and write computes it too: without the
 * sweep only the managers' hint would be late.
 */
export const sweepLapsed: Sweep = async (db, now, hooks) => {
  const options = { readOnly: false, signal: new AbortController().signal, onRetry: () => undefined };
  for (let written = BATCH; written === BATCH; ) {
    written = await inTransaction(db, options, async (transaction) => {
      const call = { ...unrequested(transaction, now), hooks };
      const rows = await listLapsed(transaction, now, BATCH);
      for (const row of rows) await writeLapse(call, asOf(row, now));
      return rows.length;
    });
  }
};

/**
 * Creates the command of one line of an approved plan, only once: request and index together are unique in the
 * database, so a second attempt fails (§2.6).
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
    // The customer allowed the plan to run only until then.
    deadline: row.approved_until,
    invokedBy: row.queued_by ?? row.created_by,
    accessRequestId: row.id,
    planIndex: index,
  });
}

/**
 * After a command's success creates the command of the next line; after any other end ends the plan. Does nothing for a
 * plan that has been stopped.
 */
export async function continuePlan(call: ChangeCall, command: CommandRow): Promise<void> {
  if (command.access_request_id === null || command.plan_index === null) return;
  const stored = await findOwnerOf(call.db, command);
  if (stored === undefined) return;
  // Time first: at `approvedUntil` the plan is stopped, and the end of its command changes nothing more (§2.5).
  const row = asOf(stored, call.now);
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
