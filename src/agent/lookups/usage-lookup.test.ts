import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { settle } from "../../base/testing/settle.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { type PodMetrics, podMetricsShape } from "../../kube/projection/metrics-shapes.ts";
import { UsageLookup } from "./usage-lookup.ts";

const AT = "2026-01-01T11:59:30Z";
const measured = (name: string, ...containers: readonly object[]): PodMetrics =>
  podMetricsShape.fromJson(
    { metadata: { name }, timestamp: AT, containers: containers.map((usage) => ({ name: "c", usage })) },
    new Interner(),
  );
const refused = (status: number) => () => Promise.reject(new ApiError("no", { status, reason: "" }));

class World {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly abort = new AbortController();
  readonly asked: string[] = [];
  readonly changed: string[] = [];
  mayRead = true;
  count: number | undefined = 2;
  /** Lists that are under way now, and the most there were. */
  open = 0;
  most = 0;
  answer: () => Promise<readonly PodMetrics[]> = () =>
    Promise.resolve([measured("a", { cpu: "250m", memory: "64Mi" }, { cpu: "1000000n", memory: "1Ki" })]);
  readonly lookup: UsageLookup;
  readonly #running: Promise<void>;

  constructor(isOn = true) {
    this.lookup = new UsageLookup({
      clock: this.clock,
      log: silentLogger,
      isOn,
      list: async (namespace) => {
        this.asked.push(namespace);
        this.open += 1;
        this.most = Math.max(this.most, this.open);
        return await this.answer().finally(() => {
          this.open -= 1;
        });
      },
      mayRead: () => this.mayRead,
      podCount: () => this.count,
      changed: (namespace) => void this.changed.push(namespace),
    });
    this.#running = this.lookup.run(this.abort.signal);
  }

  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.advance(1_000);
      await settle();
    }
  }

  reason(): string | undefined {
    return this.lookup.of("shop").issue?.reason;
  }

  async end(): Promise<void> {
    this.abort.abort();
    await this.#running;
    expect(this.clock.pending).toBe(0);
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.end());

test("a pod used what its containers used together, and one that was not measured used nothing that is known", async () => {
  world.answer = () =>
    Promise.resolve([
      measured("a", { cpu: "250m", memory: "64Mi" }, { cpu: "1000000n", memory: "1Ki" }),
      measured("half", { cpu: "1", memory: "1Mi" }, { memory: "1Mi" }),
      measured("odd", { cpu: "much", memory: "-1" }),
      measured("none"),
    ]);
  expect(world.lookup.of("shop").pods.size).toBe(0);
  await world.pass(2);
  const { pods, issue } = world.lookup.of("shop");
  expect(Object.fromEntries(pods)).toEqual({
    a: { cores: 0.251, bytes: 67_109_888, at: AT },
    half: { cores: undefined, bytes: 2_097_152, at: AT },
    odd: { cores: undefined, bytes: undefined, at: AT },
    none: { cores: undefined, bytes: undefined, at: AT },
  });
  expect([pods.get("b"), issue]).toEqual([undefined, undefined]);
});

test("what is asked for is read once a minute, one namespace after the other, and only that usage came is told", async () => {
  for (const name of ["shop", "bank", "mail"]) world.lookup.of(name);
  await world.pass(181);
  expect(world.asked.filter((each) => each === "shop")).toHaveLength(3 + 1);
  expect([new Set(world.asked), world.most]).toEqual([new Set(["shop", "bank", "mail"]), 1]);
  expect(world.changed).toEqual(["shop", "bank", "mail"]);
});

test("a namespace that is looked at no more is read no more", async () => {
  world.lookup.of("shop");
  await world.pass(2_500);
  const { length } = world.asked;
  await world.pass(200);
  expect(world.asked).toHaveLength(length);
});

test.each([
  [404, "not-installed"],
  [403, "forbidden"],
])("the answer %i is told at once as %s, and that it is over too", async (status, reason) => {
  world.answer = refused(status);
  world.lookup.of("shop");
  await world.pass(2);
  expect([world.reason(), world.changed]).toEqual([reason, ["shop"]]);
  await world.pass(300);
  expect([world.reason(), world.changed]).toEqual([reason, ["shop"]]);
  world.answer = () => Promise.resolve([measured("a", { cpu: "1", memory: "1" })]);
  await world.pass(700);
  expect([world.reason(), world.changed]).toEqual([undefined, ["shop", "shop"]]);
});

test("a cluster without the API is asked once in ten minutes, whatever namespaces it has", async () => {
  world.answer = refused(404);
  for (const name of ["shop", "bank", "mail"]) world.lookup.of(name);
  await world.pass(590);
  expect([world.asked, world.reason()]).toEqual([["shop"], "not-installed"]);
  await world.pass(70);
  expect(world.asked).toHaveLength(2);
});

test.each([
  [503, "api-unavailable"],
  [504, "timed-out"],
  [422, "collection-failed"],
])("the answer %i is told as %s once what was read is three minutes old", async (status, reason) => {
  world.lookup.of("shop");
  await world.pass(2);
  world.answer = refused(status);
  await world.pass(120);
  expect([world.reason(), world.lookup.of("shop").pods.size]).toEqual([undefined, 1]);
  await world.pass(120);
  expect([world.reason(), world.lookup.of("shop").pods.size, world.changed.length]).toEqual([reason, 0, 2]);
});

test("a namespace of too many pods, or without the right, or whose pods are not known, is not asked for", async () => {
  world.count = 5_001;
  world.lookup.of("shop");
  await world.pass(2);
  expect(world.reason()).toBe("timed-out");
  world.count = 10;
  world.mayRead = false;
  await world.pass(61);
  expect(world.reason()).toBe("forbidden");
  world.count = undefined;
  await world.pass(61);
  expect(world.asked).toEqual([]);
  world.count = 10;
  world.mayRead = true;
  world.lookup.retryNow();
  await world.pass(1);
  expect([world.asked, world.reason()]).toEqual([["shop"], undefined]);
});

test("switched off it asks for nothing, and says so", async () => {
  const off = new World(false);
  expect(off.lookup.of("shop")).toMatchObject({ issue: { reason: "forbidden", severity: "info" } });
  await off.pass(120);
  expect(off.asked).toEqual([]);
  await off.end();
});
