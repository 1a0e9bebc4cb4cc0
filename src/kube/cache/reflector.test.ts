import { describe, expect, test } from "vitest";
import { ApiError } from "../client/api-error.ts";
import { DecodeError } from "../projection/protobuf.ts";
import { INITIAL_MEMORY, type Memory, type Outcome, type ReflectorState, step } from "./reflector.ts";
import type { WatchEnd } from "./watch.ts";

const watching: ReflectorState = { at: "watch", resourceVersion: "7" };
const error = (status: number, extra: { reason?: string; retryAfterMs?: number; cause?: string } = {}): WatchEnd => ({
  reason: "error",
  error: new ApiError("x", {
    status,
    reason: extra.reason ?? "",
    retryAfterMs: extra.retryAfterMs,
    body: extra.cause === undefined ? undefined : { details: { causes: [{ reason: extra.cause }] } },
  }),
});
const ended = (end: WatchEnd, more: Partial<Extract<Outcome, { of: "watch" }>> = {}): Outcome => ({
  of: "watch",
  end,
  resourceVersion: "9",
  events: 3,
  durationMs: 300_000,
  ...more,
});
const failing: Memory = { ...INITIAL_MEMORY, failures: 2, lastFailureMs: 0 };
const listing: Memory = { ...INITIAL_MEMORY, listUntilMs: Number.POSITIVE_INFINITY };

interface Row {
  readonly when: string;
  readonly state?: ReflectorState;
  readonly outcome: Outcome;
  readonly memory?: Memory;
  readonly next: ReflectorState;
  readonly delayMs: number;
  readonly reason: string | undefined;
}

const resumed: ReflectorState = { at: "watch", resourceVersion: "9" };
const rows: readonly Row[] = [
  { when: "the server closed", outcome: ended({ reason: "closed" }), next: resumed, delayMs: 0, reason: "closed" },
  { when: "the stream went silent", outcome: ended({ reason: "idle" }), next: resumed, delayMs: 0, reason: "idle" },
  {
    when: "a second stream in a row was silent from its first moment, as after a restore of etcd",
    outcome: ended({ reason: "idle" }, { resourceVersion: "7", events: 0 }),
    memory: { ...INITIAL_MEMORY, silent: 1 },
    next: { at: "watch-list" },
    delayMs: 0,
    reason: "gone",
  },
  {
    when: "a first stream was silent from its first moment",
    outcome: ended({ reason: "idle" }, { resourceVersion: "7", events: 0 }),
    next: watching,
    delayMs: 0,
    reason: "idle",
  },
  {
    when: "a stream went silent after a bookmark, and the one before was silent",
    outcome: ended({ reason: "idle" }, { events: 0 }),
    memory: { ...INITIAL_MEMORY, silent: 1 },
    next: resumed,
    delayMs: 0,
    reason: "idle",
  },
  { when: "the server overran", outcome: ended({ reason: "expired" }), next: resumed, delayMs: 0, reason: "expired" },
  {
    when: "it closed within a second without an event",
    outcome: ended({ reason: "closed" }, { durationMs: 999, events: 0 }),
    next: resumed,
    delayMs: 800,
    reason: "short",
  },
  {
    when: "it closed within a second after an event",
    outcome: ended({ reason: "closed" }, { durationMs: 999, events: 1 }),
    next: resumed,
    delayMs: 0,
    reason: "closed",
  },
  {
    when: "it closed after exactly a second",
    outcome: ended({ reason: "closed" }, { durationMs: 1000, events: 0 }),
    next: resumed,
    delayMs: 0,
    reason: "closed",
  },
  {
    when: "a frame made no sense",
    outcome: ended({ reason: "decode", error: new DecodeError("x") }),
    next: resumed,
    delayMs: 800,
    reason: "decode",
  },
  { when: "the version is gone", outcome: ended(error(410)), next: { at: "watch-list" }, delayMs: 0, reason: "gone" },
  {
    when: "the version is gone, said as a reason",
    outcome: ended(error(500, { reason: "Expired" })),
    next: { at: "watch-list" },
    delayMs: 0,
    reason: "gone",
  },
  {
    when: "the version is gone again and again",
    outcome: ended(error(410)),
    memory: failing,
    next: { at: "watch-list" },
    delayMs: 3200,
    reason: "gone",
  },
  {
    when: "the version is gone on a server without watch-list",
    outcome: ended(error(410)),
    memory: listing,
    next: { at: "list" },
    delayMs: 0,
    reason: "gone",
  },
  {
    when: "our version is ahead of a restored server",
    outcome: ended(error(504, { cause: "ResourceVersionTooLarge" })),
    next: { at: "watch-list" },
    delayMs: 0,
    reason: "gone",
  },
  { when: "the server failed", outcome: ended(error(500)), next: resumed, delayMs: 800, reason: "error" },
  { when: "the network failed", outcome: ended(error(0)), next: resumed, delayMs: 800, reason: "error" },
  { when: "we may not watch", outcome: ended(error(403)), next: resumed, delayMs: 800, reason: "error" },
  { when: "we are throttled", outcome: ended(error(429)), next: resumed, delayMs: 800, reason: "throttled" },
  {
    when: "we are told how long to wait",
    outcome: ended(error(429, { retryAfterMs: 5000 })),
    next: resumed,
    delayMs: 5000,
    reason: "throttled",
  },
  {
    when: "watch-list is invalid",
    state: { at: "watch-list" },
    outcome: ended(error(422), { resourceVersion: undefined }),
    next: { at: "list" },
    delayMs: 0,
    reason: "error",
  },
  {
    when: "watch-list is a bad request",
    state: { at: "watch-list" },
    outcome: ended(error(400), { resourceVersion: undefined }),
    next: { at: "list" },
    delayMs: 0,
    reason: "error",
  },
  {
    when: "an ordinary watch is a bad request",
    outcome: ended(error(400)),
    next: resumed,
    delayMs: 800,
    reason: "error",
  },
  {
    when: "watch-list is not known",
    state: { at: "watch-list" },
    outcome: { of: "unsupported" },
    next: { at: "list" },
    delayMs: 0,
    reason: "error",
  },
  {
    when: "a first list was cut",
    state: { at: "watch-list" },
    outcome: ended({ reason: "closed" }, { resourceVersion: undefined }),
    next: { at: "watch-list" },
    delayMs: 0,
    reason: "closed",
  },
  {
    when: "a first list was cut for the third time in a row",
    state: { at: "watch-list" },
    outcome: ended({ reason: "closed" }, { resourceVersion: undefined }),
    memory: { ...INITIAL_MEMORY, unmarked: 2 },
    next: { at: "list" },
    delayMs: 0,
    reason: "unmarked",
  },
  {
    when: "the end of a first list was not marked in time",
    state: { at: "watch-list" },
    outcome: ended({ reason: "unmarked" }, { resourceVersion: undefined }),
    next: { at: "list" },
    delayMs: 0,
    reason: "unmarked",
  },
  {
    when: "a first list ended in an error for the third time",
    state: { at: "watch-list" },
    outcome: ended(error(500), { resourceVersion: undefined }),
    memory: { ...INITIAL_MEMORY, unmarked: 2 },
    next: { at: "list" },
    delayMs: 0,
    reason: "unmarked",
  },
  ...[0, 401, 403, 429, 503].map((status) => ({
    when: `a server that is busy or away (${status}) refused a first list for the third time`,
    state: { at: "watch-list" } as const,
    outcome: ended(error(status), { resourceVersion: undefined }),
    memory: { ...INITIAL_MEMORY, unmarked: 2 },
    next: { at: "watch-list" } as const,
    delayMs: 800,
    reason: status === 429 ? "throttled" : "error",
  })),
  {
    when: "a first list was cut at once, with events",
    state: { at: "watch-list" },
    outcome: ended({ reason: "closed" }, { resourceVersion: undefined, durationMs: 5 }),
    next: { at: "watch-list" },
    delayMs: 800,
    reason: "short",
  },
  {
    when: "a watch brought the same events and closed within a second",
    outcome: ended({ reason: "closed" }, { resourceVersion: "7", durationMs: 5 }),
    next: watching,
    delayMs: 800,
    reason: "short",
  },
  {
    when: "an hour of lists is over",
    outcome: ended(error(410)),
    memory: { ...INITIAL_MEMORY, listUntilMs: 10_000 },
    next: { at: "watch-list" },
    delayMs: 0,
    reason: "gone",
  },
  {
    when: "a list is done",
    state: { at: "list" },
    outcome: { of: "list", resourceVersion: "12" },
    next: { at: "watch", resourceVersion: "12" },
    delayMs: 0,
    reason: undefined,
  },
  {
    when: "a list failed",
    state: { at: "list" },
    outcome: { of: "list-failed", error: new ApiError("x", { status: 503, reason: "" }) },
    memory: listing,
    next: { at: "list" },
    delayMs: 800,
    reason: "error",
  },
  {
    when: "a list expired between its pages",
    state: { at: "list" },
    outcome: { of: "list-failed", error: new ApiError("x", { status: 410, reason: "Expired" }) },
    memory: listing,
    next: { at: "list" },
    delayMs: 0,
    reason: "gone",
  },
];

describe("the step of a reflector", () => {
  test.each(rows)("when $when", ({ state = watching, outcome, memory = INITIAL_MEMORY, next, delayMs, reason }) => {
    const result = step(state, outcome, memory, 10_000, () => 0);
    expect({ next: result.state, delayMs: result.delayMs, reason: result.reason }).toEqual({ next, delayMs, reason });
  });

  test("doubles the delay to its cap, and spreads it after the cap", () => {
    let memory = INITIAL_MEMORY;
    const delays: number[] = [];
    for (let at = 0; at < 8; at += 1) {
      const next = step(watching, ended(error(500)), memory, at, () => 0.5);
      delays.push(next.delayMs);
      memory = next.memory;
    }
    expect(delays).toEqual([1200, 2400, 4800, 9600, 19_200, 38_400, 45_000, 45_000]);
  });

  test("begins anew after more than two healthy minutes, not after exactly two", () => {
    const at = (nowMs: number): number => step(watching, ended(error(500)), failing, nowMs, () => 0).delayMs;
    expect([at(120_000), at(120_001)]).toEqual([3200, 800]);
  });

  test("lists for an hour where the mark was lost, and forgets cuts once a first list is whole", () => {
    const lost = step(
      { at: "watch-list" },
      ended({ reason: "unmarked" }, { resourceVersion: undefined }),
      failing,
      5,
      () => 0,
    );
    expect(lost.memory).toMatchObject({ listUntilMs: 3_600_005, unmarked: 0 });
    const whole = step({ at: "watch-list" }, ended({ reason: "closed" }), { ...failing, unmarked: 2 }, 5, () => 0);
    expect(whole.memory.unmarked).toBe(0);
  });

  test("remembers that watch-list was refused", () => {
    const { memory } = step({ at: "watch-list" }, { of: "unsupported" }, INITIAL_MEMORY, 0, () => 0);
    expect(memory.listUntilMs).toBe(Number.POSITIVE_INFINITY);
  });
});
