import fc from "fast-check";
import { describe, expect, it } from "vitest";
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
    const done = afterReport(draining, "drained", at(2), at(2));
    expect([done.status, wanted(done)]).toEqual(["drained", undefined]);
    const cancelled = drainCancelled(done, at(3)) ?? done;
    expect([cancelled.status, wanted(cancelled)?.action]).toEqual(["not-ready", "cancel-drain"]);
    expect(afterReport(cancelled, "draining", at(4), at(4)).status).toBe("not-ready");
    const free = afterReport(cancelled, "ready", at(5), at(5));
    expect([free.status, wanted(free)]).toEqual(["ready", undefined]);
  });
});

/** The table of §10.3 as a set of moves, and the wishes as plain flags. */
interface Twin {
  wish: "none" | "drain" | "remove";
  done: boolean;
  gone: boolean;
}

type Move =
  | { readonly kind: "drain" | "cancel" | "remove" | "absent" }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "report"; readonly said: MachineStatus };

const move: fc.Arbitrary<Move> = fc.oneof(
  fc.constantFrom<Move>({ kind: "drain" }, { kind: "cancel" }, { kind: "remove" }, { kind: "absent" }),
  fc.constantFrom(1, 1000, STALE_MS - 1, STALE_MS, STALE_MS + 1).map((ms): Move => ({ kind: "wait", ms })),
  fc.constantFrom(...MACHINE_STATUSES).map((said): Move => ({ kind: "report", said })),
);

describe("any life of a machine", () => {
  it("keeps the platform's wishes until they end or are cancelled, and refuses what the table does not have", () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        let state = ready;
        let nowMs = 0;
        const twin: Twin = { wish: "none", done: false, gone: false };
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
              if (seen.status !== "drained") twin.wish = "drain";
              state = next;
              break;
            }
            case "cancel": {
              const next = drainCancelled(seen, now);
              expect(next === undefined).toBe(twin.wish === "remove");
              if (next === undefined) break;
              Object.assign(twin, { wish: "none", done: false });
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
              state = "said" in each ? afterReport(state, each.said, now, now) : afterAbsence(state, now);
              if (twin.wish === "remove") twin.gone = !("said" in each) || each.said === "removed";
              if (twin.wish === "drain" && "said" in each && each.said === "drained") twin.done = true;
              break;
          }
          const shown = asOf(state, at(nowMs)).status;
          if (twin.wish === "remove") expect(shown).toBe(twin.gone ? "removed" : "terminating");
          else expect(["terminating", "removed"]).not.toContain(shown);
          if (twin.wish === "drain") expect(["draining", "drained", "unreachable"]).toContain(shown);
          const todo = {
            none: undefined,
            drain: twin.done ? undefined : "drain",
            remove: twin.gone ? undefined : "remove",
          };
          const action = wanted(state)?.action;
          expect(action === "cancel-drain" ? undefined : action).toBe(todo[twin.wish]);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
