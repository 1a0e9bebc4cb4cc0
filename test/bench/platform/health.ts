import { randomInt } from "node:crypto";
import { promisify } from "node:util";
import zlib from "node:zlib";
import type { ObservedResource } from "../../../src/contract/resources/resource-heartbeat.ts";
import { digestOf, rowHash } from "../../../src/contract/resources/resource-level.ts";
import { postgresServer } from "../running.ts";
import { type Row, spread } from "../table.ts";
import { ask } from "./ask.ts";
import { Child } from "./child.ts";
import type { HealthSwarmCommands } from "./health-swarm.ts";
import type { PlatformCommands } from "./platform-server.ts";
import { connected, manyManagers } from "./rows.ts";

const gzip = promisify(zlib.gzip);

const ROWS = 5_000;
/** As the agent splits a report: rows of a batch, and bytes of a call. */
const ROWS_A_BATCH = 500;
const BATCHES_A_CALL = 4;
const GOAL_REPORT_MS = 1_500;
const GOAL_STATEMENTS = 20;
const GOAL_P99_MS = 50;
const GOAL_CORES = 0.3;
const SCOPE = { sourceKind: "operator", inventoryScope: "kubernetes:apps/v1:Deployment:shop" } as const;

export interface HealthOptions {
  wanted(name: string): boolean;
  readonly agents: number;
  readonly rounds: number;
  readonly say: (line: string) => void;
}

/** What the health of resources costs the platform: reports of everything, and of nothing new. On PostgreSQL. */
export async function benchHealth(options: HealthOptions, signal: AbortSignal): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const { url } = await postgresServer(stack);
  const rows: Row[] = [];
  if (options.wanted("reports")) rows.push(await fullReports(url, options, signal));
  if (options.wanted("confirms")) rows.push(await confirms(url, options, signal));
  return rows;
}

export interface Fleet {
  readonly platform: Child<PlatformCommands>;
  readonly port: number;
  readonly workspaceId: string;
  /** Of the vendor's admin. */
  readonly key: string;
  readonly managerKey: string;
  readonly deploymentId: string;
}

/** One running deployment. */
export async function fleet(
  stack: AsyncDisposableStack,
  postgres: string,
  name: string,
  record: boolean,
): Promise<Fleet> {
  const platform = new Child<PlatformCommands>(new URL("platform-server.ts", import.meta.url));
  stack.defer(() => platform.stop());
  const { port } = await platform.call("start", { database: { postgres }, record });
  const { key, workspaceId, managerId, managerKey } = await platform.call("workspace", { name });
  const [call, manage] = [ask(port, key), ask(port, managerKey)];
  const beat = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
  await manage("POST", `/v1/managers/${managerId}/heartbeat`, beat);
  await call("POST", "/v1/projects", { name: "shop" });
  const group = await call("POST", "/v1/deployment-groups", { name: "all", project: "shop", maxDeployments: 1000 });
  const where = { platform: "kubernetes", project: "shop", deploymentGroupId: group.body.id, managerId };
  const made = await call("POST", "/v1/deployments", { name: "first", ...where });
  const deploymentId: string = made.body.deployment.id;
  await manage("POST", "/v1/sync/reconcile", { deploymentId, state: STATE });
  return { platform, port, workspaceId, key, managerKey, deploymentId };
}

const STATE = { status: "running", platform: "kubernetes", protocolVersion: 1 };

/** Everything of one deployment in as many calls as the agent makes: stored first, changed in each row, and unchanged. */
async function fullReports(postgres: string, { rounds, say }: HealthOptions, signal: AbortSignal): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const { platform, port, managerKey, deploymentId } = await fleet(stack, postgres, "full-reports", true);
  say(`health: ${rounds} full reports of ${ROWS} rows of each kind`);
  const took: Record<string, number[]> = { changed: [], unchanged: [] };
  let [statements, bytes, zipped, calls, first] = [0, 0, 0, 0, 0];
  let last: readonly ObservedResource[] = [];
  for (let round = -1; round < rounds * 2; round += 1) {
    signal.throwIfAborted();
    const kind = round % 2 === 0 ? "changed" : "unchanged";
    if (round < 0 || kind === "changed") last = rowsOf(round);
    const bodies = reportOf(deploymentId, last);
    const packed = await Promise.all(bodies.map((body) => gzip(body)));
    await platform.call("startRecording");
    const startedMs = performance.now();
    for (const body of packed) await send(port, managerKey, body);
    const tookMs = performance.now() - startedMs;
    // Only those of the reports: a sweep that runs at the same time adds its own.
    const recorded = (await platform.call("takeRecording")).map(({ text }) => text);
    statements = Math.max(statements, recorded.length);
    if (round < 0) first = tookMs;
    else took[kind]?.push(tookMs);
    [bytes, zipped, calls] = [sizeOf(bodies), sizeOf(packed), bodies.length];
  }
  await platform.call("close");
  const [changed, unchanged] = [spread(took.changed ?? []), spread(took.unchanged ?? [])];
  const ms = (value: number): string => `${(value / 1_000).toFixed(2)} s`;
  return {
    what: `full report of ${ROWS} rows, ${calls} calls, ${(bytes / 1e6).toFixed(1)} MB (${(zipped / 1e3).toFixed(0)} kB zipped)`,
    measured:
      `changed in each row median ${ms(changed.median)}, worst ${ms(changed.max)}; unchanged ${ms(unchanged.median)}; ` +
      `the first ${ms(first)}; ${statements} statements`,
    goal: `at most ${ms(GOAL_REPORT_MS)}, ${GOAL_STATEMENTS} statements`,
    reached: changed.median <= GOAL_REPORT_MS && statements <= GOAL_STATEMENTS,
    figures: { changed, unchanged, first, statements, calls, bytes, zipped },
  };
}

function sizeOf(bodies: readonly (string | Buffer)[]): number {
  return bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
}

function rowsOf(round: number): readonly ObservedResource[] {
  return Array.from({ length: ROWS }, (_, n) => ({
    rawIdentity: `apps/v1:Deployment:shop:workload-${n}`,
    providerKind: "Deployment",
    displayName: `workload-${n}`,
    health: "healthy",
    lifecycle: "running",
    partial: false,
    providerStale: false,
    namespace: "shop",
    resourceTypeHint: "container",
    version: `1.${round + 1}.0`,
    counts: { desired: 3, current: 3, ready: 3 },
    labels: { "app.kubernetes.io/name": `workload-${n}`, "app.kubernetes.io/part-of": "storefront" },
    attributes: { generation: round + 2, observedGeneration: round + 2 },
  }));
}

function reportOf(deploymentId: string, rows: readonly ObservedResource[]): readonly string[] {
  const observedAt = new Date().toISOString();
  const count = Math.ceil(rows.length / ROWS_A_BATCH);
  const batches = Array.from({ length: count }, (_, index) => ({
    ...{ ...SCOPE, controllerPlatform: "kubernetes", backend: "kubernetes", observedAt, complete: true },
    resources: rows.slice(index * ROWS_A_BATCH, (index + 1) * ROWS_A_BATCH),
    part: { index, count },
  }));
  const digest = digestOf(rows.reduce((sum, row) => sum ^ rowHash(SCOPE, row), 0n));
  const resourceLevel = { observedAt, digest, heartbeats: 0, rows: rows.length, complete: true, full: true };
  const bodies: string[] = [];
  for (let from = 0; from < count; from += BATCHES_A_CALL) {
    const isLast = from + BATCHES_A_CALL >= count;
    const observedInventoryBatches = batches.slice(from, from + BATCHES_A_CALL);
    const body = { deploymentId, state: STATE, observedInventoryBatches, ...(isLast && { resourceLevel }) };
    bodies.push(JSON.stringify(body));
  }
  return bodies;
}

async function send(port: number, key: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-encoding": "gzip" };
  const response = await fetch(`http://127.0.0.1:${port}/v1/sync/reconcile`, { method: "POST", headers, body });
  const answer = (await response.json()) as { readonly resendResources?: boolean };
  if (response.status !== 200 || answer.resendResources === true) throw new Error(JSON.stringify(answer));
}

/** In the order of their ids neighbours would write at once, and serialisable transactions meet on their index page. */
function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  const all = [...items];
  for (let at = all.length - 1; at > 0; at -= 1) {
    const other = randomInt(at + 1);
    [all[at], all[other]] = [all[other] as Item, all[at] as Item];
  }
  return all;
}

/** Transactions that lost a race, or failed. PostgreSQL counts a moment later, which the pause between them is longer than. */
function rollbacks(postgres: string): Promise<number> {
  const text = "select xact_rollback::integer as count from pg_stat_database where datname = current_database()";
  return connected(postgres, async (client) => Number((await client.query(text)).rows[0]?.count ?? 0));
}

/** Agents at rest: each confirms once a minute what it holds, over a new connection. */
async function confirms(postgres: string, { agents: count, say }: HealthOptions, signal: AbortSignal): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const { platform, port, workspaceId, deploymentId } = await fleet(stack, postgres, "confirms", false);
  const swarm = new Child<HealthSwarmCommands>(new URL("health-swarm.ts", import.meta.url));
  stack.defer(() => swarm.stop());
  say(`health: making ${count} deployments`);
  const managers = await manyManagers(postgres, workspaceId, deploymentId, count);
  const agents = shuffled(managers).map(({ managerId, key }) => ({
    managerKey: key,
    deploymentId: managerId.replace("mgr_", "dep_"),
  }));
  const level = { digest: "0123456789abcdef", heartbeats: 20, rows: 400, complete: true };
  const ids = agents.map((agent) => agent.deploymentId);
  // A confirmation reads and writes this one row. Of what it confirms it looks for one row of each table.
  await connected(postgres, async (client) => {
    await client.query(
      `insert into resource_levels (deployment_id, digest, heartbeats, rows, complete, confirmed_at)
       select id, $1, $2, $3, $4, now() from unnest($5::text[]) id`,
      [level.digest, level.heartbeats, level.rows, level.complete, ids],
    );
    await client.query(
      `insert into resource_heartbeats (deployment_id, resource_type, resource_id, observed_at, body)
       select id, 'container', 'api', now(), '{}' from unnest($1::text[]) id`,
      [ids],
    );
    await client.query(
      `insert into inventory_scopes (deployment_id, source_kind, inventory_scope, controller_platform, backend,
         observed_at, complete, parts)
       select id, 'operator', 'shop', 'kubernetes', 'kubernetes', now(), true, '{0}' from unnest($1::text[]) id`,
      [ids],
    );
    await client.query(
      `insert into inventory_rows (deployment_id, source_kind, inventory_scope, raw_identity, observed_at, body)
       select id, 'operator', 'shop', 'api', now(), '{}' from unnest($1::text[]) id`,
      [ids],
    );
  });
  await connected(postgres, (client) => client.query("analyze"));
  // Not counted: V8 compiles what is busy.
  await swarm.call("confirm", { port, agents: agents.slice(0, count / 5), level, withinMs: 12_000 });
  signal.throwIfAborted();
  say(`health: ${count} confirmations within a minute`);
  const rolledBefore = await rollbacks(postgres);
  const [before, startedMs] = [await platform.call("usage"), performance.now()];
  const { latenciesMs, resends, failed, requestBytes } = await swarm.call("confirm", {
    ...{ port, agents, level, withinMs: 60_000 },
  });
  const [after, tookMs] = [await platform.call("usage"), performance.now() - startedMs];
  const repeated = (await rollbacks(postgres)) - rolledBefore;
  await platform.call("close");
  const latencies = spread(latenciesMs);
  const cores = (after.cpuMs - before.cpuMs) / tookMs;
  const refused = Object.values(failed).reduce((sum, each) => sum + each, 0);
  const isWhole = refused === 0 && resends === 0;
  return {
    what: `${count} deployments that confirm within ${(tookMs / 1_000).toFixed(0)} s, ${requestBytes} bytes each`,
    measured:
      `p99 ${latencies.p99.toFixed(0)} ms, median ${latencies.median.toFixed(1)} ms, ${refused} failed, ${resends} to resend, ${repeated} transactions repeated; ` +
      `${cores.toFixed(2)} cores of the platform's process`,
    goal: `p99 ${GOAL_P99_MS} ms, at most ${GOAL_CORES} cores`,
    reached: isWhole && latencies.p99 <= GOAL_P99_MS && cores <= GOAL_CORES,
    figures: { latencies, cores, failed, resends, repeated, tookMs, requestBytes },
  };
}
