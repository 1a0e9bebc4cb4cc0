import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { scaledClock } from "../../base/testing/scaled-clock.ts";
import { Client } from "../../kube/client/client.ts";
import { type Connection, connect } from "../../kube/client/connection.ts";
import { FakeApiServer } from "../../kube/testing/fake-api-server.ts";
import { PLAIN_NAMES } from "../names/names.ts";
import { NO_LOOKUPS, NO_NODES } from "../testing/no-lookups.ts";
import { ToldPlatform } from "../testing/told-platform.ts";
import { listsOf } from "./lists.ts";
import { ResourceReports } from "./resource-reports.ts";
import { Workloads } from "./workloads.ts";

// Real caches on a socket, behind them the reports and a platform that stores them. The fake server's only namespace.
const NAMESPACE = "grüße";
const SCOPE = `kubernetes:v1:Pod:${NAMESPACE}`;
const ID = "dep_1";
const signal = new AbortController().signal;
/** 200 times faster: the longest back-off takes 0.3 s. */
const clock = scaledClock(200);
/** That a list gets old is not what is looked at here, and a machine that stalls for a second makes it so. */
const standing = { ...clock, monotonicMs: () => 0 };

let server: FakeApiServer;
let connection: Connection;
let stop: AbortController;
let running: Promise<unknown>;
let workloads: Workloads;
const restarts: string[] = [];

beforeEach(async () => {
  server = await FakeApiServer.start();
  connection = await connect({ explicit: { server: server.url } }, clock);
  restarts.length = 0;
});
afterEach(async () => {
  stop.abort();
  await running;
  await connection.close();
  await server.close();
});

test("caches that must list again and again tell of nothing twice, and of nothing as gone that is there", async () => {
  const platform = new ToldPlatform();
  const sent = new Map<string, number>();
  const removed = new Set<string>();
  const reportClock = new FakeClock("2026-01-01T12:00:00Z");
  stop = new AbortController();
  const none = () => undefined;
  workloads = new Workloads({
    ...{ client: new Client(connection, { clock }), clock: standing, log: silentLogger },
    ...{ namespaces: [NAMESPACE], scope: "namespaces", kinds: ["Pod"] },
    watchMetrics: {
      ...{ event: none, lastEvent: none, objects: none, synced: none },
      restart: (_, reason) => void restarts.push(reason),
    },
    maxPods: 1_000,
    mayRead: () => true,
    open: (kinds, common) => listsOf(kinds, { ...common, clock }),
    changed: (ref) => reports.changed(ID, ref),
  });
  const reports = new ResourceReports({
    ...{ workloads, lookups: NO_LOOKUPS, nodes: NO_NODES, names: PLAIN_NAMES },
    ...{ clock: reportClock, random: () => 0.5 },
    metrics: { resources: none, collection: none, resourceResent: none, changeReported: none },
  });
  const report = async () => {
    reportClock.advance(1_000);
    const { mode, parts } = await reports.next(ID, [NAMESPACE], signal);
    for (const part of parts) {
      const ids = part.observedInventoryBatches.flatMap(({ resources }) => resources.map((each) => each.displayName));
      for (const id of ids) sent.set(id, (sent.get(id) ?? 0) + 1);
      for (const batch of part.observedInventoryBatches) for (const id of batch.removed ?? []) removed.add(id);
      reports.acknowledged(ID, part, platform.store(structuredClone(part)));
    }
    return mode;
  };
  const told = (): string[] =>
    [...(platform.scopes.get(SCOPE)?.rows.keys() ?? [])].map((id) => id.split(":").at(-1) ?? "").toSorted();

  for (let at = 0; at < 60; at += 1) server.put(`kept-${at}`, "Running");
  for (let at = 0; at < 10; at += 1) server.put(`gone-${at}`, "Running");
  running = Promise.all(workloads.runnables().map(({ run }) => run(stop.signal)));
  await vi.waitFor(() => expect(workloads.state(NAMESPACE, "Pod")).toBe("read"), { timeout: 60_000 });
  expect(await report()).toBe("full");
  const kept = told().filter((name) => name.startsWith("kept"));
  expect([kept.length, told().length]).toEqual([60, 70]);

  const modes = new Set<string>();
  for (let round = 0; round < 10; round += 1) {
    // What changes while nothing is watched shows in the next list alone.
    const failed = restarts.length;
    server.faults.push(round % 2 === 0 ? { of: "any", status: 410 } : { of: "watch", cutAfterBytes: 2_000 });
    server.compact();
    server.fail({ code: 410 });
    if (round % 4 === 1) server.remove(`gone-${round}`);
    if (round % 4 === 2) server.put(`new-${round}`, "Running");
    await vi.waitFor(() => expect(restarts.length).toBeGreaterThan(failed), { timeout: 60_000, interval: 1 });
    modes.add(await report());
    expect(told()).toEqual(expect.arrayContaining(kept));
    await vi.waitFor(() => expect(server.openWatches).toBe(1), { timeout: 60_000, interval: 1 });
  }
  expect(restarts.filter((reason) => reason === "gone").length).toBeGreaterThanOrEqual(10);
  const there = [...server.pods.keys()].toSorted();
  await vi.waitFor(
    async () => {
      modes.add(await report());
      expect(told()).toEqual(there);
    },
    { timeout: 60_000 },
  );
  expect([...modes].toSorted()).toEqual(["confirm", "delta"]);
  expect(platform.resends).toBe(0);
  expect([...sent].filter(([, times]) => times > 1)).toEqual([]);
  expect([...removed].map((id) => id.split(":").at(-1)).toSorted()).toEqual(["gone-1", "gone-5", "gone-9"]);
}, 120_000);
