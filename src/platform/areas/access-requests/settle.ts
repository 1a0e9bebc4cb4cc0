import type { Decision } from "../../../contract/access-requests/access-requests.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import { lapse, type Reported } from "./reports.ts";
import { afterMove, hasLapsed, lapsesAt, type State } from "./state.ts";

/** The row as its rules see it. */
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

/** The row after a move that the rules allowed, `at` the instant of it. */
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
 * The request as it is at `now`: time's own move is made on every read and before every write, and dated by when it
 * was due. The same object when time has changed nothing.
 */
export function settled(row: AccessRequestRow, now: Date): AccessRequestRow {
  const state = stateOf(row);
  const at = lapsesAt(state);
  const next = hasLapsed(state, now) ? afterMove(state, "lapse", now) : undefined;
  if (at === undefined || next === undefined) return row;
  return withState(row, next, lapse(at, row.approved_until), at);
}
