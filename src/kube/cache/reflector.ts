import type { Random } from "../../base/clock.ts";
import type { ApiError } from "../client/api-error.ts";
import type { WatchRestartReason } from "../metrics/metrics.ts";
import { DecodeError } from "../projection/protobuf.ts";
import type { WatchEnd } from "./watch.ts";

/** What a reflector does next. */
export type ReflectorState =
  /** Watch from nothing: the server sends all that exists, marks the end, and goes on. */
  | { readonly at: "watch-list" }
  /** Read all pages: for servers that refuse the former. */
  | { readonly at: "list" }
  /** Follow changes since a version. */
  | { readonly at: "watch"; readonly resourceVersion: string };

/** How a state ended. `resourceVersion` is the last one seen, when the whole set up to it is in the store. */
export type Outcome =
  | {
      readonly of: "watch";
      readonly end: WatchEnd;
      readonly resourceVersion: string | undefined;
      readonly events: number;
      readonly durationMs: number;
    }
  /** The server sent a bookmark before the mark that ends the initial list: it does not know watch-list. */
  | { readonly of: "unsupported" }
  | { readonly of: "list"; readonly resourceVersion: string }
  | { readonly of: "list-failed"; readonly error: ApiError | DecodeError }
  /** There are more objects than may be held: none is. */
  | { readonly of: "too-large" };

export function failureOf(outcome: Outcome): Error | undefined {
  if (outcome.of === "list-failed") return outcome.error;
  return outcome.of === "watch" && "error" in outcome.end ? outcome.end.error : undefined;
}

/** What a reflector remembers between states. */
export interface Memory {
  readonly failures: number;
  readonly lastFailureMs: number;
  /**
   * Until when all that exists is read with LIST. For ever once watch-list was refused: servers do not learn it while we
   * run, and asking again would be a refusal per relist.
   */
  readonly listUntilMs: number;
  /** Watch-lists in a row that ended before the mark. */
  readonly unmarked: number;
  /** Watches in a row that went silent without a word of anything newer. */
  readonly silent: number;
}

export interface Step {
  readonly state: ReflectorState;
  readonly memory: Memory;
  /** Before `state` is entered. */
  readonly delayMs: number;
  /** Undefined after a list: going on to watch is no restart. */
  readonly reason: WatchRestartReason | undefined;
}

// Source: client-go tools/cache/reflector.go, NewReflectorWithOptions; kube-rs has the same numbers.
const BASE_DELAY_MS = 800;
const MAX_DELAY_MS = 30_000;
/** So long without a failure, and the next one counts as the first. */
const HEALTHY_MS = 120_000;

/** Objects do not get fewer within seconds, and each try reads as many of them as may be held. */
const TOO_LARGE_DELAY_MS = 600_000;

/** A watch that ends sooner and brought nothing is a failure in disguise ("very short watch" in client-go). */
const SHORT_MS = 1_000;

/** Watch-lists that may end before the mark: a cut connection is one. */
const MOST_UNMARKED = 3;

/**
 * Watches that may go silent in a row: of a dead connection the next one brings bookmarks. A server that etcd's restore has
 * put behind our version sends none, also of what changes, until its versions have caught up.
 */
const MOST_SILENT = 2;

/** How long a server that loses the mark is not asked for watch-lists. What loses it may be replaced while we run. */
const LIST_FOR_MS = 3_600_000;

export const INITIAL_STATE: ReflectorState = { at: "watch-list" };
export const INITIAL_MEMORY: Memory = {
  failures: 0,
  lastFailureMs: Number.NEGATIVE_INFINITY,
  listUntilMs: Number.NEGATIVE_INFINITY,
  unmarked: 0,
  silent: 0,
};

/** The whole policy of a reflector: from how a state ended to the next. Pure. */
export function step(state: ReflectorState, outcome: Outcome, memory: Memory, nowMs: number, random: Random): Step {
  if (outcome.of === "list") {
    const following: ReflectorState = { at: "watch", resourceVersion: outcome.resourceVersion };
    return { state: following, memory, delayMs: 0, reason: undefined };
  }
  if (outcome.of === "unsupported") return refusedWatchList(memory);
  if (outcome.of === "too-large") {
    const delayMs = TOO_LARGE_DELAY_MS * (1 + random() / 10);
    return { state: relistOf(memory, nowMs), memory, delayMs, reason: "too-large" };
  }
  if (outcome.of === "list-failed") {
    const { error } = outcome;
    if (error instanceof DecodeError) return afterFailure(state, "decode", memory, nowMs, random);
    return afterError(state, error, memory, nowMs, random);
  }
  const { end } = outcome;
  if (state.at === "watch-list" && outcome.resourceVersion === undefined && losesMark(end)) {
    const unmarked = memory.unmarked + 1;
    if (end.reason === "unmarked" || unmarked >= MOST_UNMARKED) return withoutMark(memory, nowMs);
    return afterEnd(state, { ...outcome, end }, { ...memory, unmarked }, nowMs, random);
  }
  const isSilent = state.at === "watch" && end.reason === "idle" && outcome.resourceVersion === state.resourceVersion;
  const silent = isSilent ? memory.silent + 1 : 0;
  if (silent >= MOST_SILENT)
    return { state: relistOf(memory, nowMs), memory: { ...memory, silent: 0 }, delayMs: 0, reason: "gone" };
  const isWhole = outcome.resourceVersion !== undefined;
  return afterEnd(state, outcome, { ...memory, silent, ...(isWhole && { unmarked: 0 }) }, nowMs, random);
}

function afterEnd(
  state: ReflectorState,
  outcome: Extract<Outcome, { of: "watch" }>,
  memory: Memory,
  nowMs: number,
  random: Random,
): Step {
  const resume: ReflectorState =
    outcome.resourceVersion === undefined ? state : { at: "watch", resourceVersion: outcome.resourceVersion };
  const { end } = outcome;
  switch (end.reason) {
    case "error":
      if (state.at === "watch-list" && refusesWatchList(end.error)) return refusedWatchList(memory);
      return afterError(resume, end.error, memory, nowMs, random);
    case "decode":
      return afterFailure(resume, "decode", memory, nowMs, random);
    case "closed":
    case "idle":
    case "unmarked":
    case "expired": {
      const isShort = end.reason === "closed" && outcome.durationMs < SHORT_MS && !isFurther(state, outcome);
      if (isShort) return afterFailure(resume, "short", memory, nowMs, random);
      return { state: resume, memory, delayMs: 0, reason: end.reason };
    }
  }
}

/** Whether a watch brought something new. The same events again and again would be asked for without a pause. */
function isFurther(state: ReflectorState, { events, resourceVersion }: Extract<Outcome, { of: "watch" }>): boolean {
  return events > 0 && resourceVersion !== (state.at === "watch" ? state.resourceVersion : undefined);
}

/** Whether this end says of the server that it does not finish a watch-list; one that is busy or away says nothing. */
function losesMark(end: WatchEnd): boolean {
  return end.reason !== "error" || (end.error.status >= 500 && end.error.status !== 503);
}

/** 400 and 422 are what servers say to `sendInitialEvents` when they have it off or do not know it. */
function refusesWatchList(error: ApiError): boolean {
  return error.status === 400 || error.isInvalid;
}

function refusedWatchList(memory: Memory): Step {
  const remembered = { ...memory, listUntilMs: Number.POSITIVE_INFINITY };
  return { state: { at: "list" }, memory: remembered, delayMs: 0, reason: "error" };
}

function withoutMark(memory: Memory, nowMs: number): Step {
  const remembered = { ...memory, listUntilMs: nowMs + LIST_FOR_MS, unmarked: 0 };
  return { state: { at: "list" }, memory: remembered, delayMs: 0, reason: "unmarked" };
}

function afterError(resume: ReflectorState, error: ApiError, memory: Memory, nowMs: number, random: Random): Step {
  if (error.isGone || isVersionTooLarge(error)) {
    const failed = afterFailure(relistOf(memory, nowMs), "gone", memory, nowMs, random);
    // The first time it is only age: list again at once. Again and again, it is a server in trouble.
    return failed.memory.failures === 1 ? { ...failed, delayMs: 0 } : failed;
  }
  const failed = afterFailure(resume, error.isTooManyRequests ? "throttled" : "error", memory, nowMs, random);
  return { ...failed, delayMs: Math.max(failed.delayMs, error.retryAfterMs ?? 0) };
}

function relistOf({ listUntilMs }: Memory, nowMs: number): ReflectorState {
  return nowMs < listUntilMs ? { at: "list" } : { at: "watch-list" };
}

/** After a restore of etcd the server's versions are behind ours, and it would let us wait for ever. */
function isVersionTooLarge(error: ApiError): boolean {
  return error.body?.details?.causes?.some((cause) => cause.reason === "ResourceVersionTooLarge") ?? false;
}

function afterFailure(
  state: ReflectorState,
  reason: WatchRestartReason,
  memory: Memory,
  nowMs: number,
  random: Random,
): Step {
  const before = nowMs - memory.lastFailureMs > HEALTHY_MS ? 0 : memory.failures;
  // Jitter comes after the cap, or all clients of a server that was away for long would return in the same second.
  const delayMs = Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** before) * (1 + random());
  return { state, memory: { ...memory, failures: before + 1, lastFailureMs: nowMs }, delayMs, reason };
}
