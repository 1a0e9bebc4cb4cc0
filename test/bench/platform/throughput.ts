import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseLocation } from "../../../src/platform/database/open.ts";
import { type Row, spread } from "../table.ts";
import { ask } from "./ask.ts";
import type { BareCommands } from "./bare-server.ts";
import { Child } from "./child.ts";
import type { GeneratorCommands } from "./generator.ts";
import type { PlatformCommands } from "./platform-server.ts";
import { type Replay, replayOf, type Sample } from "./replay.ts";

/** At least this share of what bare Fastify serves. */
const GOAL = 0.8;
const CONNECTIONS = 16;
const PROJECTS = 40;
/** Recorded requests of each kind. */
const SAMPLES = 5;
/** So many that two writers seldom meet on one. */
const DEPLOYMENTS = 200;

interface Scenario {
  readonly name: string;
  readonly method: Replay["method"];
  readonly path: string;
  readonly body?: string;
  readonly isList?: true;
}

const SCENARIOS: readonly Scenario[] = [
  { name: "get one deployment", method: "GET", path: "/v1/deployments/{id}" },
  { name: "list projects, a page of 20", method: "GET", path: "/v1/projects?limit=20", isList: true },
  {
    name: "create a deployment group",
    method: "POST",
    path: "/v1/deployment-groups",
    body: '{"name":"{name}","project":"project-0","maxDeployments":10}',
  },
  { name: "rename a deployment", method: "PATCH", path: "/v1/deployments/{id}", body: '{"name":"{name}"}' },
];

export interface ThroughputOptions {
  readonly postgres: string;
  /** Of each side for each kind of request. */
  readonly rounds: number;
  readonly seconds: number;
  readonly say: (line: string) => void;
}

/** Requests a second of the platform and of bare Fastify with the same SQL, in turn on one database. */
export async function benchThroughput(options: ThroughputOptions, signal: AbortSignal): Promise<Row[]> {
  const rows = await onDatabase("PostgreSQL", { postgres: options.postgres }, undefined, options, signal);
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-"));
  try {
    const [one, two] = [join(folder, "one"), join(folder, "two")];
    return [...rows, ...(await onDatabase("PGlite", { pglite: one }, two, options, signal))];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param copy the folder for the bare server's copy of an embedded database, which only one process may open. */
async function onDatabase(
  kind: string,
  database: DatabaseLocation,
  copy: string | undefined,
  options: ThroughputOptions,
  signal: AbortSignal,
): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  options.say(`${kind}: filling the database and listening to its SQL`);
  const seeded = await seed(database);
  if (copy !== undefined && "pglite" in database) await cp(database.pglite, copy, { recursive: true });
  const platform = new Child<PlatformCommands>(new URL("platform-server.ts", import.meta.url));
  stack.defer(() => platform.stop());
  const bare = new Child<BareCommands>(new URL("bare-server.ts", import.meta.url));
  stack.defer(() => bare.stop());
  const generator = new Child<GeneratorCommands>(new URL("generator.ts", import.meta.url));
  stack.defer(() => generator.stop());
  const { port } = await platform.call("start", { database, record: false });
  const bareDatabase = copy === undefined ? database : { pglite: copy };
  const { port: barePort } = await bare.call("start", { database: bareDatabase, replays: seeded.replays });
  const sides = [
    { name: "platform", port, usage: () => platform.call("usage") },
    { name: "bare", port: barePort, usage: () => bare.call("usage") },
  ] as const;

  const rows: Row[] = [];
  for (const scenario of SCENARIOS) {
    const measured = { platform: [] as Measured[], bare: [] as Measured[] };
    for (let round = -1; round < options.rounds; round += 1) {
      // The sides take turns to be first, so that a machine that slows down slows both.
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        signal.throwIfAborted();
        const load = { ...scenario, key: seeded.key, ids: seeded.deploymentIds, connections: CONNECTIONS };
        // A longer first run, not counted: V8 takes seconds to compile the busy code, above all PGlite's WebAssembly.
        const seconds = round < 0 ? 5 * options.seconds : options.seconds;
        const before = await side.usage();
        const result = await generator.call("run", { ...load, port: side.port, seconds });
        const after = await side.usage();
        if (Object.keys(result.failed).length > 0) {
          throw new Error(`${side.name} failed: ${JSON.stringify(result.failed)}`);
        }
        const cpuMs = (after.cpuMs - before.cpuMs) / result.requests;
        if (round >= 0) measured[side.name].push({ perSecond: result.perSecond, cpuMs, p99: at99(result.latenciesMs) });
      }
    }
    rows.push(rowOf(`${kind}: ${scenario.name}`, measured));
    options.say(`${rows.at(-1)?.what}: ${rows.at(-1)?.measured}`);
  }
  return rows;
}

interface Measured {
  readonly perSecond: number;
  /** CPU time of the server's process for each request. */
  readonly cpuMs: number;
  readonly p99: number;
}

function rowOf(
  what: string,
  measured: { readonly platform: readonly Measured[]; readonly bare: readonly Measured[] },
): Row {
  const median = (of: readonly Measured[], pick: (one: Measured) => number): number => spread(of.map(pick)).median;
  const perSecond = (of: readonly Measured[]): number => median(of, (one) => one.perSecond);
  const cpuMs = (of: readonly Measured[]): string => median(of, (one) => one.cpuMs).toFixed(2);
  // The ratio of each round: its two runs had the same machine.
  const ratios = spread(measured.platform.map((one, round) => one.perSecond / (measured.bare[round]?.perSecond ?? 0)));
  return {
    what,
    measured:
      `${ratios.median.toFixed(2)} (${perSecond(measured.platform).toFixed(0)}/s against ` +
      `${perSecond(measured.bare).toFixed(0)}/s; ${cpuMs(measured.platform)} ms of CPU a request against ${cpuMs(measured.bare)})`,
    goal: `at least ${GOAL}`,
    reached: ratios.median >= GOAL,
    figures: { ratios, ...measured },
  };
}

function at99(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}

/** Makes the objects that are asked for and records each kind of request's statements, in its own process. */
async function seed(database: DatabaseLocation) {
  await using stack = new AsyncDisposableStack();
  const platform = new Child<PlatformCommands>(new URL("platform-server.ts", import.meta.url));
  stack.defer(() => platform.stop());
  const { port } = await platform.call("start", { database, record: true });
  const { key, managerId, managerKey } = await platform.call("workspace", { name: `bench-${Date.now()}` });
  const call = ask(port, key);
  await ask(port, managerKey)("POST", `/v1/managers/${managerId}/heartbeat`, {
    status: "healthy",
    url: "https://manager.example.com",
    managementConfigs: {},
  });
  for (let n = 0; n < PROJECTS; n += 1) await call("POST", "/v1/projects", { name: `project-${n}` });
  const group = { name: "group", project: "project-0", maxDeployments: DEPLOYMENTS };
  const { id: deploymentGroupId } = (await call("POST", "/v1/deployment-groups", group)).body;
  const deploymentIds: string[] = [];
  for (let n = 0; n < DEPLOYMENTS; n += 1) {
    const body = { name: `d-${n}`, platform: "kubernetes", project: "project-0", deploymentGroupId, managerId };
    deploymentIds.push((await call("POST", "/v1/deployments", body)).body.deployment.id);
  }
  const replays: Replay[] = [];
  for (const scenario of SCENARIOS) {
    const sample = async (n: number): Promise<Sample & { readonly status: number }> => {
      const id = deploymentIds[n] ?? "";
      const name = `recorded-${n}`;
      const body = scenario.body?.replace("{name}", name);
      await platform.call("startRecording");
      const { status } = await call(scenario.method, scenario.path.replace("{id}", id), body && JSON.parse(body));
      const statements = await platform.call("takeRecording");
      return { id, name: scenario.body === undefined ? "" : name, statements, status };
    };
    const samples = [];
    for (let n = 0; n < SAMPLES; n += 1) samples.push(await sample(n));
    // The platform's own timers may add statements to a sample: the shortest has none of them.
    const length = Math.min(...samples.map(({ statements }) => statements.length));
    const [first, second] = samples.filter(({ statements }) => statements.length === length);
    if (first === undefined || second === undefined) throw new Error(`${scenario.name} never says the same SQL twice`);
    const { method, isList = false, path } = scenario;
    const url = path.replace("{id}", ":id").replace(/\?.*/, "");
    replays.push({ method, url, isList, status: first.status, ...replayOf(first, second) });
  }
  await platform.call("close");
  return { key, deploymentIds, replays };
}
