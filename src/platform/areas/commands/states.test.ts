import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COMMAND_STATES, type CommandState } from "../../../contract/operations/commands.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import { allowedMoves, expiryOf, hasExpired, isTerminal, RESULT_GRACE_MS } from "./states.ts";
import { asOf } from "./store.ts";

const at = (ms: number): Date => new Date(1_800_000_000_000 + ms);

describe("command states", () => {
  it.each([
    ["PENDING", -1, false],
    ["PENDING", 0, true],
    ["PENDING_UPLOAD", -1, false],
    ["PENDING_UPLOAD", 0, true],
    ["DISPATCHED", 0, false],
    ["DISPATCHED", RESULT_GRACE_MS - 1, false],
    ["DISPATCHED", RESULT_GRACE_MS, true],
    ["SUCCEEDED", RESULT_GRACE_MS, false],
    ["FAILED", RESULT_GRACE_MS, false],
    ["EXPIRED", RESULT_GRACE_MS, false],
  ] as const)("%s, %i ms after the deadline: expired is %s", (state, afterMs, expired) => {
    expect(hasExpired({ state, deadline: at(0) }, at(afterMs))).toBe(expired);
  });

  it("a command without a deadline never expires", () => {
    for (const state of COMMAND_STATES) expect(hasExpired({ state, deadline: null }, at(1e12))).toBe(false);
  });

  it("terminal states go nowhere, and every other state can end", () => {
    for (const state of COMMAND_STATES) {
      const ends = allowedMoves(state).filter(isTerminal);
      expect(isTerminal(state) ? allowedMoves(state) : ends.length > 0).toEqual(isTerminal(state) ? [] : true);
    }
  });

  it("success needs a dispatch", () => {
    const before = COMMAND_STATES.filter((state) => allowedMoves(state).includes("SUCCEEDED"));
    expect(before).toEqual(["DISPATCHED"]);
  });

  it("what a read shows does not depend on whether the expiry has been written down", () => {
    const state = fc.constantFrom<CommandState>(...COMMAND_STATES);
    fc.assert(
      fc.property(state, fc.integer({ min: -1e6, max: 1e6 }), fc.nat(1e6), (state, ms, laterMs) => {
        const row = { state, deadline: at(0), completed_at: null } as unknown as CommandRow;
        const written = asOf(row, at(ms));
        expect(asOf(written, at(ms + laterMs))).toEqual(asOf(row, at(ms + laterMs)));
        if (written !== row) expect(written.completed_at).toEqual(expiryOf(row));
      }),
    );
  });
});
