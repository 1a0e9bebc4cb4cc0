import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import type { ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { HiddenNames } from "../names/names.ts";
import { ID, SCOPE, World } from "../testing/reported-world.ts";

const signal = new AbortController().signal;

const clusterOf = (health: string) => (now: Date) =>
  ({
    ...{ resourceId: "kubernetes-cluster", resourceType: "kubernetes-cluster", observedAt: now.toISOString(), raw: [] },
    data: { resourceType: "kubernetes-cluster", data: { status: { health } } },
  }) as unknown as ResourceHeartbeat;

test("the cluster's heartbeat is told once, when it changes, and again with everything; none while nothing is accepted", async () => {
  const world = new World();
  world.cluster = clusterOf("healthy");
  await world.report(undefined, []);
  expect(world.platform.heartbeats.size).toBe(0);
  const told = async (): Promise<number> =>
    (await world.report()).parts.reduce((sum, { resourceHeartbeats }) => sum + resourceHeartbeats.length, 0);
  expect([await told(), await told()]).toEqual([1, 0]);
  world.cluster = clusterOf("degraded");
  expect([await told(), await told()]).toEqual([1, 0]);
  world.clock.advance(40 * 60_000);
  expect(await told()).toBe(1);
  const isComplete = async () => (await world.report()).parts.at(-1)?.resourceLevel?.complete;
  expect(await isComplete()).toBe(true);
  world.nodes.isCurrent = false;
  expect(await isComplete()).toBe(false);
  expect([world.platform.heartbeats.size, world.platform.resends]).toEqual([1, 0]);
});

test("under other names everything is told again, once, and nothing before the salt was asked for", async () => {
  const world = new World();
  world.names.isStarting = true;
  world.set("api", 3);
  expect((await world.report()).mode).toBe("starting");
  Object.assign(world.names, { isStarting: false, hidden: new HiddenNames(Buffer.alloc(32, 1)) });
  expect([(await world.report()).mode, (await world.report()).mode]).toEqual(["full", "confirm"]);
  world.names.hidden = new HiddenNames(Buffer.alloc(32, 2));
  expect([(await world.report()).mode, (await world.report()).mode]).toEqual(["full", "confirm"]);
});

test("a row and a heartbeat that the platform refuses hold up no others, and are told when they are others", async () => {
  const world = new World();
  for (const name of ["api", "web", "db"]) world.set(name, 3);
  const { parts } = await world.reports.next(ID, ["shop"], signal);
  const [part] = parts;
  const at = part?.observedInventoryBatches.findIndex(({ inventoryScope }) => inventoryScope === SCOPE);
  const issues = [
    { path: `body.observedInventoryBatches.${at}.resources.1.labels`, message: "is larger than 16384 bytes" },
    { path: "body.resourceHeartbeats.1.data.data.name", message: "must not have more than 1024 characters" },
  ];
  expect(world.reports.withoutRefused(ID, parts, [{ path: "body.state", message: "is required" }])).toBeUndefined();
  for (const left of world.reports.withoutRefused(ID, parts, issues) ?? []) {
    world.reports.acknowledged(ID, left, world.platform.store(structuredClone(left)));
  }
  expect([world.rows().length, world.platform.heartbeats.size]).toEqual([2, 2]);
  expect([(await world.report()).mode, (await world.report()).mode]).toEqual(["confirm", "confirm"]);
  for (const name of ["api", "web", "db"]) world.set(name, 2);
  await world.report();
  expect([world.rows().length, world.platform.heartbeats.size, world.platform.resends]).toEqual([3, 3, 0]);
});

describe("what is told of a deployment", () => {
  test("is everything once, then what changed, and otherwise that nothing did", async () => {
    const world = new World();
    for (const name of ["a", "b", "c"]) world.set(name, 3);
    expect((await world.report()).mode).toBe("full");
    expect(await world.report()).toMatchObject({
      mode: "confirm",
      parts: [{ resourceHeartbeats: [], resourceLevel: { rows: 3 } }],
    });
    world.set("b", 1);
    world.set("c", undefined);
    const { mode, isWorse, parts } = await world.report();
    expect([mode, isWorse, parts.length]).toEqual(["delta", true, 1]);
    expect(parts[0]).toMatchObject({
      resourceHeartbeats: [{ resourceId: "deployment.shop.b" }],
      removedHeartbeats: [{ resourceType: "container", resourceId: "deployment.shop.c" }],
      observedInventoryBatches: [
        { mode: "delta", removed: ["apps/v1:Deployment:shop:c"], resources: [] },
        { mode: "delta", removed: [], resources: [{ displayName: "b" }] },
      ],
    });
    expect([world.rows(), world.platform.resends]).toEqual([["a", "b"], 0]);
    // Once for what changed, and not for a look that found nothing.
    expect(world.delays.map(Math.round)).toEqual([1]);
  });

  test("a workload that changed and changed back is not told", async () => {
    const world = new World();
    world.set("a", 3);
    await world.report();
    world.set("a", 3);
    expect((await world.report()).mode).toBe("confirm");
  });

  test("waits until all lists are read, but for a minute", async () => {
    const world = new World();
    world.list = "starting";
    expect((await world.report()).mode).toBe("starting");
    world.clock.advance(60_000);
    expect(await world.report()).toMatchObject({ mode: "full", parts: [{ resourceLevel: { complete: false } }] });
  });

  test("nothing is gone when a list may not be read any more, and all is known again when it may", async () => {
    const world = new World();
    world.set("a", 3);
    await world.report();
    world.list = "unreadable";
    expect(await world.report()).toMatchObject({
      mode: "delta",
      parts: [{ resourceLevel: { complete: false, rows: 0 } }],
    });
    expect(world.rows()).toEqual(["a"]);
    expect(world.platform.heartbeats.get("deployment.shop.a")?.data.data.status.health).toBe("unknown");
    world.list = "read";
    expect(await world.report()).toMatchObject({ parts: [{ resourceLevel: { complete: true, rows: 1 } }] });
    expect(world.platform.heartbeats.get("deployment.shop.a")?.data.data.status.health).toBe("healthy");
    expect(world.platform.resends).toBe(0);
  });

  test("of a list that is too large is kept by the platform, and not confirmed, until it can be held again", async () => {
    const world = new World();
    for (const name of ["a", "b"]) world.set(name, 3);
    await world.report();
    const held = new Map(world.objects);
    world.objects.clear();
    world.list = "too-large";
    const { mode, parts } = await world.report();
    expect([mode, parts.at(-1)?.resourceLevel?.complete, parts.at(-1)?.resourceLevel?.rows]).toEqual([
      "full",
      false,
      0,
    ]);
    expect(parts.flatMap(({ removedHeartbeats }) => removedHeartbeats)).toEqual([]);
    expect(world.rows()).toEqual(["a", "b"]);
    expect((await world.report()).mode).toBe("confirm");
    for (const [name, object] of held) world.objects.set(name, object);
    world.list = "read";
    await world.report();
    expect([world.rows(), (await world.report()).mode, world.platform.resends]).toEqual([["a", "b"], "confirm", 0]);
  });

  test("of a namespace that is closed goes at once", async () => {
    const world = new World();
    world.set("a", 3);
    await world.report();
    expect((await world.report(undefined, [])).mode).toBe("full");
    expect([world.platform.scopes.size, world.platform.heartbeats.size]).toEqual([0, 0]);
  });

  test("is told whole to a platform that lost it, once, and then ever less often to one that goes on asking", async () => {
    const world = new World();
    for (const name of ["a", "b"]) world.set(name, 3);
    await world.report();
    world.platform.heartbeats.delete("deployment.shop.a");
    expect([(await world.report()).mode, (await world.report()).mode]).toEqual(["confirm", "full"]);
    expect([world.platform.resends, (await world.report()).mode]).toEqual([1, "confirm"]);
    const store = world.platform.store.bind(world.platform);
    world.platform.store = (part) => store(part) || true;
    const modes: string[] = [];
    for (let turn = 0; turn < 60; turn += 1) {
      world.clock.advance(9_000);
      modes.push((await world.report()).mode);
    }
    expect(modes.filter((mode) => mode === "full").length).toBeLessThanOrEqual(6);
  });

  test("is told whole ever less often also to a platform that takes each full report and then asks again", async () => {
    const world = new World();
    world.set("a", 3);
    await world.report();
    const store = world.platform.store.bind(world.platform);
    world.platform.store = (part) => store(part) || part.resourceLevel?.full !== true;
    const modes: string[] = [];
    for (let turn = 0; turn < 60; turn += 1) {
      world.clock.advance(9_000);
      modes.push((await world.report()).mode);
    }
    expect(modes.filter((mode) => mode === "full").length).toBeLessThanOrEqual(6);
  });

  test("gives at most 500 a heartbeat, and one that gets sick takes the place of one that is well", async () => {
    const world = new World();
    for (let count = 0; count < 520; count += 1) world.set(`w-${count}`, 3);
    const { parts } = await world.report();
    expect([world.platform.heartbeats.size, world.rows().length]).toEqual([500, 520]);
    for (const part of parts) {
      expect(part.resourceHeartbeats.length).toBeLessThanOrEqual(100);
      expect(part.observedInventoryBatches.length).toBeLessThanOrEqual(20);
      expect(Buffer.byteLength(JSON.stringify(part.resourceHeartbeats))).toBeLessThan(1_000_000);
    }
    world.set("w-519", 0);
    await world.report();
    expect(world.platform.heartbeats.get("deployment.shop.w-519")?.data.data.status.health).toBe("unhealthy");
    expect([world.platform.heartbeats.size, world.platform.resends]).toEqual([500, 0]);
  });

  test("of 500 that are degraded one gives way to one that is unhealthy, and none to another that is degraded", async () => {
    const world = new World();
    for (let count = 0; count < 501; count += 1) world.set(`w-${count}`, 1);
    await world.report();
    expect(world.platform.heartbeats.has("deployment.shop.w-500")).toBe(false);
    world.set("w-501", 0);
    await world.report();
    expect(world.platform.heartbeats.get("deployment.shop.w-501")?.data.data.status.health).toBe("unhealthy");
    expect([world.platform.heartbeats.size, world.platform.resends]).toEqual([500, 0]);
  });

  test("a workload that was stopped gives way to one that runs", async () => {
    const world = new World();
    for (let count = 0; count < 500; count += 1) world.set(`w-${count}`, 0, 0);
    await world.report();
    world.set("runs", 3);
    world.set("stopped", 0, 0);
    await world.report();
    expect(world.platform.heartbeats.has("deployment.shop.runs")).toBe(true);
    expect(world.platform.heartbeats.has("deployment.shop.stopped")).toBe(false);
  });

  test("whatever is lost on the way, in the end the platform has what the cluster has, and was sent no row twice", async () => {
    const event = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.tuple(
          fc.constant("set" as const),
          fc.constantFrom(..."abcdef"),
          fc.constantFrom(undefined, 0, 1, 3),
        ),
      },
      {
        weight: 2,
        arbitrary: fc.tuple(fc.constant("report" as const), fc.constantFrom("sent", "lost", "unanswered"), fc.nat(2)),
      },
      { weight: 2, arbitrary: fc.tuple(fc.constant("again" as const), fc.constantFrom(..."abcdef"), fc.constant(0)) },
      { weight: 1, arbitrary: fc.tuple(fc.constant("restart" as const), fc.constant(0), fc.constant(0)) },
      { weight: 1, arbitrary: fc.tuple(fc.constant("refused" as const), fc.boolean(), fc.constant(0)) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        const world = new World();
        for (const each of events) {
          if (each[0] === "set") world.set(each[1], each[2]);
          else if (each[0] === "again") world.again(each[1]);
          else if (each[0] === "restart") world.restart();
          else if (each[0] === "refused") world.list = each[1] ? "unreadable" : "read";
          else await world.report((index) => (index >= each[2] ? (each[1] as "sent") : "sent"));
        }
        world.list = "read";
        await world.report();
        // Nothing was asked for again, and what has been told is not told again.
        const before = world.platform.rowsSent;
        expect((await world.report()).mode).toBe("confirm");
        expect([world.platform.rowsSent - before, world.platform.resends, world.repeats]).toEqual([0, 0, 0]);
        expect(world.rows()).toEqual([...world.objects.keys()].toSorted());
        for (const [name, { counts }] of world.objects) {
          const told = world.platform.heartbeats.get(`deployment.shop.${name}`)?.data.data as {
            replicas?: { ready?: number };
          };
          expect(told.replicas?.ready).toBe(counts.ready);
        }
      }),
      { numRuns: runs(1_000) },
    );
  });
});
