import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import { settle } from "../../base/testing/settle.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { type Event, eventShape } from "../../kube/projection/shapes.ts";
import { EventLookup, type ObjectRef } from "./event-lookup.ts";

const event = (uid: string, note: string): Event =>
  eventShape.fromJson(
    { metadata: { name: uid, uid }, regarding: { kind: "Job", name: "j" }, reason: "R", type: "Warning", note },
    new Interner(),
  );
const ref = (name: string): ObjectRef => ({ namespace: "shop", kind: "Job", name });

class World {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly abort = new AbortController();
  /** Uids that were asked for, with the time of each. */
  readonly asked: { readonly uid: string; readonly atMs: number }[] = [];
  readonly changed: string[] = [];
  mayRead = true;
  answer: (uid: string, signal: AbortSignal) => readonly Event[] | Promise<readonly Event[]> = (uid) => [
    event(`of-${uid}`, uid),
  ];
  readonly lookup: EventLookup<string>;
  readonly #running: Promise<void>;

  constructor(isOn = true) {
    this.lookup = new EventLookup({
      clock: this.clock,
      log: silentLogger,
      isOn,
      list: async (_, uid, signal) => {
        this.asked.push({ uid, atMs: this.clock.monotonicMs() });
        return await this.answer(uid, signal);
      },
      mayRead: () => this.mayRead,
      changed: ({ name }) => void this.changed.push(name),
    });
    this.#running = this.lookup.run(this.abort.signal);
  }

  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.advance(1_000);
      await settle();
    }
  }

  notes(name: string, subjects: readonly string[] = [name]): readonly string[] {
    return this.lookup.of(ref(name), subjects).events.map(({ message }) => message);
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

describe("events of a workload that is sick", () => {
  test("are asked for by uid, of itself and of four others at most, and then told", async () => {
    expect(world.notes("a", ["a", "b", "c", "d", "e", "f"])).toEqual([]);
    await world.pass(2);
    expect(world.asked.map(({ uid }) => uid)).toEqual(["a", "b", "c", "d", "e"]);
    expect(world.changed).toEqual(["a"]);
    expect(world.notes("a", ["a", "b"]).toSorted()).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("are asked for again after five minutes, after one when it has other pods, and told when they are others", async () => {
    world.notes("a");
    await world.pass(2);
    for (let minute = 0; minute < 4; minute += 1) {
      world.notes("a");
      await world.pass(60);
    }
    expect(world.asked).toHaveLength(1);
    world.notes("a");
    await world.pass(70);
    expect([world.asked.length, world.changed]).toEqual([2, ["a"]]);
    world.notes("a", ["a", "pod"]);
    await world.pass(70);
    expect([world.asked.length, world.changed]).toEqual([4, ["a", "a"]]);
  });

  test("are not asked for once it is well, or looked at no more", async () => {
    world.notes("a");
    world.notes("b");
    world.lookup.well(ref("a"));
    await world.pass(600);
    expect(world.asked.map(({ uid }) => uid)).toEqual(["b"]);
  });

  test("are told as late when there are too many of them", async () => {
    for (let count = 0; count < 201; count += 1) world.notes(`w-${count}`, [`w-${count}`, "x"]);
    const late = { reason: "timed-out", source: "events", severity: "info" };
    expect(world.lookup.of(ref("w-200"), ["w"]).issue).toMatchObject(late);
    await world.pass(61);
    expect(world.lookup.of(ref("w-199"), ["w"])).toMatchObject({ events: [], issue: late });
    expect(world.lookup.of(ref("w-0"), ["w-0", "x"]).issue).toBeUndefined();
  });

  test.each([
    [403, "forbidden"],
    [404, "not-installed"],
    [503, "api-unavailable"],
    [504, "timed-out"],
    [422, "collection-failed"],
  ])("with the answer %i: what was told stays, and the issue says %s", async (status, reason) => {
    world.notes("a");
    await world.pass(2);
    world.answer = () => Promise.reject(new ApiError("no", { status, reason: "" }));
    await world.pass(100);
    world.notes("a", ["a", "b"]);
    await world.pass(70);
    expect(world.lookup.of(ref("a"), ["a", "b"])).toMatchObject({ events: [{ message: "a" }], issue: { reason } });
    expect(world.changed).toEqual(["a", "a"]);
  });

  test("that do not come within ten seconds are late, and the next are asked for", async () => {
    world.answer = (uid, signal) =>
      uid === "b"
        ? [event("e", uid)]
        : new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    world.notes("a");
    world.notes("b");
    await world.pass(12);
    expect(world.lookup.of(ref("a"), ["a"]).issue?.reason).toBe("timed-out");
    expect(world.notes("b")).toEqual(["b"]);
  });

  test("without the right no request is made, and with it again at once", async () => {
    world.mayRead = false;
    world.notes("a");
    await world.pass(60);
    expect(world.asked).toEqual([]);
    expect(world.lookup.of(ref("a"), ["a"]).issue).toMatchObject({ reason: "forbidden", severity: "warning" });
    world.mayRead = true;
    world.lookup.retryNow();
    await world.pass(2);
    expect(world.notes("a")).toEqual(["a"]);
    expect(world.lookup.of(ref("a"), ["a"]).issue).toBeUndefined();
  });

  test("are neither asked for nor kept when they are switched off", async () => {
    const off = new World(false);
    expect(off.lookup.of(ref("a"), ["a"])).toMatchObject({
      events: [],
      issue: { reason: "forbidden", severity: "info" },
    });
    await off.pass(60);
    expect(off.asked).toEqual([]);
    await off.end();
  });
});

test("whatever gets sick, in no minute are there more than thirty lists", async () => {
  const step = fc.record({
    name: fc.constantFrom(..."abcdefghijklmnop"),
    subjects: fc.array(fc.constantFrom("p", "q", "r", "s", "t"), { minLength: 3, maxLength: 6 }),
    isWell: fc.boolean(),
    seconds: fc.integer({ min: 0, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
      const all = new World();
      for (const { name, subjects, isWell, seconds } of steps) {
        if (isWell) all.lookup.well(ref(name));
        else all.notes(name, [name, ...subjects]);
        await all.pass(seconds);
      }
      await all.pass(120);
      for (const { atMs } of all.asked) {
        const within = all.asked.filter((each) => each.atMs >= atMs && each.atMs < atMs + 60_000);
        expect(within.length).toBeLessThanOrEqual(30);
      }
      await all.end();
    }),
    { numRuns: runs(30) },
  );
});
