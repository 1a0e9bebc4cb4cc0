import type { CloseReason, DebugSessionState } from "../../../contract/debug-sessions/debug-sessions.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Kept } from "../../database/tables/kept.ts";

/** The part of a session that decides which moves are possible. */
export interface SessionState {
  readonly state: DebugSessionState;
  readonly error: Kept<StoredError> | null;
  readonly closeReason: CloseReason | null;
  readonly expiresAt: Date;
}

/** The moves on request. Only time makes a session `expired`, which every read computes. */
const MOVES: Readonly<Record<DebugSessionState, readonly DebugSessionState[]>> = {
  pending: ["running", "stopping", "failed"],
  running: ["stopping", "failed"],
  stopping: ["stopped", "failed"],
  stopped: [],
  expired: [],
  failed: [],
};

export function allowedMoves(from: DebugSessionState): readonly DebugSessionState[] {
  return MOVES[from];
}

export function isOver(state: DebugSessionState): boolean {
  return MOVES[state].length === 0;
}

/** The session as it is at `now`. At the instant of its end it has expired. */
export function asOf<S extends SessionState>(session: S, now: Date): S {
  if (isOver(session.state) || now < session.expiresAt) return session;
  return { ...session, state: "expired", closeReason: session.closeReason ?? "expired" };
}

/** Undefined when the move is not allowed. Setting the same state again changes nothing. `session` is as of now. */
export function moved<S extends SessionState>(
  session: S,
  to: DebugSessionState,
  why: { readonly closeReason?: CloseReason; readonly error?: Kept<StoredError> } = {},
): S | undefined {
  if (to === session.state) return session;
  if (!MOVES[session.state].includes(to)) return undefined;
  return {
    ...session,
    state: to,
    closeReason: session.closeReason ?? why.closeReason ?? null,
    error: session.error ?? why.error ?? null,
  };
}
