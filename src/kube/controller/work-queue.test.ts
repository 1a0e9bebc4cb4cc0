import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import { settle } from "../../base/testing/settle.ts";
import type { QueueMetrics, QueueState } from "../metrics/metrics.ts";
import { WorkQueue } from "./work-queue.ts";

function setup(): { clock: FakeClock; queue: WorkQueue; close: () => void } {
  const clock = new FakeClock();
  const stop = new AbortController();
  const queue = new WorkQueue({ clock, signal: stop.signal });
  onTestFinished(() => {
    stop.abort();
    expect(clock.pending, "timers left after close").toBe(0);
  });
  return { clock, queue, close: () => stop.abort() };
}

test("many adds of a waiting key are one run", async () => {
  const { queue } = setup();
  for (let i = 0; i < 10; i++) queue.add("ns/a");
  expect(await queue.get()).toBe("ns/a");
  queue.done("ns/a");
  expect(queue.depth).toBe(0);
});

test("a key changed while in hand comes again, but only after done", async () => {
  const { queue } = setup();
  queue.add("ns/a");
  await queue.get();
  queue.add("ns/a");
  expect(queue.depth).toBe(0);
  queue.done("ns/a");
  expect(await queue.get()).toBe("ns/a");
});

test("an idle worker gets a delayed key when it is due, not before", async () => {
  const { clock, queue } = setup();
  const got: (string | undefined)[] = [];
  void queue.get().then((key) => got.push(key));
  queue.addAfter("ns/a", 1_000);
  clock.advance(999);
  await Promise.resolve();
  expect(got).toEqual([]);
  clock.advance(1);
  await Promise.resolve();
  expect(got).toEqual(["ns/a"]);
});

test("ten thousand delayed keys share one timer", () => {
  const { clock, queue } = setup();
  for (let i = 0; i < 10_000; i++) queue.addAfter(`ns/${i}`, 1_000 + (i % 97));
  expect(clock.pending).toBe(1);
});

test("closing wakes idle workers, drops queued keys and lets work in hand finish", async () => {
  const { queue, close } = setup();
  queue.add("ns/in-hand");
  await queue.get();
  const idle = queue.get();
  queue.add("ns/in-hand");
  close();
  expect(await idle).toBeUndefined();
  expect(() => queue.done("ns/in-hand")).not.toThrow();
  expect(await queue.get()).toBeUndefined();
});

test("draining hands out what is in line, refuses the rest and resolves after the last done", async () => {
  const { clock, queue } = setup();
  queue.add("ns/in-hand");
  await queue.get();
  queue.add("ns/waiting");
  queue.addAfter("ns/delayed", 10);
  let isDrained = false;
  const drained = queue.drain().then(() => {
    isDrained = true;
  });
  queue.add("ns/late");
  clock.advance(10);
  expect(await queue.get()).toBe("ns/waiting");
  expect(await queue.get()).toBeUndefined();
  queue.done("ns/waiting");
  await settle();
  expect(isDrained).toBe(false);
  queue.done("ns/in-hand");
  await drained;
});

test("draining an idle queue wakes its workers and ends at once", async () => {
  const { queue } = setup();
  const idle = queue.get();
  await queue.drain();
  expect(await idle).toBeUndefined();
});

test("closing ends a drain that a stuck worker holds up", async () => {
  const { queue, close } = setup();
  queue.add("ns/stuck");
  await queue.get();
  const drained = queue.drain();
  close();
  await drained;
});

test("metrics tell adds, delayed adds, waiting, working and what is stuck", async () => {
  const told: (readonly [string, number?])[] = [];
  let read = (): QueueState => ({ depth: -1, unfinishedSeconds: -1, longestRunningSeconds: -1 });
  const metrics: QueueMetrics = {
    added: () => told.push(["added"]),
    retried: () => told.push(["retried"]),
    waited: (seconds) => told.push(["waited", seconds]),
    worked: (seconds) => told.push(["worked", seconds]),
    observe(state) {
      read = state;
      return () => told.push(["observed no more"]);
    },
  };
  const clock = new FakeClock();
  const stop = new AbortController();
  const queue = new WorkQueue({ clock, signal: stop.signal, metrics });
  queue.add("ns/a");
  queue.add("ns/a");
  queue.addAfter("ns/b", 500);
  clock.advance(1000);
  expect(read()).toEqual({ depth: 2, unfinishedSeconds: 0, longestRunningSeconds: 0 });
  await queue.get();
  clock.advance(2000);
  await queue.get();
  clock.advance(3000);
  expect(read()).toEqual({ depth: 0, unfinishedSeconds: 8, longestRunningSeconds: 5 });
  queue.done("ns/a");
  stop.abort();
  const waits = [["waited", 1] as const, ["waited", 2.5] as const];
  expect(told).toEqual([["added"], ["retried"], ["added"], ...waits, ["worked", 5], ["observed no more"]]);
  expect(clock.pending).toBe(0);
});

/** The same rules with no heap, no timer and no regard for cost: too simple to be wrong. */
function naiveQueue() {
  const line: string[] = [];
  const inHand = new Set<string>();
  const again = new Set<string>();
  const delayed = new Map<string, number>();
  let nowMs = 0;
  let isOpen = true;
  const add = (key: string): void => {
    if (!isOpen) return;
    delayed.delete(key);
    if (inHand.has(key)) again.add(key);
    else if (!line.includes(key)) line.push(key);
  };
  const advance = (ms: number): void => {
    nowMs += ms;
    const due = [...delayed].filter(([, atMs]) => atMs <= nowMs).sort((a, b) => a[1] - b[1]);
    for (const [key] of due) add(key);
  };
  const addAfter = (key: string, ms: number): void => {
    if (!isOpen || line.includes(key) || again.has(key) || (delayed.get(key) ?? Infinity) <= nowMs + ms) return;
    delayed.delete(key);
    delayed.set(key, nowMs + ms);
    advance(0);
  };
  const get = (): string => {
    const key = line.shift() ?? "";
    inHand.add(key);
    return key;
  };
  const done = (key: string): void => {
    inHand.delete(key);
    if (again.delete(key)) line.push(key);
  };
  const drain = (): void => {
    isOpen = false;
    delayed.clear();
  };
  return { add, advance, addAfter, get, done, drain, line, inHand };
}

test("agrees with the naive queue on any sequence of calls", async () => {
  const op = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom("add", "addAfter", "advance", "get", "done") },
    { weight: 1, arbitrary: fc.constant("drain") },
  );
  const command = fc.record({ op, key: fc.constantFrom("ns/a", "ns/b", "ns/c", "ns/d"), ms: fc.nat(50) });
  // Without `size` the arrays have about ten entries, and four of our hand-made faults survive.
  const commands = fc.array(command, { maxLength: 200, size: "max" });
  const run = fc.asyncProperty(commands, async (sequence) => {
    const clock = new FakeClock();
    const queue = new WorkQueue({ clock, signal: new AbortController().signal });
    const model = naiveQueue();
    for (const { op, key, ms } of sequence) {
      if (op === "add") for (const q of [queue, model]) q.add(key);
      else if (op === "addAfter") for (const q of [queue, model]) q.addAfter(key, ms);
      else if (op === "advance") for (const t of [clock, model]) t.advance(ms);
      else if (op === "get" && model.line.length > 0) expect(await queue.get()).toBe(model.get());
      else if (op === "done" && model.inHand.has(key)) for (const q of [queue, model]) q.done(key);
      else if (op === "drain") for (const q of [queue, model]) void q.drain();
      expect(queue.depth).toBe(model.line.length);
    }
    // However it went, a drain ends with the last key that was taken or in line.
    let isDrained = false;
    void queue.drain().then(() => {
      isDrained = true;
    });
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) model.inHand.add(key);
    for (const key of model.inHand) {
      await settle();
      expect(isDrained).toBe(false);
      queue.done(key);
      if ((await queue.get()) !== undefined) queue.done(key);
    }
    await settle();
    expect(isDrained).toBe(true);
    expect(clock.pending).toBe(0);
  });
  await fc.assert(run, { numRuns: runs(200) }); // A failure prints its seed and the shortest sequence found.
});
