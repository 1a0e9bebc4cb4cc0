import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { MAX_TIMER_MS, sleep, systemClock } from "./clock.ts";
import { DeadlineError, withDeadline } from "./deadline.ts";
import { FakeClock } from "./testing/fake-clock.ts";

test("sleep ends when its time has come", async () => {
  const clock = new FakeClock();
  const asleep = sleep(clock, 100, new AbortController().signal);
  clock.advance(100);
  await asleep;
});

test("an abort ends a sleep with its reason and leaves no timer", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const asleep = sleep(clock, 100, stop.signal);
  stop.abort("shutdown");
  await expect(asleep).rejects.toBe("shutdown");
  await expect(sleep(clock, 100, stop.signal)).rejects.toBe("shutdown");
  expect(clock.pending).toBe(0);
});

test("the real clock sleeps too", async () => {
  await sleep(systemClock, 1, new AbortController().signal);
});

test("a delay above Node's longest does not fire at once", async () => {
  let fired = false;
  const cancel = systemClock.after(MAX_TIMER_MS + 1, () => {
    fired = true;
  });
  await sleep(systemClock, 20, new AbortController().signal);
  cancel();
  expect(fired).toBe(false);
});

test("a deadline aborts the task with a DeadlineError, the caller's signal with its own reason", async () => {
  const clock = new FakeClock();
  const reason = (signal: AbortSignal): Promise<unknown> =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));
  const late = withDeadline(clock, 100, new AbortController().signal, reason);
  clock.advance(100);
  expect(await late).toBeInstanceOf(DeadlineError);
  const stop = new AbortController();
  const stopped = withDeadline(clock, 100, stop.signal, reason);
  stop.abort("shutdown");
  expect(await stopped).toBe("shutdown");
  expect(clock.pending).toBe(0);
});

test("a task that throws before it waits leaves no timer", async () => {
  const clock = new FakeClock();
  const thrown = withDeadline(clock, 100, new AbortController().signal, () => {
    throw new Error("at once");
  });
  await expect(thrown).rejects.toThrow("at once");
  expect(clock.pending).toBe(0);
});

test("a long-lived signal keeps no listener of sleeps and deadlines that are over", async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const asleep = sleep(clock, 100, signal);
  const inTime = withDeadline(clock, 100, signal, async () => "done");
  clock.advance(100);
  await Promise.all([asleep, inTime]);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
