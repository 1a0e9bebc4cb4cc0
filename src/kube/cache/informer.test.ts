import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FEWEST_WALKS, runs } from "../../base/testing/runs.ts";
import { scaledClock } from "../../base/testing/scaled-clock.ts";
import { Client } from "../client/client.ts";
import { type Connection, connect } from "../client/connection.ts";
import type { WatchRestartReason } from "../metrics/metrics.ts";
import { keyOf, resources } from "../objects/resource.ts";
import { jsonProjection, type Projection } from "../projection/projection.ts";
import { podShape } from "../projection/shapes.ts";
import { FakeApiServer } from "../testing/fake-api-server.ts";
import type { Change } from "./cache.ts";
import { Informer } from "./informer.ts";
import { ObjectLimit } from "./object-limit.ts";

interface SmallPod {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string };
  readonly status: { readonly phase: string };
}

const encodings: readonly (readonly [string, Projection<SmallPod>])[] = [
  ["JSON", jsonProjection<SmallPod>()],
  ["protobuf", podShape],
];

/** 50 times faster: the shortest back-off takes 16 ms, the idle limit 1.8 s. */
const clock = scaledClock(50);

class World {
  readonly server: FakeApiServer;
  readonly informer: Informer<SmallPod>;
  /** What a listener that only knows the changes believes. */
  readonly mirror = new Map<string, SmallPod>();
  readonly changes: Change<SmallPod>[] = [];
  readonly restarts: WatchRestartReason[] = [];
  readonly warnings: string[] = [];
  objects = 0;
  readonly #connection: Connection;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(server: FakeApiServer, connection: Connection, projection: Projection<SmallPod>, limit?: ObjectLimit) {
    this.server = server;
    this.#connection = connection;
    this.informer = new Informer({
      client: new Client(connection, { clock }),
      resource: resources.pods,
      projection,
      indexes: { phase: (pod) => [pod.status.phase] },
      clock,
      log: { ...silentLogger, warn: (_, text) => void this.warnings.push(text) },
      metrics: {
        event: () => undefined,
        restart: (_, reason) => this.restarts.push(reason),
        lastEvent: () => undefined,
        objects: (_, count) => {
          this.objects = count;
        },
        synced: () => undefined,
      },
      freeze: true,
      limit,
    });
    this.informer.onChange((change) => {
      this.changes.push(change);
      if (change.type === "deleted") this.mirror.delete(keyOf(change.object));
      else this.mirror.set(keyOf(change.object), change.object);
    });
    this.#running = this.informer.run(this.#stop.signal);
  }

  static async start(
    projection: Projection<SmallPod>,
    prepare: (server: FakeApiServer) => void,
    limit?: ObjectLimit,
  ): Promise<World> {
    const server = await FakeApiServer.start();
    prepare(server);
    return new World(server, await connect({ explicit: { server: server.url } }, clock), projection, limit);
  }

  synced(): Promise<void> {
    return this.informer.whenSynced(AbortSignal.timeout(60_000));
  }

  /** Names, phases and versions of both must become the same; nothing else heals a lost event. */
  async agrees(): Promise<void> {
    const want = [...this.server.pods.values()].map(({ name, phase, resourceVersion }) => [
      name,
      phase,
      resourceVersion,
    ]);
    await vi.waitFor(() => expect(flat(this.informer.store.values())).toEqual(want.sort()), {
      timeout: 60_000,
      interval: 2,
    });
    expect(flat(this.mirror.values())).toEqual(want.sort());
    for (const phase of PHASES) {
      const indexed = flat(this.informer.store.byIndex("phase", phase));
      expect(indexed).toEqual(want.filter((pod) => pod[1] === phase));
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#connection.close();
    await this.server.close();
  }
}

function flat(pods: Iterable<SmallPod>): string[][] {
  return [...pods].map((pod) => [pod.metadata.name, pod.status.phase, pod.metadata.resourceVersion]).sort();
}

const PHASES = ["Pending", "Running", "Failed"];
const phase = fc.constantFrom(...PHASES);
const name = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h");

type Action = (server: FakeApiServer) => void;

/** How far the informer gets between two actions: not at all, one turn, or until it is watching again. */
const pause = fc.constantFrom<(server: FakeApiServer) => Promise<void>>(
  async () => undefined,
  async () => void (await nextTurn()),
  async (server) => {
    const untilMs = performance.now() + 60;
    while (server.openWatches === 0 && performance.now() < untilMs) await nextTurn();
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  },
);

const actions: fc.Arbitrary<readonly [string, Action]> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(name, phase).map(([n, p]) => [`put ${n} ${p}`, (s: FakeApiServer) => s.put(n, p)] as const),
  },
  { weight: 4, arbitrary: name.map((n) => [`remove ${n}`, (s: FakeApiServer) => s.remove(n)] as const) },
  { weight: 1, arbitrary: fc.constant(["bookmark", (s: FakeApiServer) => s.bookmark()] as const) },
  { weight: 1, arbitrary: fc.constant(["repeat", (s: FakeApiServer) => s.repeat()] as const) },
  { weight: 1, arbitrary: fc.constant(["compact", (s: FakeApiServer) => s.compact()] as const) },
  { weight: 1, arbitrary: fc.constant(["close", (s: FakeApiServer) => s.disconnect("close")] as const) },
  { weight: 1, arbitrary: fc.constant(["cut", (s: FakeApiServer) => s.disconnect("cut")] as const) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(410, 429, 500, 504)
      .map((code) => [`error event ${code}`, (s: FakeApiServer) => s.fail({ code })] as const),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 0, max: 400 })
      .map(
        (bytes) =>
          [
            `cut the next watch after ${bytes}`,
            (s: FakeApiServer) => void s.faults.push({ of: "watch", cutAfterBytes: bytes }),
          ] as const,
      ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(429, 500, 503, 401, 403)
      .map(
        (status) => [`refuse with ${status}`, (s: FakeApiServer) => void s.faults.push({ of: "any", status })] as const,
      ),
  },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ minLength: 1, maxLength: 12 }).map(
      (bytes) =>
        [
          "garbage in the next watch",
          // The length and the newline make it a whole frame in both encodings.
          (s: FakeApiServer) =>
            void s.faults.push({
              of: "watch",
              garbage: Buffer.concat([Buffer.from([0, 0, 0, 3]), bytes, Buffer.from("\n\n\n\n\n\n")]),
            }),
        ] as const,
    ),
  },
);

describe.each(encodings)("an informer reading %s", (_, projection) => {
  test("holds what the server holds after any stream of changes, errors, gaps, repeats and cuts", {
    timeout: 180_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(actions, pause), { minLength: 5, maxLength: 40, size: "max" }),
        fc.record({
          chunkBytes: fc.constantFrom(1, 2, 3, 7, 61, Number.POSITIVE_INFINITY),
          watchListSupported: fc.boolean(),
          pageLimit: fc.constantFrom(1, 3, 500),
        }),
        async (script, settings) => {
          const world = await World.start(projection, (server) => {
            Object.assign(server, settings);
            for (const each of ["a", "b", "c"]) server.put(each, "Pending");
          });
          try {
            for (const [[, act], rest] of script) {
              act(world.server);
              await rest(world.server);
            }
            world.server.faults.length = 0;
            await world.synced();
            world.server.put("last", "Running");
            await world.agrees();
          } finally {
            await world.close();
          }
        },
      ),
      { numRuns: runs(60, FEWEST_WALKS) },
    );
  });
});

describe("an informer", () => {
  let world: World;
  const begin = async (prepare: (server: FakeApiServer) => void): Promise<void> => {
    world = await World.start(podShape, prepare);
  };
  afterEach(() => world.close());

  test("shows nothing of a first list until it is whole", async () => {
    const sizes: number[] = [];
    await begin((server) => {
      server.chunkBytes = 5;
      for (let at = 0; at < 20; at += 1) server.put(`pod-${at}`, "Running");
    });
    world.informer.onChange(() => sizes.push(world.informer.store.size));
    await world.synced();
    expect(new Set(sizes)).toEqual(new Set([20]));
  });

  test("tells objects of the first list as initial, and later ones not", async () => {
    await begin((server) => server.put("old", "Running"));
    await world.synced();
    world.server.put("new", "Running");
    await world.agrees();
    expect(world.changes.map((change) => change.type === "added" && change.initial)).toEqual([true, false]);
  });

  test("tells a deletion that happened between two watches, with the last known state", async () => {
    await begin((server) => server.put("gone", "Running"));
    await world.synced();
    world.server.faults.push({ of: "any", status: 503 });
    world.server.disconnect("cut");
    world.server.remove("gone");
    world.server.compact();
    await world.agrees();
    expect(world.changes.at(-1)).toMatchObject({ type: "deleted", object: { status: { phase: "Running" } } });
  });

  test("does not tell of objects that a new list repeats unchanged", async () => {
    await begin((server) => server.put("same", "Running"));
    await world.synced();
    world.server.compact();
    world.server.fail({ code: 410 });
    world.server.put("other", "Running");
    await world.agrees();
    expect(world.changes.filter((change) => change.object.metadata.name === "same")).toHaveLength(1);
  });

  test("replaces a watch on which nothing comes any more", async () => {
    await begin((server) => {
      server.put("a", "Running");
      server.faults.push({ of: "watch", silent: true });
    });
    await world.synced();
    expect(world.server.requests.length).toBe(2);
  });

  test.each<readonly [string, false | "close", (server: FakeApiServer) => void]>([
    ["stays open and is silent", false, () => undefined],
    ["stays open and goes on", false, (server) => server.put("a", "Running")],
    ["closes", "close", () => undefined],
  ])("lists when the mark of a watch-list never comes and the stream %s, and says so once", async (_, marks, act) => {
    await begin((server) => {
      server.marksInitialEnd = marks;
      server.put("a", "Pending");
    });
    await vi.waitFor(
      () => {
        act(world.server);
        expect(world.informer.synced).toBe(true);
      },
      { timeout: 60_000, interval: 20 },
    );
    const asked = (): number => world.server.requests.filter((each) => each.includes("sendInitialEvents")).length;
    const tries = asked();
    expect(tries).toBeLessThanOrEqual(3);
    expect(world.restarts.filter((reason) => reason === "unmarked")).toEqual(["unmarked"]);
    expect(world.warnings.filter((text) => text.includes("watch-list"))).toHaveLength(1);
    // It follows, and it lists again after a gap.
    world.server.put("b", "Running");
    await world.agrees();
    world.server.compact();
    world.server.fail({ code: 410 });
    world.server.remove("a");
    await world.agrees();
    expect(asked()).toBe(tries);
  });

  test("is not stopped for an hour by one answer with Retry-After: 3600", async () => {
    await begin((server) => {
      server.put("a", "Running");
      server.faults.push({ of: "any", status: 503, retryAfter: "3600" });
    });
    const fromMs = clock.monotonicMs();
    await world.synced();
    expect(clock.monotonicMs() - fromMs).toBeLessThan(3_600_000);
  });

  test("asks for the initial events only once of a server that refuses them", async () => {
    await begin((server) => {
      server.watchListSupported = false;
    });
    await world.synced();
    world.server.compact();
    world.server.fail({ code: 410 });
    world.server.put("a", "Running");
    await world.agrees();
    expect(world.server.requests.filter((request) => request.includes("sendInitialEvents"))).toHaveLength(1);
  });

  const reasons: readonly (readonly [WatchRestartReason, (server: FakeApiServer) => void])[] = [
    ["closed", (server) => server.disconnect("close")],
    ["closed", (server) => server.disconnect("cut")],
    ["gone", (server) => server.fail({ code: 410 })],
    ["throttled", (server) => server.fail({ code: 429 })],
    ["error", (server) => server.fail({ code: 500 })],
    [
      "decode",
      (server) => {
        server.faults.push({ of: "watch", garbage: Buffer.from([0, 0, 0, 1, 0xff]) });
        server.disconnect("close");
      },
    ],
    [
      "idle",
      (server) => {
        server.faults.push({ of: "watch", silent: true });
        server.disconnect("close");
      },
    ],
  ];
  test.each(reasons)("counts a restart as %s", async (reason, act) => {
    await begin((server) => server.put("a", "Running"));
    await world.synced();
    await vi.waitFor(() => expect(world.server.openWatches).toBe(1), { timeout: 60_000 });
    // A change first, or the watch is one that ended at once with nothing, which is another reason.
    world.server.put("b", "Running");
    await world.agrees();
    act(world.server);
    await vi.waitFor(() => expect(world.restarts).toContain(reason), { timeout: 60_000 });
    world.server.put("c", "Running");
    await world.agrees();
    expect(world.objects).toBe(3);
  });

  test.each([true, false])(
    "holds nothing of a list that is too large, and all of it once it fits (watch-list %s)",
    async (isWatchList) => {
      const limit = new ObjectLimit(5);
      const begun = await World.start(
        podShape,
        (server) => {
          server.watchListSupported = isWatchList;
          for (const name of "abcdefgh") server.put(name, "Running");
        },
        limit,
      );
      world = begun;
      await vi.waitFor(() => expect(world.restarts).toContain("too-large"), { timeout: 60_000 });
      expect([world.informer.isTooLarge, world.informer.store.size, world.informer.currentAtMs]).toEqual([
        true,
        0,
        undefined,
      ]);
      for (const name of "defgh") world.server.remove(name);
      world.informer.retryNow();
      await vi.waitFor(() => expect(world.informer.store.size).toBe(3), { timeout: 60_000 });
      await expect.poll(() => world.informer.isTooLarge).toBe(false);
      // What grows beyond it later is dropped as well, and no listener hears that objects are gone.
      const { length } = world.changes;
      for (const name of "defgh") world.server.put(name, "Running");
      await vi.waitFor(() => expect(world.informer.isTooLarge).toBe(true), { timeout: 60_000 });
      await vi.waitFor(() => expect(world.server.openWatches).toBe(0), { timeout: 60_000 });
      expect(world.informer.store.size).toBe(0);
      expect(world.changes.slice(length).filter(({ type }) => type === "deleted")).toEqual([]);
    },
  );

  test.each([
    ["protobuf", podShape, true],
    ["protobuf", podShape, false],
    ["JSON", { fromJson: podShape.fromJson }, true],
    ["JSON", { fromJson: podShape.fromJson }, false],
  ] as const)(
    "keeps nothing of 10 MB of annotations in %s, and all the other pods",
    async (_name, projection, isWatchList) => {
      const note = "leaked ".repeat(1_500_000);
      world = await World.start(projection, (server) => {
        server.watchListSupported = isWatchList;
        server.put("before", "Running");
        server.put("hostile", "Running", note);
        server.put("behind", "Running");
      });
      await world.synced();
      world.server.put("hostile", "Failed", note);
      world.server.put("last", "Running");
      await world.agrees();
      const kept = JSON.stringify([...world.informer.store.values(), ...world.changes]);
      expect([kept.includes("leaked"), kept.length < 20_000]).toEqual([false, true]);
    },
  );

  test("goes on when a listener throws", async () => {
    await begin((server) => server.put("a", "Running"));
    world.informer.onChange(() => {
      throw new Error("listener");
    });
    await world.synced();
    world.server.put("b", "Running");
    await world.agrees();
  });

  test("ends with its signal while the server is away, without an error", async () => {
    await begin((server) => {
      for (let at = 0; at < 20; at += 1) server.faults.push({ of: "any", status: 503 });
    });
    await vi.waitFor(() => expect(world.server.requests.length).toBeGreaterThan(1), { timeout: 60_000 });
  });

  test("knows since when the server has not confirmed what it has", async () => {
    await begin((server) => server.put("a", "Running"));
    expect(world.informer.currentAtMs).toBeUndefined();
    await world.synced();
    const current = (): number => world.informer.currentAtMs ?? Number.NaN;
    const grows = (thanMs: number) => vi.waitFor(() => expect(current()).toBeGreaterThan(thanMs), { timeout: 60_000 });
    let beforeMs = current();
    world.server.bookmark();
    await grows(beforeMs);
    for (let times = 0; times < 40; times += 1) world.server.faults.push({ of: "any", status: 500 });
    world.server.fail({ code: 500 });
    await vi.waitFor(() => expect(world.restarts.length).toBeGreaterThan(1), { timeout: 60_000 });
    beforeMs = current();
    await vi.waitFor(() => expect(world.restarts.length).toBeGreaterThan(3), { timeout: 60_000 });
    expect(current()).toBe(beforeMs);
    world.server.faults.length = 0;
    world.server.put("b", "Running");
    await world.agrees();
    await grows(beforeMs);
  });

  test("keeps objects frozen when asked to", async () => {
    await begin((server) => server.put("a", "Running"));
    await world.synced();
    const [pod] = world.informer.store.list();
    expect(Object.isFrozen(pod?.status)).toBe(true);
  });
});

test("a kind that may not be read is settled, says in the server's words why, and comes at once when asked to try", async () => {
  const world = await World.start(jsonProjection<SmallPod>(), (server) => {
    for (let times = 0; times < 40; times += 1) server.faults.push({ of: "any", status: 403 });
    server.put("a", "Pending");
  });
  try {
    await world.informer.whenSettled(AbortSignal.timeout(60_000));
    expect(world.informer.synced).toBe(false);
    expect(world.informer.refusal).toContain("403 refused");
    world.server.faults.length = 0;
    const asked = vi.waitFor(
      () => {
        world.informer.retryNow();
        expect(world.informer.synced).toBe(true);
      },
      { timeout: 60_000, interval: 1 },
    );
    await asked;
    await world.agrees();
    expect(world.informer.refusal).toBeUndefined();
  } finally {
    await world.close();
  }
});

test("what was read is refused only once that lasts: a server that has just started refuses everything", async () => {
  const world = await World.start(jsonProjection<SmallPod>(), (server) => server.put("a", "Pending"));
  const refusedFor = async (ms: number): Promise<void> => {
    world.server.faults.push(...Array.from({ length: 40 }, () => ({ of: "any", status: 403 }) as const));
    const fromMs = clock.monotonicMs();
    const restarts = world.restarts.length;
    world.server.fail({ code: 410 });
    await vi.waitFor(
      () => {
        world.informer.retryNow();
        expect(world.restarts.length).toBeGreaterThan(restarts + 2);
        expect(clock.monotonicMs() - fromMs).toBeGreaterThan(ms);
      },
      { timeout: 60_000, interval: 20 },
    );
  };
  try {
    await world.synced();
    await refusedFor(2_000);
    expect(world.informer.refusal).toBeUndefined();
    await refusedFor(15_000);
    expect(world.informer.refusal).toContain("403 refused");
  } finally {
    await world.close();
  }
});
