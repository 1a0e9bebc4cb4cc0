import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FEWEST_WALKS, runs } from "../../base/testing/runs.ts";
import { ID, World } from "../testing/reported-world.ts";
import { ToldPlatform } from "../testing/told-platform.ts";
import { Ledger } from "./ledger.ts";
import { reportParts } from "./report-parts.ts";

/** A platform that keeps a hundredth: 95 rows of 9,500. */
function small(world = new World()): World {
  for (let times = 0; times < 20; times += 1) world.reports.exceeded(ID);
  return world;
}

const MOST = 95;
const names = Array.from({ length: 130 }, (_, index) => `w-${index}`);
const severity = { unhealthy: 0, degraded: 1, unknown: 2, healthy: 3 } as const;
const healthOf = (ready: number | undefined): keyof typeof severity =>
  ready === 0 ? "unhealthy" : ready === 1 ? "degraded" : "healthy";

function healthsOf(world: World, isTold: boolean): readonly number[] {
  const told = new Set(world.rows());
  return [...world.objects]
    .filter(([name]) => told.has(name) === isTold)
    .map(([, { counts }]) => severity[healthOf(counts.ready)]);
}

describe("of more objects than the platform keeps", () => {
  test("the healthiest are left out, and the level says that it is not complete", async () => {
    const world = new World();
    for (let count = 0; count < 12_000; count += 1) world.set(`w-${count}`, count % 20 === 0 ? 1 : 3);
    const { parts } = await world.report();
    expect(world.rows()).toHaveLength(9_500);
    expect(healthsOf(world, false).filter((each) => each !== severity.healthy)).toEqual([]);
    expect(parts.at(-1)?.resourceLevel).toMatchObject({ complete: false, rows: 9_500 });
    expect(world.reports.summary(ID)).toMatchObject({ leftOut: 2_500, workloads: { total: 12_000, degraded: 600 } });
    // One that was left out and gets sick takes the place of a healthy one; nothing else moves.
    const told = new Set(world.rows());
    const left = [...world.objects.keys()].find((name) => !told.has(name)) ?? "";
    world.set(left, 0);
    const before = world.platform.rowsSent;
    await world.report();
    expect([world.rows().length, world.rows().includes(left)]).toEqual([9_500, true]);
    expect([world.platform.rowsSent - before, world.platform.resends]).toEqual([1, 0]);
    for (let count = 0; count < 3_000; count += 1) world.set(`w-${count}`, undefined);
    const { parts: last } = await world.report();
    expect(last.at(-1)?.resourceLevel).toMatchObject({ complete: true, rows: 9_000 });
    expect([world.rows().length, world.platform.resends]).toEqual([9_000, 0]);
  });

  test("what gives way is gone before what takes its room is told, also in another list", async () => {
    const ledger = new Ledger<string>();
    const platform = new ToldPlatform();
    const observe = (list: string, from: number, to: number, health: "unhealthy" | "healthy"): void => {
      ledger.scope(list, true);
      for (let index = from; index < to; index += 1) {
        const id = `${list}-${index}`;
        const row = { rawIdentity: id, providerKind: "Deployment", displayName: id, health } as const;
        const labels = { note: "x".repeat(800) };
        const rest = { lifecycle: "running", partial: false, providerStale: false, labels } as const;
        ledger.observe(list, id, { row: { ...row, ...rest }, heartbeat: undefined });
      }
      ledger.choose();
    };
    const most: number[] = [];
    const tell = async (full: boolean): Promise<void> => {
      const options = { full, observedAt: "2026-01-01T12:00:00Z" };
      const turns = { next: () => undefined };
      for (const part of await reportParts(ledger, ["a", "b"], options, turns)) {
        ledger.sending(part.changes);
        platform.store(part);
        ledger.acknowledge(part.changes, part.scopes);
        most.push([...platform.scopes.values()].reduce((sum, { rows }) => sum + rows.size, 0));
      }
    };
    observe("a", 0, 10, "unhealthy");
    observe("b", 0, 9_600, "healthy");
    await tell(true);
    ledger.forget("a", "a-9", "none");
    observe("a", 10, 1_800, "unhealthy");
    await tell(false);
    expect(platform.scopes.get("a")?.rows.size).toBe(1_799);
    expect(most.length).toBeGreaterThan(12);
    expect(Math.max(...most)).toBe(9_500);
    expect(most.at(-1)).toBe(9_500);
  });

  test("heartbeats leave less room for rows, and none beyond the bytes that the platform keeps", async () => {
    const world = small();
    const note = "x".repeat(900);
    world.labels = { note };
    for (const name of names) world.set(name, 3);
    await world.report();
    const bytes = JSON.stringify([...world.platform.heartbeats.values()]).length + world.platform.bytes;
    expect(world.rows().length).toBeGreaterThan(0);
    expect(world.rows().length).toBeLessThan(MOST);
    expect(bytes).toBeLessThanOrEqual((15 * 1024 * 1024) / 100);
  });

  test("a platform that keeps less is told less until it takes it, and all again hours later", async () => {
    const world = new World();
    for (const name of names) world.set(name, 3);
    world.platform.most = 100;
    let refused = 0;
    for (; refused < 40; refused += 1) {
      const isTaken = await world.report().then(
        () => true,
        () => false,
      );
      if (isTaken) break;
      world.reports.exceeded(ID);
    }
    expect(refused).toBeGreaterThan(1);
    expect(world.rows().length).toBeLessThanOrEqual(100);
    expect((await world.report()).mode).toBe("confirm");
    world.platform.most = 1_000;
    world.clock.advance(7 * 3_600_000);
    await world.report();
    expect([world.rows().length, world.platform.resends]).toEqual([names.length, 0]);
  });

  test("whatever comes and goes, none sick is left out for one that is well, and what is told stays told", async () => {
    const event = fc.oneof(
      { weight: 6, arbitrary: fc.tuple(fc.constantFrom(...names), fc.constantFrom(undefined, 0, 1, 3, 3, 3)) },
      { weight: 2, arbitrary: fc.constantFrom("sent", "lost", "unanswered") },
      { weight: 1, arbitrary: fc.constant("again") },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { size: "max", maxLength: 150 }), async (events) => {
        const world = small();
        world.platform.most = 100;
        for (const name of names) world.set(name, 3);
        await world.report();
        for (const each of events) {
          if (typeof each !== "string") world.set(...each);
          else if (each === "again") for (const name of world.objects.keys()) world.again(name);
          else await world.report(() => each as "sent");
        }
        await world.report();
        expect(world.rows()).toHaveLength(Math.min(MOST, world.objects.size));
        expect(Math.max(-1, ...healthsOf(world, true))).toBeLessThanOrEqual(Math.min(3, ...healthsOf(world, false)));
        const told = world.rows();
        for (const name of world.objects.keys()) world.again(name);
        expect((await world.report()).mode).toBe("confirm");
        expect([world.rows(), world.platform.resends, world.repeats]).toEqual([told, 0, 0]);
        world.restart();
        small(world);
        await world.report();
        expect([world.rows(), world.platform.resends]).toEqual([told, 0]);
      }),
      { numRuns: runs(20, FEWEST_WALKS) },
    );
  });
});
