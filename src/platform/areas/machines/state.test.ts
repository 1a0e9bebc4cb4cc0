import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../base/testing/runs.ts";
import { MACHINE_STATUSES, type MachineStatus } from "../../../contract/machines/machine.ts";
import {
  afterAbsence,
  afterReport,
  asOf,
  drainCancelled,
  drained,
  type MachineState,
  NO_WISHES,
  removed,
  wanted,
} from "./state.ts";

const at = (ms: number): Date => new Date(Date.UTC(2100, 0, 1) + ms);
const ready: MachineState = {
  ...{ status: "ready", statusSince: at(0), lastHeartbeat: at(0), reported: "ready", revision: 0 },
  ...NO_WISHES,
};
const STALE_MS = 180_000;
const heard = (state: MachineState, status: MachineStatus, ms: number, hasDrain = false): MachineState =>
  afterReport(state, { status, lastHeartbeat: at(ms), hasDrain }, at(ms));

describe("a machine", () => {
  it("is unreachable a millisecond after its 180 s of silence, and since its last word", () => {
    expect(asOf(ready, at(STALE_MS)).status).toBe("ready");
    expect(asOf(ready, at(STALE_MS + 1))).toMatchObject({ status: "unreachable", statusSince: at(0) });
  });

  it("is not judged by silence once it is drained or leaves", () => {
    for (const status of ["drained", "terminating", "removed"] as const) {
      expect(asOf({ ...ready, status }, at(10 * STALE_MS)).status).toBe(status);
    }
  });

  it("a second drain can only hasten the first", () => {
    const first = drained(ready, { deadlineAt: at(60_000), force: false }, at(1)) ?? ready;
    const later = drained(first, { deadlineAt: at(90_000), force: true }, at(2)) ?? ready;
    expect(later).toMatchObject({ drainRequestedAt: at(1), drainDeadlineAt: at(60_000), drainForce: true });
    const never = drained(later, { deadlineAt: null, force: false }, at(3)) ?? ready;
    expect(never).toMatchObject({ drainDeadlineAt: at(60_000), drainForce: true, revision: later.revision });
  });

  it("may be removed at the instant at which it has been not ready for 180 s", () => {
    const broken = { ...ready, status: "not-ready" } as const;
    expect(removed(broken, at(STALE_MS - 1))).toBeUndefined();
    expect(removed(broken, at(STALE_MS))).toMatchObject({ status: "terminating" });
    expect(removed(ready, at(10 * STALE_MS))).toBeUndefined();
  });

  it("a drain is told until it is reported done, its cancel until it is reported over", () => {
    const draining = drained(ready, { deadlineAt: null, force: false }, at(1)) ?? ready;
    expect(wanted(draining)?.action).toBe("drain");
    const done = heard(draining, "drained", 2, true);
    expect([done.status, wanted(done)]).toEqual(["drained", undefined]);
    const cancelled = drainCancelled(done, at(3)) ?? done;
    expect([cancelled.status, wanted(cancelled)?.action]).toEqual(["not-ready", "cancel-drain"]);
    expect(heard(cancelled, "draining", 4).status).toBe("not-ready");
    const free = heard(cancelled, "ready", 5);
    expect([free.status, wanted(free)]).toEqual(["ready", undefined]);
  });

  it.each<[string, MachineStatus]>([
    ["that waits", "ready"],
    ["of a machine that takes pods again", "ready"],
    ["of a machine that is silent", "unreachable"],
  ])("a drain %s is cancelled until it is not there any more", (_, said) => {
    const asked = heard(drained(ready, { deadlineAt: null, force: false }, at(1)) ?? ready, said, 2, true);
    const cancelled = drainCancelled(asked, at(3)) ?? asked;
    const still = heard(cancelled, said, 4, true);
    expect([still.status, wanted(still)?.action]).toEqual([said, "cancel-drain"]);
    expect(wanted(heard(still, said, 5))).toBeUndefined();
  });

  it("a drain that the platform does not want any more is cancelled, though its cancel seemed to be over", () => {
    const cancelled =
      drainCancelled(drained(ready, { deadlineAt: null, force: false }, at(1)) ?? ready, at(2)) ?? ready;
    const over = heard(cancelled, "ready", 3);
    expect(wanted(over)).toBeUndefined();
    const found = heard(over, "ready", 4, true);
    expect(wanted(found)).toEqual({ action: "cancel-drain", requestedAt: at(4) });
    expect(found.revision).toBe(cancelled.revision);
  });

  const word = (
    state: MachineState,
    status: MachineStatus,
    ms: number,
    wish: object,
    hasDrain = false,
  ): MachineState => {
    const said = { revision: state.revision, state: "deleted" as const, ...wish };
    return afterReport(state, { status, lastHeartbeat: at(ms), hasDrain, wish: said }, at(ms));
  };
  const draining = drained(ready, { deadlineAt: at(60_000), force: true }, at(1)) ?? ready;

  it("a drain that the customer deleted is wanted no more, and the next one is a new wish", () => {
    const passed = word(draining, "ready", 2, { state: "passed-on" }, true);
    expect([passed.passedOn, wanted(passed)?.action]).toEqual([true, "drain"]);
    // A word that was on its way when the wish was hastened.
    const hastened = drained(passed, { deadlineAt: at(30_000), force: true }, at(3)) ?? passed;
    expect([hastened.passedOn, word(hastened, "ready", 4, { revision: passed.revision })]).toEqual([
      ...[false, expect.objectContaining({ drainRequestedAt: at(1), customerCancelledAt: null })],
    ]);
    const ended = word(passed, "ready", 5, {});
    expect(ended).toEqual({ ...heard(ready, "ready", 5), statusSince: at(5), revision: 1, customerCancelledAt: at(5) });
    expect(wanted(ended)).toBeUndefined();
    const anew = drained(ended, { deadlineAt: null, force: false }, at(6)) ?? ended;
    expect(anew).toMatchObject({
      drainDeadlineAt: null,
      drainForce: false,
      customerCancelledAt: null,
      passedOn: false,
    });
    expect(drainCancelled(ended, at(6))).toBe(ended);
  });

  it("a removal that the customer deleted is over, and the machine is as it was", () => {
    const empty = word(draining, "drained", 2, { state: "passed-on" }, true);
    const leaving = word(removed(empty, at(3)) ?? empty, "drained", 4, { state: "passed-on" }, true);
    expect([leaving.status, leaving.passedOn]).toEqual(["terminating", true]);
    const stays = word(leaving, "drained", 5, {}, true);
    expect(stays).toMatchObject({ status: "drained", removalRequestedAt: null, customerCancelledAt: at(5) });
    // And when the drain that emptied it is deleted as well:
    expect(heard(stays, "ready", 6)).toMatchObject({ status: "ready", drainRequestedAt: null, drainedAt: null });
    const gone = removed({ ...ready, status: "unreachable" }, at(STALE_MS)) ?? ready;
    expect(word(gone, "unreachable", STALE_MS + 1, {})).toMatchObject({
      status: "unreachable",
      removalRequestedAt: null,
    });
  });

  it("an empty machine whose drain is there no more takes pods again", () => {
    const empty = word(draining, "drained", 2, { state: "passed-on" }, true);
    expect(heard(empty, "ready", 3, true).status).toBe("drained");
    expect(heard(empty, "unreachable", 3)).toMatchObject({ status: "unreachable", drainRequestedAt: at(1) });
    expect(heard(empty, "ready", 3)).toMatchObject({
      status: "ready",
      drainRequestedAt: null,
      customerCancelledAt: at(3),
    });
    // Of a manager that never said that the drain is there, nothing follows from its silence.
    const other = heard(draining, "drained", 2, true);
    expect(heard(other, "ready", 3).status).toBe("drained");
  });

  it("that was not there in a list, and has not joined yet, is joining and not broken", () => {
    const joining = { ...ready, status: "joining", reported: null } as const;
    expect(heard(afterAbsence(joining, at(1)), "joining", 2).status).toBe("joining");
    expect(heard(heard(ready, "unreachable", 1), "joining", 2).status).toBe("not-ready");
  });
});

/** The table of §10.3 as a set of moves, and the wishes as plain flags. */
interface Twin {
  wish: "none" | "drain" | "remove";
  done: boolean;
  gone: boolean;
  cancelled: boolean;
}

type Move =
  | { readonly kind: "drain" | "cancel" | "remove" | "absent" }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "report"; readonly said: MachineStatus; readonly hasDrain: boolean };

const move: fc.Arbitrary<Move> = fc.oneof(
  fc.constantFrom<Move>({ kind: "drain" }, { kind: "cancel" }, { kind: "remove" }, { kind: "absent" }),
  fc.constantFrom(1, 1000, STALE_MS - 1, STALE_MS, STALE_MS + 1).map((ms): Move => ({ kind: "wait", ms })),
  fc
    .tuple(fc.constantFrom(...MACHINE_STATUSES), fc.boolean())
    .map(([said, hasDrain]): Move => ({ kind: "report", said, hasDrain })),
);

describe("any life of a machine", () => {
  it("keeps the platform's wishes until they end or are cancelled, and refuses what the table does not have", () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        let state = ready;
        let nowMs = 0;
        const twin: Twin = { wish: "none", done: false, gone: false, cancelled: false };
        for (const each of moves) {
          const now = at(nowMs);
          const seen = asOf(state, now);
          switch (each.kind) {
            case "wait":
              nowMs += each.ms;
              break;
            case "drain": {
              const next = drained(seen, { deadlineAt: null, force: false }, now);
              expect(next === undefined).toBe(twin.wish === "remove");
              if (next === undefined) break;
              if (seen.status !== "drained") Object.assign(twin, { wish: "drain", cancelled: false });
              state = next;
              break;
            }
            case "cancel": {
              const next = drainCancelled(seen, now);
              expect(next === undefined).toBe(twin.wish === "remove");
              if (next === undefined) break;
              if (next !== seen) Object.assign(twin, { wish: "none", done: false, cancelled: true });
              state = next;
              expect(state.drainRequestedAt).toBeNull();
              break;
            }
            case "remove": {
              const next = removed(seen, now);
              const long = now.getTime() >= seen.statusSince.getTime() + STALE_MS;
              const idle = seen.status === "drained" || (/not-ready|unreachable/.test(seen.status) && long);
              expect(next !== undefined).toBe(idle || twin.wish === "remove");
              if (next === undefined) break;
              twin.wish = "remove";
              state = next;
              break;
            }
            case "absent":
            case "report":
              if (twin.gone) break;
              state = "said" in each ? heard(state, each.said, nowMs, each.hasDrain) : afterAbsence(state, now);
              if ("said" in each && twin.wish === "none") {
                twin.cancelled = each.hasDrain || (twin.cancelled && /^drain/.test(each.said));
              }
              if (twin.wish === "remove") twin.gone = !("said" in each) || each.said === "removed";
              if (twin.wish === "drain" && "said" in each && each.said === "drained") twin.done = true;
              break;
          }
          const shown = asOf(state, at(nowMs)).status;
          if (twin.wish === "remove") expect(shown).toBe(twin.gone ? "removed" : "terminating");
          else expect(["terminating", "removed"]).not.toContain(shown);
          if (twin.wish === "drain") expect(["draining", "drained", "unreachable"]).toContain(shown);
          const todo = {
            none: twin.cancelled ? "cancel-drain" : undefined,
            drain: twin.done ? undefined : "drain",
            remove: twin.gone ? undefined : "remove",
          };
          expect(wanted(state)?.action).toBe(todo[twin.wish]);
        }
      }),
      { numRuns: runs(3000) },
    );
  });
});
