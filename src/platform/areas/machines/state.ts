import type { MachineReport, MachineStatus } from "../../../contract/machines/machine.ts";
import { STALE_AFTER_MS } from "../../../contract/resources/resource-heartbeat.ts";

/** The part of a machine that decides which moves are possible. The rest of its row is what the manager reports. */
export interface MachineState {
  readonly status: MachineStatus;
  readonly statusSince: Date;
  readonly lastHeartbeat: Date;
  /** The status that the manager reported last; null before its first report. */
  readonly reported: MachineStatus | null;
  readonly drainRequestedAt: Date | null;
  readonly drainDeadlineAt: Date | null;
  readonly drainForce: boolean;
  readonly drainedAt: Date | null;
  /** When a drain was cancelled, until the manager reports that it is not there any more. */
  readonly drainCancelledAt: Date | null;
  readonly removalRequestedAt: Date | null;
  /** The cluster has, or had, what is wanted at this revision: where it is not there any more, the customer deleted it. */
  readonly passedOn: boolean;
  /** When the customer was found to have ended the last wish; null with the next one. */
  readonly customerCancelledAt: Date | null;
  /** Grows with every new request for the machine. */
  readonly revision: number;
}

/** Of a wish that is new. */
const UNHEARD = { passedOn: false, customerCancelledAt: null } as const;

export const NO_WISHES = {
  drainRequestedAt: null,
  drainDeadlineAt: null,
  drainForce: false,
  drainedAt: null,
  drainCancelledAt: null,
  removalRequestedAt: null,
  ...UNHEARD,
} as const;

/**
 * Only in these statuses does a missing heartbeat make a machine unreachable. A drained or terminating machine need not
 * report.
 */
const EXPECTED_TO_REPORT: readonly MachineStatus[] = ["joining", "ready", "not-ready", "draining"];

export function isStale({ lastHeartbeat }: Pick<MachineState, "lastHeartbeat">, now: Date): boolean {
  return now.getTime() > lastHeartbeat.getTime() + STALE_AFTER_MS;
}

/** The machine as it is at `now`. When computed unreachable, it is so since the last heartbeat (§10.4). */
export function asOf(state: MachineState, now: Date): MachineState {
  if (!EXPECTED_TO_REPORT.includes(state.status) || !isStale(state, now)) return state;
  return { ...state, status: "unreachable", statusSince: state.lastHeartbeat };
}

function to(state: MachineState, status: MachineStatus, at: Date): MachineState {
  return status === state.status ? state : { ...state, status, statusSince: at };
}

/**
 * The state after a drain request; undefined when it is not allowed. A second request can only make the drain earlier
 * or forced (§10.4).
 */
export function drained(
  state: MachineState,
  wish: { readonly deadlineAt: Date | null; readonly force: boolean },
  now: Date,
): MachineState | undefined {
  if (state.status === "terminating" || state.status === "removed") return undefined;
  if (state.status === "drained") return state;
  const deadlines = [state.drainDeadlineAt, wish.deadlineAt].filter((each) => each !== null);
  const earliest = deadlines.toSorted((a, b) => a.getTime() - b.getTime())[0] ?? null;
  const next: MachineState = {
    ...to(state, "draining", now),
    drainRequestedAt: state.drainRequestedAt ?? now,
    drainDeadlineAt: earliest,
    drainForce: state.drainForce || wish.force,
    // An earlier drain by the customer does not count for this request.
    drainedAt: state.drainRequestedAt === null ? null : state.drainedAt,
    drainCancelledAt: null,
  };
  const same =
    state.drainRequestedAt !== null &&
    next.drainDeadlineAt?.getTime() === state.drainDeadlineAt?.getTime() &&
    next.drainForce === state.drainForce;
  return same ? next : { ...next, ...UNHEARD, revision: state.revision + 1 };
}

/** The state after a cancelled drain: unchanged when no drain was active, undefined when the machine is terminating. */
export function drainCancelled(state: MachineState, now: Date): MachineState | undefined {
  if (state.status === "terminating" || state.status === "removed") return undefined;
  const active = state.drainRequestedAt !== null || state.status === "draining" || state.status === "drained";
  if (!active) return state;
  const leaves = state.status === "draining" || state.status === "drained";
  return {
    // Until the manager's next report the platform knows only that the drain has ended.
    ...(leaves ? to(state, "not-ready", now) : state),
    ...NO_WISHES,
    drainCancelledAt: now,
    revision: state.revision + 1,
  };
}

/**
 * The state after a removal request; undefined when the machine is neither drained nor gone for long enough. `state` as
 * of now.
 */
export function removed(state: MachineState, now: Date): MachineState | undefined {
  if (state.status === "terminating" || state.status === "removed") return state;
  const gone =
    (state.status === "not-ready" || state.status === "unreachable") &&
    now.getTime() >= state.statusSince.getTime() + STALE_AFTER_MS;
  if (state.status !== "drained" && !gone) return undefined;
  return { ...to(state, "terminating", now), ...UNHEARD, removalRequestedAt: now, revision: state.revision + 1 };
}

/** What a manager says of one machine. */
export interface Word {
  readonly status: MachineStatus;
  readonly lastHeartbeat: Date;
  /** A drain that the platform asked for is there, though it may only wait. */
  readonly hasDrain: boolean;
  /** How far what is wanted is in the cluster. */
  readonly wish?: MachineReport["wish"] | undefined;
}

/** The state after a report about the machine. Of the platform's requests it ends only what the customer has deleted (§10.3). */
export function afterReport(before: MachineState, word: Word, at: Date): MachineState {
  const state = afterWish(before, word, at);
  const said = word.status;
  const heard = { ...state, reported: said, lastHeartbeat: word.lastHeartbeat };
  if (state.status === "terminating") return said === "removed" ? to(heard, "removed", at) : heard;
  const isDrain = said === "draining" || said === "drained";
  const free = { ...heard, drainCancelledAt: cancelAfter(state, word.hasDrain, isDrain, at) };
  if (said === "unreachable" || said === "removed") return to(free, "unreachable", at);
  if (state.drainRequestedAt !== null) return reportedInDrain(free, said, at);
  if (free.drainCancelledAt !== null && isDrain) return to(free, "not-ready", at);
  // A drain that the customer began in the cluster is shown as a drain. A machine that has joined cannot join again.
  const shown = said === "terminating" || (said === "joining" && hasJoined(state)) ? "not-ready" : said;
  return { ...to(free, shown, at), drainedAt: shown === "drained" ? (free.drainedAt ?? at) : null };
}

/** A word on an earlier wish says nothing of the one that is there. */
function afterWish(state: MachineState, { wish, hasDrain, status }: Word, at: Date): MachineState {
  const action = wanted(state)?.action;
  if (wish?.revision === state.revision && (action === "drain" || action === "remove")) {
    if (wish.state === "passed-on") return { ...state, passedOn: true };
    // The drain that emptied the machine stays wanted, for as long as its own object is there.
    if (action === "remove") {
      const free = { ...to(state, "not-ready", at), removalRequestedAt: null };
      return { ...free, passedOn: state.drainedAt !== null, customerCancelledAt: at };
    }
    return { ...state, ...NO_WISHES, customerCancelledAt: at };
  }
  const isEmpty = state.drainRequestedAt !== null && state.drainedAt !== null && state.removalRequestedAt === null;
  const takesPods = status === "ready" || status === "not-ready";
  // Deleting the drain of an empty machine gives it its pods back, and nothing of the wish is left.
  if (!state.passedOn || !isEmpty || hasDrain || !takesPods) return state;
  return { ...state, ...NO_WISHES, customerCancelledAt: at };
}

/**
 * A cancel stands until the drain is gone, also one that has not begun. A drain of the platform that it does not want is to
 * be cancelled too: the manager had read the request for it before it was taken back.
 */
function cancelAfter(state: MachineState, hasDrain: boolean, isDrain: boolean, at: Date): Date | null {
  if (state.drainRequestedAt !== null) return null;
  if (hasDrain) return state.drainCancelledAt ?? at;
  return isDrain ? state.drainCancelledAt : null;
}

function hasJoined({ status, reported }: MachineState): boolean {
  if (status === "joining") return false;
  return status !== "unreachable" || !(reported === null || reported === "joining" || reported === "removed");
}

function reportedInDrain(state: MachineState, said: MachineStatus, at: Date): MachineState {
  if (said === "drained" || state.drainedAt !== null) {
    return { ...to(state, "drained", at), drainedAt: state.drainedAt ?? at };
  }
  return to(state, "draining", at);
}

/** The state after a complete report without the machine. */
export function afterAbsence(state: MachineState, at: Date): MachineState {
  if (state.status === "terminating") return to(state, "removed", at);
  return state.status === "removed" ? state : to(state, "unreachable", at);
}

export type Wanted = { readonly action: "drain" | "cancel-drain" | "remove"; readonly requestedAt: Date } | undefined;

/** What the manager still has to do (§18.2). It is repeated in each answer until the manager has reported the end. */
export function wanted(state: MachineState): Wanted {
  const { removalRequestedAt, drainRequestedAt, drainCancelledAt } = state;
  if (state.status === "removed") return undefined;
  if (removalRequestedAt !== null) return { action: "remove", requestedAt: removalRequestedAt };
  if (drainRequestedAt !== null) {
    return state.drainedAt === null ? { action: "drain", requestedAt: drainRequestedAt } : undefined;
  }
  return drainCancelledAt === null ? undefined : { action: "cancel-drain", requestedAt: drainCancelledAt };
}
