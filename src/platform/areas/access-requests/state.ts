import type { AccessRequestStatus, ExecutionState } from "../../../contract/access-requests/access-requests.ts";
import { invalidTransition } from "../../kernel/errors.ts";

/** The part of an access request that decides what may happen to it next. */
export interface State {
  readonly status: AccessRequestStatus;
  readonly execution: ExecutionState;
  readonly decideBefore: Date;
  readonly approvedUntil: Date | null;
}

/** What people, managers and time do to a request (§2.5). Everything else is refused. */
const MOVES = {
  queue: { from: ["pending-approval"], to: "queued" },
  reject: { from: ["pending-approval", "queued"], to: "rejected" },
  approve: { from: ["queued"], to: "customer-approved" },
  deny: { from: ["queued"], to: "rejected" },
  revoke: { from: ["customer-approved"], to: "rejected" },
  /** The manager says so; `lapse` is the same, said by the clock. */
  expire: { from: ["queued", "customer-approved"], to: "expired" },
  lapse: { from: ["pending-approval", "queued", "customer-approved"], to: "expired" },
} as const satisfies Readonly<
  Record<string, { readonly from: readonly AccessRequestStatus[]; readonly to: AccessRequestStatus }>
>;
export type Move = keyof typeof MOVES;
export const MOVE_NAMES = Object.keys(MOVES) as readonly Move[];

/**
 * How long after `decideBefore` a decision may still arrive: the cluster's deadline is `decideBefore` itself, and a
 * report of a decision made in time can be late by a reconnect.
 */
export const REPORT_GRACE_MS = 300_000;

/** A plan that ended, well or not, inside its window: nothing is left that could be stopped. */
function isFinished({ execution }: State): boolean {
  return execution === "succeeded" || execution === "failed";
}

/** The instant from which time alone ends the request; undefined when it never does. */
export function lapsesAt(state: State): Date | undefined {
  switch (state.status) {
    case "pending-approval":
    case "queued":
      return new Date(state.decideBefore.getTime() + REPORT_GRACE_MS);
    case "customer-approved":
      return isFinished(state) ? undefined : (state.approvedUntil ?? undefined);
    case "expired":
    case "rejected":
      return undefined;
  }
}

/** True from the very millisecond of `lapsesAt` on: a window is `[approvedAt, approvedUntil)`. */
export function hasLapsed(state: State, now: Date): boolean {
  const at = lapsesAt(state);
  return at !== undefined && now.getTime() >= at.getTime();
}

/**
 * The state after a move, or undefined when the table has no such move. The caller has settled the state first, so
 * that time's own move never comes second.
 */
export function afterMove<S extends State>(state: S, move: Move, now: Date): S | undefined {
  const from: readonly AccessRequestStatus[] = MOVES[move].from;
  if (!from.includes(state.status)) return undefined;
  if (state.status === "customer-approved" && isFinished(state) && isOver(state, move, now)) return undefined;
  return { ...state, status: MOVES[move].to, execution: executionAfter(state, move) };
}

/** What was asked for has run: it cannot expire any more, and once its window has closed not be revoked either. */
function isOver({ approvedUntil }: State, move: Move, now: Date): boolean {
  return move !== "revoke" || approvedUntil === null || now.getTime() >= approvedUntil.getTime();
}

/** Leaving `customer-approved` stops what has not ended. A finished plan stays finished: it did run. */
function executionAfter(state: State, move: Move): ExecutionState {
  if (state.status !== "customer-approved" || isFinished(state)) return state.execution;
  return MOVES[move].to === "customer-approved" ? state.execution : "stopped";
}

/** Where a request can go from `status`: the `allowed` of a refusal. */
function reachable(status: AccessRequestStatus): readonly AccessRequestStatus[] {
  const targets = Object.values(MOVES)
    .filter(({ from }) => (from as readonly AccessRequestStatus[]).includes(status))
    .map(({ to }) => to);
  return [...new Set(targets)];
}

/** As `afterMove`, for callers who are told why not. @throws INVALID_STATE_TRANSITION */
export function moved<S extends State>(state: S, move: Move, now: Date): S {
  const next = afterMove(state, move, now);
  if (next === undefined) throw invalidTransition(state.status, MOVES[move].to, reachable(state.status));
  return next;
}
