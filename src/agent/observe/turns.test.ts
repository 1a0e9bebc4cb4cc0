import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { ObservedResource } from "../../contract/resources/resource-heartbeat.ts";
import { Ledger } from "./ledger.ts";
import { reportParts } from "./report-parts.ts";
import { Turns } from "./turns.ts";

/** Each reading costs 1 ms, as if the piece of work before it had. */
class BusyClock extends FakeClock {
  readings = 0;
  override monotonicMs(): number {
    this.readings += 1;
    return this.readings;
  }
}

function row(name: string): ObservedResource {
  return {
    ...{ rawIdentity: name, providerKind: "Deployment", displayName: name },
    ...{ health: "healthy", lifecycle: "running", partial: false, providerStale: false },
  };
}

test("others run once ten milliseconds are used up", async () => {
  const turns = new Turns(new BusyClock("2026-01-01T00:00:00Z"), new AbortController().signal);
  const pauses = Array.from({ length: 9 }, () => turns.next());
  expect(pauses.every((each) => each === undefined)).toBe(true);
  expect(turns.next()).toBeInstanceOf(Promise);
});

test("work that is cut off ends at the next pause", async () => {
  const abort = new AbortController();
  const turns = new Turns(new BusyClock("2026-01-01T00:00:00Z"), abort.signal);
  for (let piece = 0; piece < 9; piece += 1) await turns.next();
  const pause = turns.next();
  abort.abort(new Error("stopped"));
  await expect(pause).rejects.toThrow("stopped");
});

test("a report of 2,000 rows is put together in slices", async () => {
  const clock = new BusyClock("2026-01-01T00:00:00Z");
  const ledger = new Ledger<string>();
  ledger.scope("all", true);
  for (let count = 0; count < 2_000; count += 1)
    ledger.observe("all", `w-${count}`, { row: row(`w-${count}`), heartbeat: undefined });
  let longest = 0;
  let before = clock.readings;
  let isDone = false;
  const others = (): void => {
    longest = Math.max(longest, clock.readings - before);
    before = clock.readings;
    if (!isDone) setImmediate(others);
  };
  setImmediate(others);
  const turns = new Turns(clock, new AbortController().signal);
  const parts = await reportParts(ledger, ["all"], { full: true, observedAt: "2026-01-01T00:00:00Z" }, turns);
  isDone = true;
  expect(parts.flatMap(({ changes }) => changes)).toHaveLength(2_000);
  expect(clock.readings).toBeGreaterThan(2_000);
  expect(longest).toBeLessThanOrEqual(12);
});
