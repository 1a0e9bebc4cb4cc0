import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Cluster, startCluster } from "../../lab/cluster/cluster.ts";
import { Client } from "../../src/kube/client/client.ts";
import { connect } from "../../src/kube/client/connection.ts";
import { shipped } from "./as-shipped.ts";
import { seedPods, seedWidgets, widgetDefinition } from "./seed.ts";
import { type Row, type Spread, spread } from "./table.ts";

type Say = (line: string) => void;

export interface Figures {
  readonly peer: string;
  readonly objects: number;
  readonly seconds: number;
  readonly perSecond?: number;
  readonly longestStallMs?: number;
  readonly VmHWM: string;
}

/** Both sides of one comparison, run in turn on one API server: a machine that slows down slows both. */
interface Pairs {
  readonly ours: readonly Figures[];
  readonly theirs: readonly Figures[];
}

/** At most this much of the Go peer's time and memory, by the number of pods. */
const SYNC_GOALS: ReadonlyMap<number, { readonly time: number; readonly memory: number }> = new Map([
  [10_000, { time: 0.35, memory: 0.5 }],
  [50_000, { time: 0.35, memory: 0.25 }],
]);
const STALL_GOAL_MS = 50;

/** Synced cache of `sizes` pods: time, peak memory, and the longest time that our event loop was not free. */
export async function benchSync(
  peer: string,
  sizes: readonly number[],
  runs: number,
  say: Say,
  signal: AbortSignal,
): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ log: say }, signal));
  const programs = { ours: (await shipped(stack)).command("ours"), theirs: [peer] };
  const client = await adminOf(cluster);
  const rows: Row[] = [];
  let seeded = 0;
  for (const size of sizes) {
    await seedPods(client, seeded, size, say, signal);
    seeded = size;
    say(`${size} pods: ${runs} runs of each`);
    const pairs = await alternate(runs, (program) => run(cluster, programs[program], ["sync"], signal));
    const time = ratio(pairs, ({ seconds }) => seconds);
    const memory = ratio(pairs, peakKib);
    const ourTime = spread(pairs.ours.map(({ seconds }) => seconds));
    const stall = spread(pairs.ours.map(({ longestStallMs }) => longestStallMs ?? Number.NaN));
    const goal = SYNC_GOALS.get(size);
    rows.push({
      what: `synced cache of ${size} pods, time against the Go peer`,
      measured: `${time.median.toFixed(2)} (ours ${ourTime.median.toFixed(2)} s)`,
      goal: goal === undefined ? "" : `at most ${goal.time}`,
      ...(goal !== undefined && { reached: time.median <= goal.time }),
      figures: { ...pairs, ratio: time },
    });
    rows.push({
      what: `synced cache of ${size} pods, peak memory against the Go peer`,
      measured: `${memory.median.toFixed(2)} (ours ${Math.round(spread(pairs.ours.map(peakKib)).median / 1024)} MiB)`,
      goal: goal === undefined ? "" : `at most ${goal.memory}`,
      ...(goal !== undefined && { reached: memory.median <= goal.memory }),
      figures: { ratio: memory },
    });
    rows.push({
      what: `longest event-loop stall while syncing ${size} pods`,
      measured: `${stall.median.toFixed(0)} ms (worst run ${stall.max.toFixed(0)} ms)`,
      goal: `at most ${STALL_GOAL_MS} ms in each run`,
      reached: stall.max <= STALL_GOAL_MS,
      figures: { stall },
    });
  }
  return rows;
}

/** Reconciles a second with 1, 10 and 50 workers. Each run gets new objects. */
export async function benchReconcile(
  peer: string,
  count: number,
  runs: number,
  say: Say,
  signal: AbortSignal,
): Promise<Row[]> {
  const rows: Row[] = [];
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ log: say }, signal));
  const programs = { ours: (await shipped(stack)).command("ours"), theirs: [peer] };
  const client = await adminOf(cluster);
  await cluster.apply([widgetDefinition], signal);
  for (const workers of [1, 10, 50]) {
    say(`reconcile with ${workers} workers: ${runs} runs of each`);
    const pairs = await alternate(runs, async (program) => {
      await clear(cluster, signal);
      await seedWidgets(client, count, say, signal);
      const args = ["reconcile", "--count", String(count), "--workers", String(workers)];
      return run(cluster, programs[program], args, signal);
    });
    const rate = ratio(pairs, ({ perSecond = Number.NaN }) => perSecond);
    const ours = spread(pairs.ours.map(({ perSecond = Number.NaN }) => perSecond));
    rows.push({
      what: `reconciles a second with ${workers} workers against the Go peer`,
      measured: `${rate.median.toFixed(2)} (ours ${ours.median.toFixed(0)}/s)`,
      goal: "at least 1.1",
      reached: rate.median >= 1.1,
      figures: { ...pairs, ratio: rate },
    });
  }
  return rows;
}

async function adminOf(cluster: Cluster): Promise<Client> {
  return new Client(await connect({ kubeconfig: cluster.adminKubeconfig }));
}

async function clear(cluster: Cluster, signal: AbortSignal): Promise<void> {
  const path = "/apis/bench.example.com/v1/namespaces/default/widgets";
  await cluster.request({ method: "DELETE", path }, signal);
  await cluster.request({ method: "DELETE", path: "/api/v1/namespaces/default/configmaps" }, signal);
}

/** First one run of each that is not counted, so that the server's caches and both programs' files are warm. */
export async function alternate(runs: number, one: (program: "ours" | "theirs") => Promise<Figures>): Promise<Pairs> {
  const ours: Figures[] = [];
  const theirs: Figures[] = [];
  for (let at = -1; at < runs; at++) {
    const figures = [await one("ours"), await one("theirs")] as const;
    if (at < 0) continue;
    ours.push(figures[0]);
    theirs.push(figures[1]);
  }
  return { ours, theirs };
}

export function ratio({ ours, theirs }: Pairs, figure: (figures: Figures) => number): Spread {
  return spread(ours.map((mine, at) => figure(mine) / figure(theirs[at] ?? mine)));
}

export function peakKib({ VmHWM }: Figures): number {
  return Number.parseInt(VmHWM, 10);
}

export async function run(
  cluster: Cluster,
  [file = "", ...first]: readonly string[],
  args: readonly string[],
  signal: AbortSignal,
): Promise<Figures> {
  const env = { ...process.env, KUBECONFIG: cluster.adminKubeconfig };
  const { stdout } = await promisify(execFile)(file, [...first, ...args], { env, signal, maxBuffer: 16 * 1024 * 1024 });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Figures;
}
