import fc from "fast-check";
import { expect, it } from "vitest";
import { FakeClock } from "../../../base/testing/fake-clock.ts";
import { RateLimiter } from "./rate-limit.ts";

const RATE = { perMinute: 60, burst: 5 };

it("never allows more than the burst and what has trickled in since, and never much less", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 60 }), (gapsMs) => {
      const clock = new FakeClock();
      const limiter = new RateLimiter(clock);
      const allowedAt: number[] = [];
      for (const gapMs of gapsMs) {
        clock.advance(gapMs);
        const before = allowedAt.length;
        const { allowed, remaining, retryAfterSeconds } = limiter.take("a", RATE);
        if (allowed) allowedAt.push(clock.monotonicMs());
        // No request is refused while the last minute's window has room for it.
        const recent = allowedAt.slice(0, before).filter((at) => at > clock.monotonicMs() - 5000).length;
        if (!allowed) expect(recent).toBeGreaterThan(0);
        expect(remaining).toBeLessThanOrEqual(RATE.burst);
        expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
      }
      for (const [i, from] of allowedAt.entries()) {
        const untilMs = from + 10_000;
        const within = allowedAt.slice(i).filter((at) => at <= untilMs).length;
        expect(within).toBeLessThanOrEqual(RATE.burst + 10);
      }
    }),
  );
});

it("is full again after the reset that it tells", () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter(clock);
  for (let i = 0; i < 5; i += 1) limiter.take("a", RATE);
  const refused = limiter.take("a", RATE);
  expect(refused).toMatchObject({ allowed: false, remaining: 0, resetSeconds: 5, retryAfterSeconds: 1 });
  clock.advance(1000);
  expect(limiter.take("a", RATE).allowed).toBe(true);
});

it("forgets the caller that was silent longest, and never holds more than its bound", () => {
  const limiter = new RateLimiter(new FakeClock(), 2);
  limiter.take("a", RATE);
  limiter.take("b", RATE);
  limiter.take("a", RATE);
  limiter.take("c", RATE);
  expect(limiter.size).toBe(2);
  expect(limiter.take("a", RATE).remaining).toBe(2);
  expect(limiter.take("b", RATE).remaining).toBe(4);
});
