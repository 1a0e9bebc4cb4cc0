import fc from "fast-check";
import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { Client } from "../../kube/client/client.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { type Deployment, deploymentShape } from "../../kube/projection/shapes.ts";
import { STALE_AFTER_MS } from "../kernel/list-state.ts";
import { PLAIN_NAMES } from "../names/names.ts";
import { NO_LOOKUPS, NO_NODES } from "../testing/no-lookups.ts";
import { ToldPlatform } from "../testing/told-platform.ts";
import type { Lists } from "./lists.ts";
import { ResourceReports } from "./resource-reports.ts";
import { Workloads } from "./workloads.ts";

// The list of Deployments of one namespace: the caches' side by facts, as the code decides; the twin by transitions, as
// people describe it. After each report the platform has to know what the twin says.

const strings = new Interner();
const signal = new AbortController().signal;
const ID = "dep_1";
const SCOPE = "kubernetes:apps/v1:Deployment:shop";
const KEPT_BACK_MS = 60_000;

/** The cache as an informer has it: filled by a relist, kept current by a watch that is open. */
class Real {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly platform = new ToldPlatform();
  readonly cache = new Cache<Deployment>({ indexes: {}, clock: this.clock, log: silentLogger, freeze: true });
  synced = false;
  refusal: string | undefined;
  currentAtMs: number | undefined;
  mayRead = true;
  readonly workloads: Workloads;
  readonly reports: ResourceReports;

  constructor() {
    const real = this;
    const list = {
      store: this.cache.store,
      onChange: this.cache.onChange.bind(this.cache),
      get synced() {
        return real.synced;
      },
      get refusal() {
        return real.refusal;
      },
      get currentAtMs() {
        return real.currentAtMs;
      },
    };
    this.workloads = new Workloads({
      maxPods: 1_000,
      ...{ client: {} as Client, namespaces: ["shop"], kinds: ["Deployment"], clock: this.clock, log: silentLogger },
      ...{ scope: "namespaces", watchMetrics: undefined as never, mayRead: () => this.mayRead },
      changed: (ref) => this.reports.changed(ID, ref),
      open: () => ({ Deployment: list }) as unknown as Lists,
    });
    const metrics = {
      resources: () => undefined,
      collection: () => undefined,
      resourceResent: () => undefined,
      changeReported: () => undefined,
    };
    const { workloads, clock } = this;
    this.reports = new ResourceReports({
      workloads,
      ...{ lookups: NO_LOOKUPS, nodes: NO_NODES, names: PLAIN_NAMES },
      clock,
      random: () => 0.5,
      metrics,
    });
  }

  heard(): void {
    this.currentAtMs = this.clock.monotonicMs();
  }

  put(name: string, ready: number, version: number): void {
    const metadata = {
      ...{ name, namespace: "shop", uid: name, resourceVersion: String(version), generation: 1 },
      creationTimestamp: "2025-01-01T00:00:00Z",
    };
    const status = { observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: ready };
    const spec = { replicas: 3, selector: {}, template: { spec: { containers: [] } } };
    this.cache.apply("MODIFIED", deploymentShape.fromJson({ metadata, spec, status }, strings));
  }

  remove(name: string): void {
    const found = this.cache.store.get(`shop/${name}`);
    if (found !== undefined) this.cache.apply("DELETED", found);
  }
}

type Word = "starting" | "synced" | "stale" | "forbidden";

interface Twin {
  word: Word;
  /** The agent has looked at its rights, and lacks this one. */
  isTaken: boolean;
  isOpened: boolean;
  isWatched: boolean;
  silentMs: number;
  /** Since the first report. */
  ageMs: number | undefined;
  version: number;
  readonly server: Map<string, number>;
  /** The server's objects as the agent saw them last. */
  seen: Map<string, number>;
  hasTold: boolean;
}

function confirmed(twin: Twin): void {
  twin.silentMs = 0;
  twin.word = "synced";
}

type Command = fc.AsyncCommand<Twin, Real>;
const command = (
  name: string,
  run: (twin: Twin, real: Real) => void | Promise<void>,
  check?: Command["check"],
): Command => ({
  check: check ?? (() => true),
  run: async (twin, real) => run(twin, real),
  toString: () => name,
});

const set = (name: string, ready: number): Command =>
  command(`${name} has ${ready} ready`, (twin, real) => {
    twin.version += 1;
    twin.server.set(name, ready);
    if (!twin.isWatched) return;
    twin.seen.set(name, ready);
    confirmed(twin);
    real.put(name, ready, twin.version);
    real.heard();
  });
const gone = (name: string): Command =>
  command(`${name} is deleted`, (twin, real) => {
    if (!twin.server.delete(name) || !twin.isWatched) return;
    twin.seen.delete(name);
    confirmed(twin);
    real.remove(name);
    real.heard();
  });
const bookmark = command(
  "bookmark",
  (twin, real) => {
    confirmed(twin);
    real.heard();
  },
  ({ isWatched }) => isWatched,
);
const cut = command("the watch breaks", (twin) => {
  twin.isWatched = false;
});
const relist = command("relist", (twin, real) => {
  for (const name of twin.seen.keys()) if (!twin.server.has(name)) real.remove(name);
  for (const [name, ready] of twin.server) {
    if (twin.seen.get(name) !== ready) real.put(name, ready, twin.version);
  }
  real.heard();
  real.synced = true;
  real.refusal = undefined;
  twin.seen = new Map(twin.server);
  twin.isWatched = true;
  confirmed(twin);
});
const refuse = command("403", (twin, real) => {
  twin.isWatched = false;
  twin.word = "forbidden";
  real.refusal = "deployments.apps is forbidden";
});
const right = (isTaken: boolean): Command =>
  command(`the right is ${isTaken ? "taken" : "given back"}`, (twin, real) => {
    twin.isTaken = isTaken;
    real.mayRead = !isTaken;
  });
const accept = (isOpened: boolean): Command =>
  command(`the namespace is ${isOpened ? "opened" : "closed"}`, (twin) => {
    twin.isOpened = isOpened;
  });
function pass(twin: Twin, real: Real, ms: number): void {
  twin.silentMs += ms;
  if (twin.ageMs !== undefined) twin.ageMs += ms;
  if (twin.word === "synced" && twin.silentMs > STALE_AFTER_MS) twin.word = "stale";
  real.clock.advance(ms);
}
const wait = (ms: number): Command => command(`${ms / 1_000} s pass`, (twin, real) => pass(twin, real, ms));

const report = command("report", async (twin, real) => {
  // No two reports are of the same millisecond.
  pass(twin, real, 1);
  const word = twin.isTaken ? "forbidden" : twin.word;
  const words = { starting: "starting", synced: "read", stale: "stale", forbidden: "unreadable" } as const;
  expect(real.workloads.state("shop", "Deployment")).toBe(words[word]);
  twin.ageMs ??= 0;
  const { mode, parts } = await real.reports.next(ID, twin.isOpened ? ["shop"] : [], signal);
  for (const part of parts) real.reports.acknowledged(ID, part, real.platform.store(structuredClone(part)));
  expect(real.platform.resends).toBe(0);
  const isKeptBack = twin.isOpened && word === "starting" && !twin.hasTold && twin.ageMs < KEPT_BACK_MS;
  expect(mode === "starting").toBe(isKeptBack);
  if (isKeptBack) return;
  twin.hasTold = true;
  const scope = real.platform.scopes.get(SCOPE);
  if (!twin.isOpened) {
    expect([scope, real.platform.heartbeats.size]).toEqual([undefined, 0]);
    return;
  }
  expect([scope?.complete, parts.at(-1)?.resourceLevel?.complete]).toEqual([word === "synced", word === "synced"]);
  const shown = [...real.platform.heartbeats.values()].map(({ resourceId, data: { data } }) => {
    const { health, stale } = (data as { status: { health: string; stale: boolean } }).status;
    return [resourceId.split(".").at(-1), health, stale];
  });
  const health = (ready: number): string => (ready === 3 ? "healthy" : ready === 0 ? "unhealthy" : "degraded");
  const wanted = [...twin.seen].map(([name, ready]) =>
    word === "synced" ? [name, health(ready), false] : [name, "unknown", true],
  );
  expect(shown.toSorted()).toEqual(wanted.toSorted());
  const rows = [...(scope?.rows.keys() ?? [])].map((id) => id.split(":").at(-1) ?? "");
  expect(rows).toEqual(expect.arrayContaining([...twin.seen.keys()]));
  // Of a list that is not read, a full report removes nothing: a deletion right before it shows when it is read again.
  if (word === "synced") expect(rows).toHaveLength(wanted.length);
});

const names = fc.constantFrom("api", "web", "db");
const commands = fc.commands(
  [
    fc.tuple(names, fc.nat(3)).map(([name, ready]) => set(name, ready)),
    names.map(gone),
    ...[bookmark, cut, relist, relist, refuse, report, report, report].map((each) => fc.constant(each)),
    fc.boolean().map(right),
    fc.boolean().map(accept),
    fc.constantFrom(1_000, 59_000, 120_000, 181_000, 1_900_000).map(wait),
  ],
  { maxCommands: 60, size: "max" },
);

test("each list is told as what the agent can see of it, whatever happens to its watch and its right", async () => {
  await fc.assert(
    fc.asyncProperty(commands, async (run) => {
      const twin: Twin = {
        ...{
          word: "starting",
          isTaken: false,
          isOpened: true,
          isWatched: false,
          silentMs: 0,
          ageMs: undefined,
          version: 1,
        },
        ...{ server: new Map(), seen: new Map(), hasTold: false },
      };
      await fc.asyncModelRun(() => ({ model: twin, real: new Real() }), run);
    }),
    { numRuns: runs(300) },
  );
});

test("what was confirmed exactly three minutes ago is still read", async () => {
  const real = new Real();
  real.synced = true;
  real.heard();
  real.clock.advance(STALE_AFTER_MS);
  expect(real.workloads.state("shop", "Deployment")).toBe("read");
  real.clock.advance(1);
  expect(real.workloads.state("shop", "Deployment")).toBe("stale");
  expect(real.workloads.state("bank", "Deployment")).toBe("unreadable");
});
