import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { pool } from "../testing/join-world.ts";
import { Announcements } from "./announcements.ts";
import { actingPools } from "./pools.ts";

const PIN = `sha256//${"A".repeat(43)}=`;
const caFile = join(mkdtempSync(join(tmpdir(), "announcements-")), "ca.crt");
writeFileSync(caFile, "the authority");

function world(pools: MachinePool[]) {
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  const said: [string, unknown][] = [];
  const reported: [string, unknown][] = [];
  const state = { isAway: false };
  const announcements = new Announcements({
    ...{ url: "https://join.example:8443", caFile, pins: () => [PIN], clock, log: silentLogger },
    pools: () => pools,
    client: {
      rawGet: async () => '{"gitVersion":"v1.36.3"}',
      patch: (async (_: unknown, { name }: { name: string }, { body }: { body: object }) => {
        said.push([name, body]);
        const index = pools.findIndex(({ metadata }) => metadata.name === name);
        const known = pools[index];
        if (known !== undefined) pools[index] = { ...known, ...body };
        return {};
      }) as never,
    },
    platform: {
      machines: {
        join: async () => Promise.reject(new Error("not here")),
        joinServer: async ({ params, body }) => {
          if (state.isAway) throw new Error("away");
          reported.push([params.id, body]);
          return { reportedAt: "" };
        },
      },
      close: async () => undefined,
    },
    metrics: { reported: () => undefined },
  });
  return { clock, said, reported, state, announcements };
}

const later = async (clock: FakeClock, ms: number): Promise<void> => {
  clock.advance(ms);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

test("each pool says where machines join, and the platform hears it each minute for each deployment", async () => {
  const pools = [pool("workers", "dep_1"), pool("younger", "dep_1"), pool("other", "dep_2")];
  const { clock, said, reported, announcements } = world(pools);
  const stop = new AbortController();
  const done = announcements.run(stop.signal);
  await expect.poll(() => reported.length).toBe(2);
  const at = "2026-01-01T00:00:00Z";
  const joinServer = { url: "https://join.example:8443", pins: [PIN], at };
  expect(said).toEqual(["workers", "younger", "other"].map((name) => [name, { status: { joinServer } }]));
  const report = { url: "https://join.example:8443", pins: [PIN], apiServerVersion: "v1.36.3" };
  expect(reported).toEqual([
    ["dep_1", report],
    ["dep_2", report],
  ]);
  expect(announcements).toMatchObject({ ca: "the authority", serverVersion: "v1.36.3" });
  await later(clock, 59_999);
  expect(reported).toHaveLength(2);
  await later(clock, 1);
  await expect.poll(() => reported.length).toBe(4);
  pools.push(pool("new", "dep_3"));
  announcements.wake();
  await expect.poll(() => reported.length).toBe(7);
  stop.abort();
  await done;
  expect(clock.pending).toBe(0);
});

test("while the platform is away the pools say it all the same, and it is tried again in ten seconds", async () => {
  const { clock, said, reported, state, announcements } = world([pool("workers", "dep_1")]);
  state.isAway = true;
  const stop = new AbortController();
  const done = announcements.run(stop.signal);
  await expect.poll(() => said.length).toBe(1);
  await expect.poll(() => clock.pending).toBe(1);
  state.isAway = false;
  await later(clock, 10_000);
  await expect.poll(() => reported.length).toBe(1);
  stop.abort();
  await done;
});

test("of a deployment's pools the oldest acts, then the first by name; one that is being deleted does not", () => {
  const at = (name: string, creationTimestamp: string, more: object = {}): MachinePool => {
    const made = pool(name, "dep_1");
    return { ...made, metadata: { ...made.metadata, creationTimestamp, ...more } };
  };
  const pools = [
    at("gone", "2025-01-01T00:00:00Z", { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    at("b", "2026-01-01T00:00:00Z"),
    at("a", "2026-01-01T00:00:00Z"),
    at("c", "2026-01-02T00:00:00Z"),
  ];
  for (const order of [pools, [...pools].reverse()]) {
    expect(actingPools(order).map(({ metadata }) => metadata.name)).toEqual(["a"]);
  }
});
