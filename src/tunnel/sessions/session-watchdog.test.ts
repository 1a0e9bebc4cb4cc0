import { beforeEach, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { SessionWatchdog, type WatchdogOptions } from "./session-watchdog.ts";

let clock: FakeClock;
let ends: string[];
let byteMs: number;
let heardMs: number | undefined;

beforeEach(() => {
  [clock, ends, byteMs, heardMs] = [new FakeClock(), [], 0, 0];
});

function watchdog(more: Partial<WatchdogOptions> = {}): SessionWatchdog {
  return new SessionWatchdog({
    ...{ clock, leftMs: 600_000, idleMs: 120_000, lastClientByteMs: () => byteMs, heardMs: undefined },
    ...{ onEnd: (reason) => ends.push(reason), ...more },
  });
}

test("a session ends at its time, once, and leaves no timer", () => {
  watchdog({ idleMs: 10_000_000 });
  clock.advance(599_000);
  expect(ends).toEqual([]);
  clock.advance(600_000);
  expect([ends, clock.pending]).toEqual([["expired"], 0]);
});

test("its time can come nearer, and never goes away", () => {
  const dog = watchdog({ idleMs: 10_000_000 });
  dog.shorten(5_000_000);
  expect(dog.leftMs).toBe(600_000);
  dog.shorten(5_000);
  clock.advance(5_000);
  expect(ends).toEqual(["expired"]);
});

test("a time that is none changes nothing, and from the start it ends the session", () => {
  const dog = watchdog({ idleMs: 10_000_000 });
  dog.shorten(Number.NaN);
  expect(dog.leftMs).toBe(600_000);
  dog.stop();
  watchdog({ leftMs: Number.NaN });
  clock.advance(1_000);
  expect(ends).toEqual(["expired"]);
});

test("a byte from the engineer begins the idle time anew", () => {
  watchdog();
  clock.advance(119_000);
  byteMs = clock.monotonicMs();
  clock.advance(119_000);
  expect(ends).toEqual([]);
  clock.advance(1_000);
  expect(ends).toEqual(["idle"]);
});

test("where it is strict, a silent API server ends it after 30 s", () => {
  watchdog({ heardMs: () => heardMs });
  clock.advance(29_000);
  heardMs = clock.monotonicMs();
  clock.advance(29_000);
  expect(ends).toEqual([]);
  clock.advance(1_000);
  expect(ends).toEqual(["policy-stale"]);
});

test("a stopped one says nothing", () => {
  watchdog().stop();
  clock.advance(10_000_000);
  expect([ends, clock.pending]).toEqual([[], 0]);
});
