import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { settle } from "../../base/testing/settle.ts";
import { kubeMetrics } from "../metrics/kube-metrics.ts";
import { FakeInformer } from "../testing/fake-informer.ts";
import {
  Controller,
  type ControllerOptions,
  type Reconcile,
  type ReconcileContext,
  TerminalError,
} from "./controller.ts";
import type { HasMeta } from "./predicates.ts";
import { type Source, triggered, watches } from "./sources.ts";

interface World {
  readonly clock: FakeClock;
  readonly add: (key: string, afterMs?: number) => void;
  readonly stop: (reason?: unknown) => Promise<void>;
  readonly ended: Promise<void>;
  /** The value of the one series of `name` whose labels include `labels`. */
  readonly metric: (name: string, labels?: Readonly<Record<string, string>>) => Promise<number>;
  /** Moves time and lets everything react. */
  readonly advance: (ms: number) => Promise<void>;
}

async function run(reconcile: Reconcile, options: Partial<ControllerOptions> = {}): Promise<World> {
  const clock = new FakeClock();
  const registry = new Registry();
  const source = triggered("test");
  const controller = new Controller({
    name: "things",
    reconcile,
    sources: [source],
    clock,
    log: silentLogger,
    metrics: kubeMetrics(registry),
    ...options,
  });
  const abort = new AbortController();
  const ended = controller.run(abort.signal);
  const stop = async (reason?: unknown): Promise<void> => {
    abort.abort(reason);
    await ended;
  };
  onTestFinished(async () => {
    await stop().catch(() => undefined);
    expect(clock.pending, "timers left after the stop").toBe(0);
  });
  await settle();
  const metric = async (name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> => {
    const family = (await registry.getMetricsAsJSON()).find((each) => each.name === name);
    const found = family?.values.filter((each) => Object.entries(labels).every(([k, v]) => each.labels[k] === v));
    expect(found, `series of ${name}`).toHaveLength(1);
    return found?.[0]?.value ?? Number.NaN;
  };
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  return { clock, add: source.trigger, stop, ended, metric, advance };
}

/** A reconcile that ends when the test says so. */
function held(): { readonly reconcile: Reconcile; readonly runs: string[]; readonly end: (key: string) => void } {
  const runs: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    runs,
    reconcile: (key) => {
      runs.push(key);
      return new Promise((resolve) => ends.set(key, () => resolve(undefined)));
    },
    end: (key) => ends.get(key)?.(),
  };
}

const ERROR = new Error("server away");
const TOTAL = "controller_runtime_reconcile_total";

interface Row {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** When the second run comes. */
  readonly againAfterMs: number | undefined;
  readonly counted: Partial<
    Record<"success" | "error" | "requeue_after" | "errors" | "terminal" | "panics" | "timeouts", number>
  >;
}

const ROWS: readonly Row[] = [
  { name: "nothing returned", reconcile: async () => undefined, againAfterMs: undefined, counted: { success: 1 } },
  {
    name: "requeue after 700 ms",
    reconcile: async () => ({ requeueAfterMs: 700 }),
    againAfterMs: 700,
    counted: { requeue_after: 1 },
  },
  {
    name: "an error",
    reconcile: () => Promise.reject(ERROR),
    againAfterMs: 5,
    counted: { error: 1, errors: 1 },
  },
  {
    name: "a terminal error",
    reconcile: () => Promise.reject(new TerminalError("bad spec")),
    againAfterMs: undefined,
    counted: { error: 1, errors: 1, terminal: 1 },
  },
  {
    name: "a throw before the first await",
    reconcile: () => {
      throw ERROR;
    },
    againAfterMs: 5,
    counted: { error: 1, errors: 1, panics: 1 },
  },
  {
    name: "something thrown that is no Error",
    reconcile: () => Promise.reject("a string"),
    againAfterMs: 5,
    counted: { error: 1, errors: 1, panics: 1 },
  },
  {
    name: "a property of undefined",
    reconcile: () => Promise.reject(new TypeError("undefined is not an object")),
    againAfterMs: 5,
    counted: { error: 1, errors: 1, panics: 1 },
  },
];

test.each(ROWS)(
  "$name: counted as $counted, again after $againAfterMs ms",
  async ({ reconcile, againAfterMs, counted }) => {
    let runs = 0;
    const world = await run((key, context) => {
      runs += 1;
      return reconcile(key, context);
    });
    world.add("ns/a");
    await settle();
    expect(runs).toBe(1);
    for (const result of ["success", "error", "requeue", "requeue_after"] as const) {
      const expected = result === "requeue" ? 0 : (counted[result] ?? 0);
      expect(await world.metric(TOTAL, { result }), result).toBe(expected);
    }
    expect(await world.metric("controller_runtime_reconcile_errors_total")).toBe(counted.errors ?? 0);
    expect(await world.metric("controller_runtime_terminal_reconcile_errors_total")).toBe(counted.terminal ?? 0);
    expect(await world.metric("controller_runtime_reconcile_panics_total")).toBe(counted.panics ?? 0);
    expect(await world.metric("controller_runtime_reconcile_timeouts_total")).toBe(counted.timeouts ?? 0);
    expect(world.clock.pending).toBe(againAfterMs === undefined ? 0 : 1);
    if (againAfterMs === undefined) return;
    await world.advance(againAfterMs - 1);
    expect(runs).toBe(1);
    await world.advance(1);
    expect(runs).toBe(2);
  },
);

test("one update of an object is one run, also with an idle worker", async () => {
  const informer = new FakeInformer<HasMeta>();
  informer.sync();
  const { reconcile, runs, end } = held();
  await run(reconcile, { sources: [watches(informer)] });
  const metadata = { name: "page", namespace: "ns", resourceVersion: "1" };
  for (const resourceVersion of ["1", "2"]) {
    informer.set({ metadata: { ...metadata, resourceVersion } });
    await settle();
    end("ns/page");
    await settle();
  }
  expect(runs).toEqual(["ns/page", "ns/page"]);
  end("ns/page");
});

test("delays double with each failure up to the cap, and start again after a success", async () => {
  const at: number[] = [];
  const fails = [true, true, true, true, false, true, false];
  const world = await run(
    async (): Promise<undefined> => {
      at.push(world.clock.monotonicMs());
      if (fails.shift()) throw ERROR;
    },
    { backoff: { baseMs: 100, maxMs: 400 } },
  );
  world.add("ns/a");
  await settle();
  for (let ms = 0; ms < 1200; ms += 50) await world.advance(50);
  expect(at).toEqual([0, 100, 300, 700, 1100]);
  world.add("ns/a");
  await settle();
  await world.advance(100);
  expect(at.slice(5)).toEqual([1200, 1300]);
});

test("a requeue forgets earlier failures", async () => {
  const results: Reconcile[] = [
    () => Promise.reject(ERROR),
    () => Promise.reject(ERROR),
    async () => ({ requeueAfterMs: 1000 }),
    () => Promise.reject(ERROR),
  ];
  let runs = 0;
  const world = await run(async (key, context) => results[runs++]?.(key, context));
  world.add("ns/a");
  await settle();
  await world.advance(5);
  await world.advance(10);
  await world.advance(1000);
  expect(runs).toBe(4);
  await world.advance(5);
  expect(runs).toBe(5);
});

test("events during a run are one more run, after it", async () => {
  const { reconcile, runs, end } = held();
  const world = await run(reconcile, { concurrency: 5 });
  world.add("ns/a");
  await settle();
  for (let i = 0; i < 10; i++) world.add("ns/a");
  await settle();
  expect(runs).toEqual(["ns/a"]);
  end("ns/a");
  await settle();
  end("ns/a");
  await settle();
  expect(runs).toEqual(["ns/a", "ns/a"]);
});

test("as many keys run at once as there are workers, and the gauges say so", async () => {
  const { reconcile, runs, end } = held();
  const world = await run(reconcile, { concurrency: 2 });
  for (const key of ["a", "b", "c"]) world.add(key);
  await world.advance(3000);
  expect(runs).toEqual(["a", "b"]);
  expect(await world.metric("controller_runtime_active_workers")).toBe(2);
  expect(await world.metric("controller_runtime_max_concurrent_reconciles")).toBe(2);
  expect(await world.metric("workqueue_depth")).toBe(1);
  expect(await world.metric("workqueue_unfinished_work_seconds")).toBe(6);
  expect(await world.metric("workqueue_longest_running_processor_seconds")).toBe(3);
  for (const key of ["a", "b"]) end(key);
  await settle();
  expect(runs).toEqual(["a", "b", "c"]);
  end("c");
  await settle();
  expect(await world.metric("controller_runtime_active_workers")).toBe(0);
});

test("a run over its limit is aborted, counted as a timeout and tried again", async () => {
  const reasons: unknown[] = [];
  const untilAborted: Reconcile = (_key, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        reasons.push(signal.reason);
        reject(signal.reason);
      });
    });
  const world = await run(untilAborted, { reconcileTimeoutMs: 1000 });
  world.add("ns/a");
  await settle();
  await world.advance(999);
  expect(reasons).toHaveLength(0);
  await world.advance(1);
  expect(reasons).toHaveLength(1);
  expect(await world.metric("controller_runtime_reconcile_timeouts_total")).toBe(1);
  expect(await world.metric(TOTAL, { result: "error" })).toBe(1);
  await world.advance(5);
  await world.advance(1000);
  expect(reasons).toHaveLength(2);
});

test("a stop aborts what runs, waits for it, and counts it as nothing", async () => {
  let context: ReconcileContext | undefined;
  let finish: () => void = () => undefined;
  // A second worker, idle: its end must not be taken for that of all.
  const world = await run(
    async (_key, given) => {
      context = given;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      given.signal.throwIfAborted();
    },
    { concurrency: 2 },
  );
  world.add("ns/a");
  await settle();
  const stopped = world.stop("shutdown");
  let isStopped = false;
  void stopped.then(() => {
    isStopped = true;
  });
  await settle();
  expect(context?.signal.reason).toBe("shutdown");
  expect(isStopped).toBe(false);
  finish();
  await stopped;
  for (const result of ["success", "error", "requeue_after"]) expect(await world.metric(TOTAL, { result })).toBe(0);
  expect(world.clock.pending).toBe(0);
});

test("every run has an id of its own and a log that bears it", async () => {
  const ids = new Set<string>();
  const bindings: object[] = [];
  const log = {
    ...silentLogger,
    child: (each: object) => {
      bindings.push(each);
      return silentLogger;
    },
  };
  const world = await run(
    async (_key, { reconcileId }) => {
      ids.add(reconcileId);
    },
    { log },
  );
  world.add("ns/a");
  await settle();
  world.add("ns/a");
  await settle();
  expect(ids.size).toBe(2);
  expect(bindings).toEqual([...ids].map((reconcileId) => ({ controller: "things", key: "ns/a", reconcileId })));
});

test("nothing runs before all sources are synced", async () => {
  const informer = new FakeInformer();
  const keys: string[] = [];
  await run(
    async (key) => {
      keys.push(key);
    },
    { sources: [watches(informer)] },
  );
  informer.set({ metadata: { name: "a", resourceVersion: "1" } });
  await settle();
  expect(keys).toEqual([]);
  informer.sync();
  await settle();
  expect(keys).toEqual(["a"]);
});

test("sources that do not sync end the run after the limit, by name", async () => {
  const slow = new FakeInformer("Slow");
  const quick = new FakeInformer("Quick");
  quick.sync();
  const sources: readonly Source[] = [watches(quick), watches(slow)];
  const world = await run(async () => undefined, { sources });
  const ended = world.ended.catch((error: unknown) => error);
  await world.advance(119_999);
  expect(slow.listeners).toBe(1);
  await world.advance(1);
  expect(await ended).toMatchObject({ message: "controller things: not synced within 120 s: Slow" });
  expect([slow.listeners, quick.listeners]).toEqual([0, 0]);
});

test("a stop before the caches are synced is no error", async () => {
  const world = await run(async () => undefined, { sources: [watches(new FakeInformer())] });
  await world.stop();
});

test("a signal that was aborted before the start ends the run at once", async () => {
  const controller = new Controller({
    name: "things",
    reconcile: async () => undefined,
    sources: [watches(new FakeInformer())],
    clock: new FakeClock(),
    log: silentLogger,
    metrics: kubeMetrics(new Registry()),
  });
  await controller.run(AbortSignal.abort());
});
