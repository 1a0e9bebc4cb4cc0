import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { CAP_MS, CLOSED_SPREAD_MS, RETRY_AFTER_CAP_MS, ReconnectRule, STABLE_MS } from "./reconnect-rule.ts";

const highest = (): number => 1;

describe("the delay", () => {
  test("has a ceiling that doubles from one second to five minutes", () => {
    const rule = new ReconnectRule(new FakeClock(), highest);
    const delays = Array.from({ length: 12 }, () => rule.failed());
    expect(delays.map((ms) => ms / 1_000)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
  });

  test("is spread from zero to the ceiling", () => {
    const rule = new ReconnectRule(new FakeClock(), () => 0);
    expect([rule.failed(), rule.failed(), rule.closed()]).toEqual([0, 0, 0]);
  });

  test("is at least Retry-After, up to 15 minutes", () => {
    const rule = new ReconnectRule(new FakeClock(), () => 0.5);
    expect(rule.failed(20_000)).toBe(20_000);
    expect(rule.failed(100 * 60_000)).toBe(RETRY_AFTER_CAP_MS);
  });

  test("after the server closed is up to half a minute, whatever failed before", () => {
    const rule = new ReconnectRule(new FakeClock(), highest);
    for (let n = 0; n < 9; n += 1) rule.failed();
    expect(rule.closed()).toBe(CLOSED_SPREAD_MS);
  });
});

describe("failures are forgotten", () => {
  const afterConnectionOf = (ms: number): number => {
    const clock = new FakeClock();
    const rule = new ReconnectRule(clock, highest);
    for (let n = 0; n < 5; n += 1) rule.failed();
    rule.connected();
    clock.advance(ms);
    rule.connected();
    return rule.failed();
  };
  test("after 60 s of connection", () => expect(afterConnectionOf(STABLE_MS)).toBe(1_000));
  test("not a millisecond before", () => expect(afterConnectionOf(STABLE_MS - 1)).toBe(32_000));
});

test("no history makes a delay that is negative, endless or above both caps", () => {
  const step = fc.oneof(
    fc.constant({ do: "connected" as const }),
    fc.record({ do: fc.constant("failed" as const), retryAfterMs: fc.nat(10_000_000) }),
    fc.constant({ do: "closed" as const }),
    fc.record({ do: fc.constant("advance" as const), ms: fc.nat(200_000) }),
  );
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60, size: "max" }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (steps, random) => {
        const clock = new FakeClock();
        const rule = new ReconnectRule(clock, () => random);
        for (const each of steps) {
          if (each.do === "advance") clock.advance(each.ms);
          else if (each.do === "connected") rule.connected();
          else {
            const ms = each.do === "failed" ? rule.failed(each.retryAfterMs) : rule.closed();
            expect(ms).toBeGreaterThanOrEqual(0);
            expect(ms).toBeLessThanOrEqual(Math.max(CAP_MS, RETRY_AFTER_CAP_MS));
          }
        }
      },
    ),
  );
});
