import {
  type CommandState,
  TERMINAL_COMMAND_STATES,
  type TerminalCommandState,
} from "../../../contract/operations/commands.ts";

/** A result sent just before the deadline is still accepted for this long (§16.3). */
export const RESULT_GRACE_MS = 60_000;

/** The allowed moves; every other one is refused. Terminal states allow none, so the first terminal write stays. */
const MOVES: Readonly<Record<CommandState, readonly CommandState[]>> = {
  PENDING_UPLOAD: ["PENDING", "FAILED", "EXPIRED"],
  PENDING: ["DISPATCHED", "FAILED", "EXPIRED"],
  DISPATCHED: ["PENDING", "SUCCEEDED", "FAILED", "EXPIRED"],
  SUCCEEDED: [],
  FAILED: [],
  EXPIRED: [],
};

export function allowedMoves(from: CommandState): readonly CommandState[] {
  return MOVES[from];
}

export function isTerminal(state: CommandState): state is TerminalCommandState {
  return (TERMINAL_COMMAND_STATES as readonly CommandState[]).includes(state);
}

export interface Deadlined {
  readonly state: CommandState;
  readonly deadline: Date | null;
}

/** When a command expires; undefined when it never does. */
export function expiryOf({ state, deadline }: Deadlined): Date | undefined {
  if (deadline === null || isTerminal(state)) return undefined;
  return state === "DISPATCHED" ? new Date(deadline.getTime() + RESULT_GRACE_MS) : deadline;
}

/** Computed on every read and before every write (§16.3). At the instant of its expiry a command has expired. */
export function hasExpired(command: Deadlined, now: Date): boolean {
  const expiry = expiryOf(command);
  return expiry !== undefined && now >= expiry;
}
