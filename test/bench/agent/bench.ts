import { setTimeout as pause } from "node:timers/promises";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { People } from "../../world/people.ts";
import { alternate, peakKib, ratio, run } from "../against-peer.ts";
import { shipped } from "../as-shipped.ts";
import { connected } from "../platform/rows.ts";
import { postgresServer } from "../running.ts";
import { type Row, spread } from "../table.ts";
import { atRest } from "./at-rest.ts";
import { churn, told } from "./changes.ts";
import { NAMESPACE, workloadsOf } from "./objects.ts";
import { type AgentOptions, mib } from "./options.ts";
import { type AgentWorld, startAgentWorld, startFullCluster } from "./world.ts";

const GOAL = { syncTime: 0.5, syncMemory: 0.35 } as const;

/** What the agent's watching and telling of health costs, on a real API server. Needs PostgreSQL. */
export async function benchAgent(options: AgentOptions, signal: AbortSignal): Promise<Row[]> {
  const { wanted, say, pods } = options;
  if (!["caches", "rest", "told", "churn"].some(wanted)) return [];
  const rows: Row[] = [];
  const add = (...more: readonly Row[]): void => {
    rows.push(...more);
    // A run that is stopped has said what it had measured.
    for (const { what, measured } of more) say(`${what}: ${measured}`);
  };
  await using stack = new AsyncDisposableStack();
  const cluster = await startFullCluster(stack, pods, say, signal);
  const program = await shipped(stack);
  if (wanted("caches")) {
    const ours = program.command("kinds");
    add(...(await caches(cluster, { ours, theirs: [await options.findPeer()] }, options, signal)));
  }
  if (!["rest", "told", "churn"].some(wanted)) return rows;
  const postgres = await postgresServer(stack);
  say("health: starting the platform and the agent");
  const world = await startAgentWorld(stack, cluster, program, postgres.url);
  add(await firstReport(world, postgres.url, options, signal));
  if (wanted("rest")) add(...(await atRest(world, cluster, options, signal)));
  const client = await stack.use(new People(cluster)).admin();
  if (wanted("told")) add(await told(world, client, options, signal));
  if (wanted("churn")) add(...(await churn(world, client, options, signal)));
  return rows;
}

async function caches(
  cluster: Cluster,
  programs: { readonly ours: readonly string[]; readonly theirs: readonly string[] },
  { pods, runs, say }: AgentOptions,
  signal: AbortSignal,
): Promise<Row[]> {
  say(`health: caches of all kinds, ${runs} runs of each`);
  const args = ["kinds", "--namespace", NAMESPACE];
  const pairs = await alternate(runs, (program) => run(cluster, programs[program], args, signal));
  const [time, memory] = [ratio(pairs, ({ seconds }) => seconds), ratio(pairs, peakKib)];
  const seconds = (side: "ours" | "theirs"): string =>
    spread(pairs[side].map((each) => each.seconds)).median.toFixed(2);
  const peak = (side: "ours" | "theirs"): string => mib(spread(pairs[side].map(peakKib)).median);
  const what = `caches of all kinds, ${pods} pods, ${workloadsOf(pods)} Deployments and ReplicaSets`;
  return [
    {
      what: `${what}: time against the Go peer`,
      measured: `${time.median.toFixed(2)} (${seconds("ours")} s against ${seconds("theirs")} s)`,
      goal: `at most ${GOAL.syncTime}`,
      reached: time.median <= GOAL.syncTime,
      figures: { ...pairs, ratio: time },
    },
    {
      what: `${what}: peak memory against the Go peer`,
      measured: `${memory.median.toFixed(2)} (${peak("ours")} against ${peak("theirs")})`,
      goal: `at most ${GOAL.syncMemory}`,
      reached: memory.median <= GOAL.syncMemory,
      figures: { ratio: memory },
    },
  ];
}

/** Until the platform has all workloads, by the level that ends the agent's first report. */
async function firstReport(
  world: AgentWorld,
  postgres: string,
  { pods, say }: AgentOptions,
  signal: AbortSignal,
): Promise<Row> {
  const startedMs = performance.now();
  let sayAtMs = startedMs + 10_000;
  const stored = (): Promise<number> =>
    connected(postgres, async (client) => {
      const text = "select rows from resource_levels where deployment_id = $1 and complete";
      return Number((await client.query(text, [world.fleet.deploymentId])).rows[0]?.rows ?? 0);
    });
  while ((await stored()) < workloadsOf(pods)) {
    signal.throwIfAborted();
    if (!world.agent.isRunning) throw new Error(`the agent ended:\n${world.agent.logTail()}`);
    if (performance.now() > sayAtMs) {
      sayAtMs += 10_000;
      say("health: the agent reads the cluster and tells it for the first time");
    }
    await pause(200, undefined, { signal });
  }
  const [tookMs, stalls] = [performance.now() - startedMs, await world.stalls()];
  return {
    what: `start of the agent until the platform has its ${workloadsOf(pods)} workloads`,
    measured: `${(tookMs / 1_000).toFixed(1)} s, longest stall ${Math.max(...stalls).toFixed(0)} ms`,
    goal: "",
    figures: { tookMs, stalls },
  };
}
