import type { DebugSessionRow } from "../../database/tables/debug-sessions.ts";
import type { Call } from "../../kernel/call/call.ts";
import { eventState, failedWith } from "../../kernel/events/outbox.ts";
import { kept } from "../../kernel/tenancy/stored-error.ts";
import { isOver, type SessionState } from "./state.ts";
import { stateOf, updateSession } from "./store.ts";

export type ChangeCall = Pick<Call, "db" | "now" | "emit" | "raise">;

/**
 * Stores a session's new state and, in the same transaction, its events and the notice to the manager (§13.2, §14.4).
 */
export async function storeChange(
  call: ChangeCall,
  row: DebugSessionRow,
  next: SessionState,
): Promise<DebugSessionRow> {
  const before = stateOf(row);
  const { state, error, closeReason, expiresAt } = next;
  const endedAt = isOver(state) ? (row.ended_at ?? earlier(call.now, expiresAt)) : null;
  await updateSession(call.db, row.id, next, endedAt);
  if (before.state !== state) {
    if (state === "running") await tellStarted(call, row);
    if (isOver(state)) await tellEnded(call, row, next);
    if (state === "stopping") await call.raise("debug-sessions", row.deployment_id);
  }
  return { ...row, state, error, close_reason: closeReason, expires_at: expiresAt, ended_at: endedAt };
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}

export async function tellStarted(call: Pick<Call, "emit">, row: DebugSessionRow): Promise<void> {
  await call.emit({
    type: "DebuggingAgent",
    projectId: row.project_id,
    deploymentId: row.deployment_id,
    debugSessionId: row.id,
    data: { agentId: row.deployment_id, debugSessionId: row.id },
    state: "started",
  });
}

/**
 * The started event is one row whose state changes when the session ends. A session that never ran has no such event.
 */
async function tellEnded({ db }: ChangeCall, row: DebugSessionRow, { state, error }: SessionState): Promise<void> {
  const unexplained = kept({ code: "DEBUG_SESSION_FAILED", message: "no error was reported", internal: false });
  const end = state === "failed" ? failedWith(error ?? unexplained) : "success";
  await db
    .updateTable("events")
    .set({ state: eventState(end) })
    .where("deployment_id", "=", row.deployment_id)
    .where("debug_session_id", "=", row.id)
    .where("state", "=", eventState("started"))
    .execute();
}
