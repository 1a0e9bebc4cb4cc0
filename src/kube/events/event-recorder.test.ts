import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { settle } from "../../base/testing/settle.ts";
import { ApiError } from "../client/api-error.ts";
import { kubeMetrics } from "../metrics/kube-metrics.ts";
import { cutToBytes, type EventNote, type KubeEvent } from "./event.ts";
import { EventRecorder, type EventRecorderOptions } from "./event-recorder.ts";

const NOTE: EventNote = {
  regarding: { apiVersion: "v1", kind: "Pod", namespace: "ns", name: "web-0", uid: "u1" },
  type: "Normal",
  reason: "Started",
  action: "Starting",
  note: "first",
};
const MINUTE = 60_000;

/** The API server as far as a recorder sees it: what was sent, and an error of the test's choice. */
class FakeEvents {
  readonly sent: (KubeEvent | { readonly patched: string; readonly series: KubeEvent["series"] })[] = [];
  failWith: ((verb: "create" | "patch") => Error | undefined) | undefined;
  /** Answers wait for it. */
  gate: Promise<void> = Promise.resolve();

  readonly client = {
    create: async (_resource: object, event: object): Promise<never> => this.#answer("create", event),
    patch: async (
      _resource: object,
      key: { readonly name: string },
      patch: { readonly body: object },
    ): Promise<never> => this.#answer("patch", { patched: key.name, ...patch.body }),
  } as EventRecorderOptions["client"];

  async #answer(verb: "create" | "patch", what: object): Promise<never> {
    await this.gate;
    const error = this.failWith?.(verb);
    if (error) throw error;
    this.sent.push(what as KubeEvent);
    return what as never;
  }
}

function setup(options: Partial<EventRecorderOptions> = {}) {
  const clock = new FakeClock();
  const registry = new Registry();
  const server = new FakeEvents();
  const recorder = new EventRecorder({
    client: server.client,
    controller: "example.dev/tester",
    instance: "tester-0",
    clock,
    log: silentLogger,
    metrics: kubeMetrics(registry),
    random: () => 0.5,
    ...options,
  });
  const abort = new AbortController();
  const run = async (): Promise<void> => {
    const ended = recorder.run(abort.signal);
    onTestFinished(async () => {
      abort.abort();
      clock.advance(2000);
      await ended;
      expect(clock.pending, "timers left after the stop").toBe(0);
    });
    await settle();
  };
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  const count = async (result: string): Promise<number> =>
    Number(new RegExp(`result="${result}"} (\\d+)`).exec(await registry.metrics())?.[1]);
  return { clock, server, recorder, run, advance, count, stop: () => abort.abort("stop") };
}

test("the first of its kind is created in the API server's format", async () => {
  const { server, recorder, run, count } = setup();
  await run();
  recorder.record(NOTE);
  await settle();
  expect(server.sent).toEqual([
    {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace: "ns", name: expect.stringMatching(/^web-0\.[0-9a-f]{16}$/) },
      eventTime: "2026-01-01T00:00:00.000000Z",
      type: "Normal",
      reason: "Started",
      action: "Starting",
      note: "first",
      regarding: NOTE.regarding,
      reportingController: "example.dev/tester",
      reportingInstance: "tester-0",
    },
  ]);
  expect(await count("written")).toBe(1);
});

interface Row {
  readonly name: string;
  /** When the event is recorded, in minutes. */
  readonly at: readonly number[];
  readonly untilMinute: number;
  /** Counts of the series as they were written; 1 is a creation. */
  readonly written: readonly number[];
}

const SERIES: readonly Row[] = [
  { name: "once", at: [0], untilMinute: 60, written: [1] },
  { name: "twice within six minutes", at: [0, 5], untilMinute: 6, written: [1, 2] },
  { name: "five times: counted here", at: [0, 1, 2, 3, 4], untilMinute: 5, written: [1, 2] },
  {
    name: "five times, then quiet: the end writes the count",
    at: [0, 1, 2, 3, 4],
    untilMinute: 18,
    written: [1, 2, 5],
  },
  {
    name: "every five minutes for 40: refreshed after 30",
    at: [0, 5, 10, 15, 20, 25, 30, 35, 40],
    untilMinute: 41,
    written: [1, 2, 8],
  },
  { name: "again after twelve quiet minutes: a new event", at: [0, 13], untilMinute: 14, written: [1, 1] },
  { name: "two series", at: [0, 1, 30, 31], untilMinute: 32, written: [1, 2, 1, 2] },
];

test.each(SERIES)("$name", async ({ at, untilMinute, written }) => {
  const { server, recorder, run, advance } = setup();
  await run();
  for (let minute = 0; minute <= untilMinute; minute++) {
    if (at.includes(minute)) recorder.record({ ...NOTE, note: `at minute ${minute}` });
    await settle();
    await advance(MINUTE);
  }
  expect(server.sent.map((each) => each.series?.count ?? 1)).toEqual(written);
});

test("the second time patches the first's series and nothing else", async () => {
  const { server, recorder, run, advance } = setup();
  await run();
  recorder.record(NOTE);
  await advance(1500);
  recorder.record({ ...NOTE, note: "second" });
  await settle();
  const [first, second] = server.sent;
  const name = first && "metadata" in first ? first.metadata.name : "";
  expect(second).toEqual({ patched: name, series: { count: 2, lastObservedTime: "2026-01-01T00:00:01.500000Z" } });
});

test.each([
  { differs: "type", note: { ...NOTE, type: "Warning" as const } },
  { differs: "reason", note: { ...NOTE, reason: "Other" } },
  { differs: "action", note: { ...NOTE, action: "Other" } },
  { differs: "object", note: { ...NOTE, regarding: { ...NOTE.regarding, uid: "u2" } } },
  { differs: "related object", note: { ...NOTE, related: NOTE.regarding } },
])("another $differs is another event", async ({ note }) => {
  const { server, recorder, run } = setup();
  await run();
  recorder.record(NOTE);
  recorder.record(note);
  await settle();
  expect(server.sent.map((each) => "metadata" in each)).toEqual([true, true]);
});

test("repetitions before the first was written make one creation with a series", async () => {
  const { server, recorder, run } = setup();
  for (let i = 0; i < 5; i++) recorder.record(NOTE);
  await run();
  expect(server.sent).toMatchObject([{ series: { count: 5 } }]);
});

test("an event about a cluster-scoped object goes to the namespace default", async () => {
  const { server, recorder, run } = setup();
  await run();
  recorder.record({ ...NOTE, regarding: { apiVersion: "v1", kind: "Node", name: "node-1" } });
  await settle();
  expect(server.sent).toMatchObject([{ metadata: { namespace: "default" } }]);
});

test("names the API server would refuse are made acceptable", async () => {
  const { server, recorder, run } = setup();
  await run();
  recorder.record({ ...NOTE, regarding: { ...NOTE.regarding, name: "system:Node" } });
  recorder.record({ ...NOTE, regarding: { ...NOTE.regarding, name: `${"x".repeat(235)}-${"y".repeat(17)}` } });
  await settle();
  const names = server.sent.map((each) => ("metadata" in each ? each.metadata.name : ""));
  expect(names[0]).toMatch(/^system-node\.[0-9a-f]{16}$/);
  expect(names[1]).toMatch(/^x{235}\.[0-9a-f]{16}$/);
});

test.each([
  { text: "a".repeat(1024), bytes: 1024 },
  { text: "a".repeat(1025), bytes: 1024 },
  { text: "é".repeat(512), bytes: 1024 },
  { text: `a${"é".repeat(512)}`, bytes: 1023 },
  { text: `${"a".repeat(1022)}😀`, bytes: 1022 },
])("a note is cut to 1,024 bytes between characters ($bytes left)", ({ text, bytes }) => {
  const cut = cutToBytes(text, 1024);
  expect(text.startsWith(cut)).toBe(true);
  expect(Buffer.byteLength(cut)).toBe(bytes);
});

test("what the queue cannot hold is dropped and counted, repetitions are not", async () => {
  const { server, recorder, run, count } = setup({ maxQueued: 3 });
  for (let i = 0; i < 5; i++) recorder.record({ ...NOTE, reason: `Reason${i}` });
  for (let i = 0; i < 5; i++) recorder.record({ ...NOTE, reason: "Reason0" });
  expect(await count("dropped")).toBe(2);
  await run();
  expect(server.sent).toHaveLength(3);
  recorder.record({ ...NOTE, reason: "Reason9" });
  await settle();
  expect(server.sent).toHaveLength(4);
});

test("a server that is away is tried every ten seconds, twelve times", async () => {
  const { server, recorder, run, advance, count } = setup();
  let tries = 0;
  server.failWith = () => {
    tries += 1;
    return new ApiError("away", { status: 0, reason: "NetworkError" });
  };
  await run();
  recorder.record(NOTE);
  await settle();
  await advance(9999);
  expect(tries).toBe(1);
  await advance(1);
  expect(tries).toBe(2);
  for (let i = 0; i < 15; i++) await advance(10_000);
  expect(tries).toBe(12);
  expect(await count("failed")).toBe(1);
});

test("what the server refuses is not sent again", async () => {
  const { server, recorder, run, advance, count } = setup();
  server.failWith = () => new ApiError("terminating", { status: 403, reason: "Forbidden" });
  await run();
  recorder.record(NOTE);
  await settle();
  expect(await count("failed")).toBe(1);
  await advance(60_000);
  server.failWith = undefined;
  recorder.record(NOTE);
  await settle();
  expect(server.sent).toHaveLength(1);
});

test("a creation whose answer was lost counts as written", async () => {
  const { server, recorder, run, count } = setup();
  server.failWith = () => new ApiError("exists", { status: 409, reason: "AlreadyExists" });
  await run();
  recorder.record(NOTE);
  await settle();
  expect(await count("written")).toBe(1);
});

test("a series whose event has expired on the server is created again", async () => {
  const { server, recorder, run, advance } = setup();
  await run();
  recorder.record(NOTE);
  await advance(1000);
  server.failWith = (verb) =>
    verb === "patch" ? new ApiError("gone", { status: 404, reason: "NotFound" }) : undefined;
  recorder.record(NOTE);
  await settle();
  expect(server.sent).toMatchObject([{ eventTime: expect.any(String) }, { series: { count: 2 } }]);
});

test("a stop writes what waits, and takes nothing more", async () => {
  const { server, recorder, run, stop, count, clock } = setup();
  let open = (): void => undefined;
  server.gate = new Promise((resolve) => {
    open = resolve;
  });
  await run();
  for (let i = 0; i < 20; i++) recorder.record({ ...NOTE, reason: `Reason${i}` });
  stop();
  recorder.record({ ...NOTE, reason: "Late" });
  expect(await count("dropped")).toBe(1);
  open();
  await settle();
  expect(server.sent).toHaveLength(20);
  expect(clock.pending).toBe(0);
});

test("a stop gives a server that is away two seconds", async () => {
  const clock = new FakeClock();
  const server = new FakeEvents();
  const stuck = {
    ...server.client,
    create: (_resource: object, _event: object, signal: AbortSignal): Promise<never> =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  } as EventRecorderOptions["client"];
  const { recorder } = setup({ client: stuck, clock });
  const abort = new AbortController();
  recorder.record(NOTE);
  let isEnded = false;
  void recorder.run(abort.signal).then(() => {
    isEnded = true;
  });
  await settle();
  abort.abort();
  clock.advance(1999);
  await settle();
  expect(isEnded).toBe(false);
  clock.advance(1);
  await settle();
  expect(isEnded).toBe(true);
  expect(clock.pending).toBe(0);
});
