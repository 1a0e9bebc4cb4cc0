import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../base/testing/runs.ts";
import { DEBUG_SESSION_STATES, type DebugSessionState } from "../../../contract/debug-sessions/debug-sessions.ts";
import { asOf, isOver, moved, type SessionState } from "./state.ts";

const END_MS = 60_000;
const at = (ms: number): Date => new Date(Date.UTC(2100, 0, 1) + ms);
const session: SessionState = { state: "pending", error: null, closeReason: null, expiresAt: at(END_MS) };

/** The arrows of §6, in its own order. */
const ARROWS = new Set([
  "pending running",
  "pending stopping",
  "running stopping",
  "stopping stopped",
  "pending failed",
  "running failed",
  "stopping failed",
]);

describe("a debug session", () => {
  it("expires at the instant of its end, in every state that is not over", () => {
    for (const state of DEBUG_SESSION_STATES) {
      expect(asOf({ ...session, state }, at(END_MS - 1)).state).toBe(state);
      expect(asOf({ ...session, state }, at(END_MS)).state).toBe(isOver(state) ? state : "expired");
    }
  });

  it("lives by its table and no other way", () => {
    type Step = { readonly to: DebugSessionState; readonly waitMs: number };
    const step: fc.Arbitrary<Step> = fc.record({
      to: fc.constantFrom(...DEBUG_SESSION_STATES),
      waitMs: fc.constantFrom(0, 1, 1000, 30_000, END_MS - 1),
    });
    // Together they come through each state.
    const ways: Step[][] = [
      (["running", "stopping", "stopped"] as const).map((to) => ({ to, waitMs: 0 })),
      (["pending", "failed"] as const).map((to) => ({ to, waitMs: 0 })),
      [{ to: "expired", waitMs: END_MS }],
    ];
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let real = session;
        let twin: DebugSessionState = "pending";
        let nowMs = 0;
        for (const { to, waitMs } of steps) {
          nowMs += waitMs;
          if (nowMs >= END_MS && !["stopped", "expired", "failed"].includes(twin)) twin = "expired";
          const before = asOf(real, at(nowMs));
          expect(before.state).toBe(twin);
          const next = moved(before, to, { closeReason: "killed" });
          expect(next !== undefined, `${twin} ${to}`).toBe(to === twin || ARROWS.has(`${twin} ${to}`));
          if (next === undefined) continue;
          expect(before.closeReason === null || next.closeReason === before.closeReason).toBe(true);
          real = next;
          twin = to;
          seen.add(twin);
        }
      }),
      { numRuns: runs(3000), examples: ways.map((way) => [way]) },
    );
    expect(seen).toEqual(new Set(DEBUG_SESSION_STATES));
  });
});
