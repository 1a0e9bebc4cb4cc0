import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CONFIRMED_LEASE_MS, PROVISIONAL_LEASE_MS } from "../../../../contract/deployments/sync.ts";
import { FREE, grant, holder, type Lease, released, renewed, reportLock } from "./lease.ts";

const at = (ms: number): Date => new Date(1_800_000_000_000 + ms);

describe("a lease", () => {
  it("is provisional for exactly 60 s, and for 5 min from each renew", () => {
    const first = grant("a", at(0));
    expect(holder(first, at(PROVISIONAL_LEASE_MS - 1))).toBe("a");
    expect(holder(first, at(PROVISIONAL_LEASE_MS))).toBeUndefined();
    const confirmed = renewed(first, "a", at(1000)) ?? FREE;
    expect(holder(confirmed, at(1000 + CONFIRMED_LEASE_MS - 1))).toBe("a");
    expect(holder(confirmed, at(1000 + CONFIRMED_LEASE_MS))).toBeUndefined();
    expect(renewed(confirmed, "a", at(1000 + CONFIRMED_LEASE_MS))).toBeUndefined();
  });

  it.each([
    ["push", null, "none", "session-required"],
    ["push", "a", "none", "LEASE_LOST"],
    ["push", "a", "mine", "allowed"],
    ["push", "b", "mine", "LEASE_LOST"],
    ["pull", null, "none", "allowed"],
    ["pull", null, "mine", "allowed"],
    ["pull", null, "confirmed", "DEPLOYMENT_LOCKED"],
    ["pull", "a", "confirmed", "allowed"],
    ["pull", "b", "confirmed", "LEASE_LOST"],
    ["pull", "a", "lapsed", "LEASE_LOST"],
    ["pull", null, "lapsed", "allowed"],
  ] as const)("a %s report of session %s on a lease that is %s: %s", (model, session, which, expected) => {
    const leases: Record<typeof which, Lease> = {
      none: FREE,
      mine: grant("a", at(0)),
      confirmed: renewed(grant("a", at(0)), "a", at(0)) ?? FREE,
      lapsed: renewed(grant("a", at(-CONFIRMED_LEASE_MS)), "a", at(-CONFIRMED_LEASE_MS)) ?? FREE,
    };
    expect(reportLock(leases[which], { session, model }, at(0))).toBe(expected);
  });

  it("whatever sessions and time do, one session holds it or none, and only its holder renews or gives it back", () => {
    const session = fc.constantFrom("a", "b", "c");
    const step = fc.record({ session, waitMs: fc.nat(90_000), act: fc.constantFrom("acquire", "renew", "release") });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        let lease = FREE;
        let nowMs = 0;
        // The naive twin: who holds it, and until when.
        let model: { by: string; untilMs: number } | undefined;
        for (const { session, waitMs, act } of steps) {
          nowMs += waitMs;
          const now = at(nowMs);
          if (model !== undefined && nowMs >= model.untilMs) model = undefined;
          expect(holder(lease, now)).toBe(model?.by);
          if (act === "acquire" && model === undefined) {
            lease = grant(session, now);
            model = { by: session, untilMs: nowMs + PROVISIONAL_LEASE_MS };
          } else if (act === "renew") {
            const next = renewed(lease, session, now);
            expect(next !== undefined).toBe(model?.by === session);
            lease = next ?? lease;
            if (model?.by === session) model = { by: session, untilMs: nowMs + CONFIRMED_LEASE_MS };
          } else if (act === "release") {
            lease = released(lease, session, now);
            if (model?.by === session) model = undefined;
          }
        }
      }),
    );
  });
});
