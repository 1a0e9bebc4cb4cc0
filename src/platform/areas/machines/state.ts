import type { MachineStatus } from "../../../contract/machines/machine.ts";
import { STALE_AFTER_MS } from "../../../contract/resources/resource-heartbeat.ts";

/** What decides about a machine. The rest of its row is what the manager tells of it. */
export interface MachineState {
  readonly status: MachineStatus;
  readonly statusSince: Date;
  readonly lastHeartbeat: Date;
  /** As the manager last said; null before its first report. */
  readonly reported: MachineStatus | null;
  readonly drainRequestedAt: Date | null;
  readonly drainDeadlineAt: Date | null;
  readonly drainForce: boolean;
  readonly drainedAt: Date | null;
  /** A cancelled drain that the manager has not ended yet. */
  readonly drainCancelledAt: Date | null;
  readonly removalRequestedAt: Date | null;
  /** Grows with every wish. */
  readonly revision: number;
}

export const NO_WISHES = {
  drainRequestedAt: null,
  drainDeadlineAt: null,
  drainForce: false,
  drainedAt: null,
  drainCancelledAt: null,
  removalRequestedAt: null,
} as const;

/** Silence makes these unreachable; whoever is drained or on its way out has nothing to say. */
const EXPECTED_TO_REPORT: readonly MachineStatus[] = ["joining", "ready", "not-ready", "draining"];

export function isStale({ lastHeartbeat }: Pick<MachineState, "lastHeartbeat">, now: Date): boolean {
  return now.getTime() > lastHeartbeat.getTime() + STALE_AFTER_MS;
}

/** The machine as it is at `now`. A computed unreachable counts from the last heartbeat (§10.4). */
export function asOf(state: MachineState, now: Date): MachineState {
  if (!EXPECTED_TO_REPORT.includes(state.status) || !isStale(state, now)) return state;
  return { ...state, status: "unreachable", statusSince: state.lastHeartbeat };
}

function to(state: MachineState, status: MachineStatus, at: Date): MachineState {
  return status === state.status ? state : { ...state, status, statusSince: at };
}

/** Undefined: the table has no such move. A second request can only hasten the first (§10.4). */
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
    // An earlier emptying, by the customer, was another one.
    drainedAt: state.drainRequestedAt === null ? null : state.drainedAt,
    drainCancelledAt: null,
  };
  const same =
    state.drainRequestedAt !== null &&
    next.drainDeadlineAt?.getTime() === state.drainDeadlineAt?.getTime() &&
    next.drainForce === state.drainForce;
  return same ? next : { ...next, revision: state.revision + 1 };
}

/** The same state when no drain was active; undefined when the machine is leaving. */
export function drainCancelled(state: MachineState, now: Date): MachineState | undefined {
  if (state.status === "terminating" || state.status === "removed") return undefined;
  const active = state.drainRequestedAt !== null || state.status === "draining" || state.status === "drained";
  if (!active) return state;
  const leaves = state.status === "draining" || state.status === "drained";
  return {
    // Until a report says more than that it is not being emptied any more.
    ...(leaves ? to(state, "not-ready", now) : state),
    ...NO_WISHES,
    drainCancelledAt: now,
    revision: state.revision + 1,
  };
}

/** Undefined: not empty, and not gone for long enough. `state` as of now. */
export function removed(state: MachineState, now: Date): MachineState | undefined {
  if (state.status === "terminating" || state.status === "removed") return state;
  const gone =
    (state.status === "not-ready" || state.status === "unreachable") &&
    now.getTime() >= state.statusSince.getTime() + STALE_AFTER_MS;
  if (state.status !== "drained" && !gone) return undefined;
  return { ...to(state, "terminating", now), removalRequestedAt: now, revision: state.revision + 1 };
}

/** What a report of this machine makes of it: it may not end a wish of the platform's (§10.3). */
export function afterReport(state: MachineState, said: MachineStatus, lastHeartbeat: Date, at: Date): MachineState {
  const heard = { ...state, reported: said, lastHeartbeat };
  if (state.status === "terminating") return said === "removed" ? to(heard, "removed", at) : heard;
  if (said === "unreachable" || said === "removed") return to(heard, "unreachable", at);
  if (state.drainRequestedAt !== null) return reportedInDrain(heard, said, at);
  const ended = state.drainCancelledAt !== null && said !== "draining" && said !== "drained";
  const free = ended ? { ...heard, drainCancelledAt: null } : heard;
  if (free.drainCancelledAt !== null) return to(free, "not-ready", at);
  // A drain that the customer began in the cluster shows as one; a machine does not join twice.
  const shown = said === "terminating" || (said === "joining" && state.status !== "joining") ? "not-ready" : said;
  return { ...to(free, shown, at), drainedAt: shown === "drained" ? (free.drainedAt ?? at) : null };
}

function reportedInDrain(state: MachineState, said: MachineStatus, at: Date): MachineState {
  if (said === "drained" || state.drainedAt !== null) {
    return { ...to(state, "drained", at), drainedAt: state.drainedAt ?? at };
  }
  return to(state, "draining", at);
}

/** Missing from a complete report. */
export function afterAbsence(state: MachineState, at: Date): MachineState {
  if (state.status === "terminating") return to(state, "removed", at);
  return state.status === "removed" ? state : to(state, "unreachable", at);
}

export type Wanted = { readonly action: "drain" | "cancel-drain" | "remove"; readonly requestedAt: Date } | undefined;

/** What the manager has yet to do (§18.2): the level, so it is told again until it has reported the end. */
export function wanted(state: MachineState): Wanted {
  const { removalRequestedAt, drainRequestedAt, drainCancelledAt, reported } = state;
  if (state.status === "removed") return undefined;
  if (removalRequestedAt !== null) return { action: "remove", requestedAt: removalRequestedAt };
  if (drainRequestedAt !== null) {
    return state.drainedAt === null ? { action: "drain", requestedAt: drainRequestedAt } : undefined;
  }
  const still = reported === "draining" || reported === "drained";
  return drainCancelledAt !== null && still ? { action: "cancel-drain", requestedAt: drainCancelledAt } : undefined;
}
