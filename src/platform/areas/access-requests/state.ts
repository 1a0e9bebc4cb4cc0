import type { ApprovalReport, DecisionReport, REPORT_CODES } from "../../../contract/access-requests/access-relay.ts";
import type {
  AccessRequestStatus,
  Decision,
  ExecutionState,
} from "../../../contract/access-requests/access-requests.ts";
import type { Tier } from "../../../contract/operations/operations.ts";
import { HUMAN_LINE, HUMAN_TEXT } from "../../../contract/wire/schema.ts";
import { invalidTransition } from "../../kernel/errors.ts";

/** The part of an access request that decides which moves are possible. */
export interface State {
  readonly status: AccessRequestStatus;
  readonly execution: ExecutionState;
  readonly decideBefore: Date;
  readonly approvedUntil: Date | null;
}

/** All moves of users, managers and time (§2.5). Every other move is refused. */
const MOVES = {
  queue: { from: ["pending-approval"], to: "queued" },
  reject: { from: ["pending-approval", "queued"], to: "rejected" },
  approve: { from: ["queued"], to: "customer-approved" },
  deny: { from: ["queued"], to: "rejected" },
  revoke: { from: ["customer-approved"], to: "rejected" },
  /** `expire`: the manager reports the end. `lapse`: the platform's clock ends the request. */
  expire: { from: ["queued", "customer-approved"], to: "expired" },
  lapse: { from: ["pending-approval", "queued", "customer-approved"], to: "expired" },
} as const satisfies Readonly<
  Record<string, { readonly from: readonly AccessRequestStatus[]; readonly to: AccessRequestStatus }>
>;
export type Move = keyof typeof MOVES;
export const MOVE_NAMES = Object.keys(MOVES) as readonly Move[];

/**
 * How long after `decideBefore` the platform still accepts a decision. The cluster's deadline is `decideBefore` itself,
 * but the report of a decision made in time can arrive later, for example after a reconnect.
 */
export const REPORT_GRACE_MS = 300_000;

/** The plan has run to its end inside its window, with success or failure: nothing is left to stop. */
function isFinished({ execution }: State): boolean {
  return execution === "succeeded" || execution === "failed";
}

/** When time alone ends the request; undefined when it never does. */
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

/** True from `lapsesAt` on, including that instant: a window is `[approvedAt, approvedUntil)`. */
export function hasLapsed(state: State, now: Date): boolean {
  const at = lapsesAt(state);
  return at !== undefined && now.getTime() >= at.getTime();
}

/**
 * The state after a move, or undefined when the move is not allowed. The caller must pass the state as of now, so that
 * expiry is applied before the move.
 */
export function afterMove<S extends State>(state: S, move: Move, now: Date): S | undefined {
  const from: readonly AccessRequestStatus[] = MOVES[move].from;
  if (!from.includes(state.status)) return undefined;
  if (state.status === "customer-approved" && isFinished(state) && isOver(state, move, now)) return undefined;
  return { ...state, status: MOVES[move].to, execution: executionAfter(state, move) };
}

/** The plan has already run: it cannot expire any more, and after its window it cannot be revoked either. */
function isOver({ approvedUntil }: State, move: Move, now: Date): boolean {
  return move !== "revoke" || approvedUntil === null || now.getTime() >= approvedUntil.getTime();
}

/** Leaving `customer-approved` stops what is still running. A finished plan keeps its result. */
function executionAfter(state: State, move: Move): ExecutionState {
  if (state.status !== "customer-approved" || isFinished(state)) return state.execution;
  return MOVES[move].to === "customer-approved" ? state.execution : "stopped";
}

/** Statuses to which the vendor can bring a request of `status` (POST queue, POST reject): the `allowed` of a refusal. */
function reachable(status: AccessRequestStatus): readonly AccessRequestStatus[] {
  const targets = [MOVES.queue, MOVES.reject]
    .filter(({ from }) => (from as readonly AccessRequestStatus[]).includes(status))
    .map(({ to }) => to);
  return [...new Set(targets)];
}

/** Like `afterMove`, for callers that get the reason. @throws INVALID_STATE_TRANSITION */
export function moved<S extends State>(state: S, move: Move, now: Date): S {
  const next = afterMove(state, move, now);
  if (next === undefined) throw invalidTransition(state.status, MOVES[move].to, reachable(state.status));
  return next;
}

// What a manager's report does to a request (§17.3, §17.4). These functions store nothing: the caller passes the
// request as of now and stores the result. The platform accepts a report only as far as the request allows it.

/** The request with the fields that reports are checked against. */
export interface Reported extends State {
  readonly risk: Tier;
  readonly planHash: string;
  readonly maxMinutes: number;
  /** The last decision. */
  readonly decision: Decision | null;
}

export type ReportCode = (typeof REPORT_CODES)[number];

export type Verdict =
  | { readonly outcome: "recorded"; readonly next: State; readonly decision: Decision }
  | { readonly outcome: "duplicate" }
  | { readonly outcome: "ignored"; readonly code: ReportCode };

const ignored = (code: ReportCode): Verdict => ({ outcome: "ignored", code });

/** How much later than allowed a reported window may end, because clocks differ and a report takes time. */
export const WINDOW_SLACK_MS = 5 * 60_000;

const MINUTE_MS = 60_000;

export function judgeApproval(request: Reported, report: ApprovalReport, now: Date): Verdict {
  const until = new Date(report.approvedUntil);
  if (request.status !== "queued" && request.status !== "customer-approved") return ignored("INVALID_STATE_TRANSITION");
  if (!citesPlan(request, report)) return ignored("PLAN_HASH_MISMATCH");
  if (request.status === "customer-approved") {
    // A window is never extended or shortened: the first report stays.
    return until.getTime() === request.approvedUntil?.getTime() ? { outcome: "duplicate" } : ignored("CONFLICT");
  }
  const latest = now.getTime() + request.maxMinutes * MINUTE_MS + WINDOW_SLACK_MS;
  const sane = until.getTime() > now.getTime() && until.getTime() <= latest;
  const next = afterMove(request, "approve", now);
  if (!sane || !isReadable(report) || next === undefined) return ignored("VALIDATION_ERROR");
  const decision: Decision = {
    outcome: "approved",
    by: report.decidedBy ?? null,
    reason: null,
    at: notAfter(report.approvedAt, now),
    approvedUntil: until.toISOString(),
    identity: identityOf(report),
  };
  return { outcome: "recorded", next: { ...next, approvedUntil: until }, decision };
}

/**
 * The approval of a destructive plan must contain the plan's hash, which proves that exactly this plan was approved.
 */
function citesPlan({ risk, planHash }: Reported, report: ApprovalReport): boolean {
  return report.planHash === undefined ? risk !== "destructive" : report.planHash === planHash;
}

const MOVE_OF = { denied: "deny", revoked: "revoke", expired: "expire" } as const;

/**
 * The plan's hash is not checked: an end grants nothing, and a manager with an outdated resource, which holds another
 * plan under the same id, must be able to end the request.
 */
export function judgeDecision(request: Reported, report: DecisionReport, now: Date): Verdict {
  const ended = request.status === "rejected" || request.status === "expired";
  if (ended && request.decision?.outcome === report.outcome) return { outcome: "duplicate" };
  const next = afterMove(request, MOVE_OF[report.outcome], now);
  if (next === undefined) return ignored("INVALID_STATE_TRANSITION");
  if (!isReadable(report)) return ignored("VALIDATION_ERROR");
  const decision: Decision = {
    outcome: report.outcome,
    by: report.decidedBy ?? null,
    reason: report.reason ?? null,
    at: notAfter(report.at, now),
    approvedUntil: request.approvedUntil?.toISOString() ?? null,
    identity: identityOf(report),
  };
  return { outcome: "recorded", next, decision };
}

/** The decision made by time, dated when it was due and not when it was computed. */
export function lapse(at: Date, approvedUntil: Date | null): Decision {
  return {
    outcome: "expired",
    by: null,
    reason: null,
    at: at.toISOString(),
    approvedUntil: approvedUntil?.toISOString() ?? null,
    identity: "unknown",
  };
}

const READABLE_LINE = new RegExp(HUMAN_LINE, "u");

const READABLE_TEXT = new RegExp(HUMAN_TEXT, "u");

function isReadable({ decidedBy = "", reason = "" }: { decidedBy?: string; reason?: string }): boolean {
  return READABLE_LINE.test(decidedBy) && READABLE_TEXT.test(reason);
}

function identityOf({ identity, decidedBy }: Pick<ApprovalReport, "identity" | "decidedBy">): Decision["identity"] {
  return identity ?? (decidedBy === undefined ? "unknown" : "claimed");
}

/** The reported time, but never later than now: a cluster's clock may be ahead of the platform's. */
function notAfter(reported: string | undefined, now: Date): string {
  const at = reported === undefined ? now : new Date(reported);
  return (at.getTime() <= now.getTime() ? at : now).toISOString();
}
