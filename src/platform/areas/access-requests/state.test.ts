import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ACCESS_REQUEST_STATUSES,
  type AccessRequestStatus,
  EXECUTION_STATES,
  type ExecutionState,
} from "../../../contract/access-requests/access-requests.ts";
import { afterMove, hasLapsed, lapsesAt, MOVE_NAMES, type Move, moved, REPORT_GRACE_MS, type State } from "./state.ts";

const NOW = new Date("2026-03-01T12:00:00.000Z");
const at = (offsetMs: number): Date => new Date(NOW.getTime() + offsetMs);

function state(status: AccessRequestStatus, execution: ExecutionState = "idle", change: Partial<State> = {}): State {
  return { status, execution, decideBefore: at(3_600_000), approvedUntil: null, ...change };
}

describe("the state table", () => {
  // Every legal move of §2.5; what is not here must be refused.
  const legal = new Map<string, AccessRequestStatus>([
    ["pending-approval queue", "queued"],
    ["pending-approval reject", "rejected"],
    ["pending-approval lapse", "expired"],
    ["queued reject", "rejected"],
    ["queued approve", "customer-approved"],
    ["queued deny", "rejected"],
    ["queued expire", "expired"],
    ["queued lapse", "expired"],
    ["customer-approved revoke", "rejected"],
    ["customer-approved expire", "expired"],
    ["customer-approved lapse", "expired"],
  ]);
  const rows = ACCESS_REQUEST_STATUSES.flatMap((status) =>
    MOVE_NAMES.map((move): [AccessRequestStatus, Move, AccessRequestStatus | undefined] => [
      status,
      move,
      legal.get(`${status} ${move}`),
    ]),
  );

  it.each(rows)("%s, %s → %s", (status, move, to) => {
    expect(afterMove(state(status), move, NOW)?.status).toBe(to);
  });

  it.each<[AccessRequestStatus, "queue" | "reject", readonly AccessRequestStatus[]]>([
    ["queued", "queue", ["rejected"]],
    ["customer-approved", "reject", []],
    ["expired", "queue", []],
  ])("a refusal at %s lists what the vendor can do from there", (from, move, allowed) => {
    const to = move === "queue" ? "queued" : "rejected";
    const detail = expect.objectContaining({ context: { from, to, allowed } });
    expect(() => moved(state(from), move, NOW)).toThrowError(
      expect.objectContaining({ code: "INVALID_STATE_TRANSITION", detail }),
    );
  });
});

describe("leaving customer-approved", () => {
  const open = { approvedUntil: at(1) };
  const closed = { approvedUntil: at(0) };
  it.each<[ExecutionState, Move, Partial<State>, ExecutionState | undefined]>([
    ["idle", "revoke", open, "stopped"],
    ["running", "revoke", open, "stopped"],
    ["running", "expire", open, "stopped"],
    ["running", "lapse", closed, "stopped"],
    ["succeeded", "revoke", open, "succeeded"],
    ["failed", "revoke", open, "failed"],
    ["succeeded", "revoke", closed, undefined],
    ["succeeded", "expire", open, undefined],
    ["failed", "expire", closed, undefined],
    ["succeeded", "lapse", closed, undefined],
  ])("execution %s, %s → %s", (execution, move, window, expected) => {
    expect(afterMove(state("customer-approved", execution, window), move, NOW)?.execution).toBe(expected);
  });

  it("does not touch the execution of a request that nobody approved", () => {
    expect(afterMove(state("queued"), "deny", NOW)?.execution).toBe("idle");
  });
});

describe("lapse", () => {
  const decideBefore = at(-REPORT_GRACE_MS);
  it.each<[string, State, number, boolean]>([
    ["undecided, last millisecond of the grace", state("queued", "idle", { decideBefore }), -1, false],
    ["undecided, grace over", state("queued", "idle", { decideBefore }), 0, true],
    ["never queued, grace over", state("pending-approval", "idle", { decideBefore }), 0, true],
    ["approved, last millisecond", state("customer-approved", "running", { approvedUntil: NOW }), -1, false],
    ["approved, window over", state("customer-approved", "running", { approvedUntil: NOW }), 0, true],
    ["approved and idle (debug)", state("customer-approved", "idle", { approvedUntil: NOW }), 0, true],
    ["approved and succeeded", state("customer-approved", "succeeded", { approvedUntil: NOW }), 1e9, false],
    ["approved and failed", state("customer-approved", "failed", { approvedUntil: NOW }), 1e9, false],
    ["rejected", state("rejected", "stopped", { approvedUntil: NOW, decideBefore }), 1e9, false],
    ["expired", state("expired", "stopped", { approvedUntil: NOW, decideBefore }), 1e9, false],
    [
      "approved in time though decideBefore is over",
      state("customer-approved", "running", { decideBefore, approvedUntil: at(60_000) }),
      0,
      false,
    ],
  ])("%s", (_, subject, offsetMs, expected) => {
    expect(hasLapsed(subject, at(offsetMs))).toBe(expected);
  });
});

describe("laws", () => {
  const anyState = fc.record({
    status: fc.constantFrom(...ACCESS_REQUEST_STATUSES),
    execution: fc.constantFrom(...EXECUTION_STATES),
    decideBefore: fc.integer({ min: -1e7, max: 1e7 }).map(at),
    approvedUntil: fc.option(fc.integer({ min: -1e7, max: 1e7 }).map(at)),
  });
  const anyMove = fc.constantFrom(...MOVE_NAMES);

  it("nothing leaves rejected or expired", () => {
    fc.assert(
      fc.property(anyState, anyMove, (subject, move) => {
        if (subject.status !== "rejected" && subject.status !== "expired") return;
        expect(afterMove(subject, move, NOW)).toBeUndefined();
        expect(lapsesAt(subject)).toBeUndefined();
      }),
    );
  });

  it("no move changes a window, and none but approve opens one", () => {
    fc.assert(
      fc.property(anyState, anyMove, (subject, move) => {
        const next = afterMove(subject, move, NOW);
        if (next === undefined) return;
        expect(next.approvedUntil).toBe(subject.approvedUntil);
        expect(next.status === "customer-approved").toBe(move === "approve");
      }),
    );
  });

  it("what has lapsed can be lapsed, once", () => {
    fc.assert(
      fc.property(anyState, (subject) => {
        if (!hasLapsed(subject, NOW)) return;
        const next = afterMove(subject, "lapse", NOW);
        expect(next?.status).toBe("expired");
        if (next !== undefined) expect(hasLapsed(next, new Date(8.64e15))).toBe(false);
      }),
    );
  });
});
