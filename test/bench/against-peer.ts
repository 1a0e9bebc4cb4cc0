import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "../../src/kube/client.ts";
import { connect } from "../../src/kube/connection.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { seedPods, seedWidgets, widgetDefinition } from "./seed.ts";
import { type Row, type Spread, spread } from "./table.ts";

type Say = (line: string) => void;

interface Figures {
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

const OURS = join(import.meta.dirname, "ours.ts");

/** Synced cache of `sizes` pods: time, peak memory, and the longest time that our event loop was not free. */
export async function benchSync(
  peer: string,
  sizes: readonly number[],
  runs: number,
  say: Say,
  signal: AbortSignal,
): Promise<Row[]> {
  await using cluster = await startCluster({ log: say }, signal);
  const client = await adminOf(cluster);
  const rows: Row[] = [];
  let seeded = 0;
  for (const size of sizes) {
    await seedPods(client, seeded, size, say, signal);
    seeded = size;
    say(`${size} pods: ${runs} runs of each`);
    const pairs = await alternate(runs, (program) => run(cluster, peer, program, ["sync"], signal));
    const time = ratio(pairs, ({ seconds }) => seconds);
    const memory = ratio(pairs, peakKib);
    const ourTime = spread(pairs.ours.map(({ seconds }) => seconds));
    const stall = spread(pairs.ours.map(({ longestStallMs }) => longestStallMs ?? Number.NaN));
    const isGoal = size >= 50_000;
    rows.push({
      what: `synced cache of ${size} pods, time against the Go peer`,
      measured: `${time.median.toFixed(2)} (ours ${ourTime.median.toFixed(2)} s)`,
      goal: isGoal ? "at most 0.45" : "",
      ...(isGoal && { reached: time.median <= 0.45 }),
      figures: { ...pairs, ratio: time },
    });
    rows.push({
      what: `synced cache of ${size} pods, peak memory against the Go peer`,
      measured: `${memory.median.toFixed(2)} (ours ${Math.round(spread(pairs.ours.map(peakKib)).median / 1024)} MiB)`,
      goal: isGoal ? "at most 0.3" : "",
      ...(isGoal && { reached: memory.median <= 0.3 }),
      figures: { ratio: memory },
    });
    rows.push({
      what: `longest event-loop stall while syncing ${size} pods`,
      measured: `${stall.median.toFixed(0)} ms (worst run ${stall.max.toFixed(0)} ms)`,
      goal: isGoal ? "at most 50 ms" : "",
      ...(isGoal && { reached: stall.median <= 50 }),
      figures: { stall },
    });
  }
  return rows;
}

/** Reconciles a second with 1, 10 and 50 workers. Each run gets objects that nobody has reconciled yet. */
export async function benchReconcile(
  peer: string,
  count: number,
  runs: number,
  say: Say,
  signal: AbortSignal,
): Promise<Row[]> {
  const rows: Row[] = [];
  await using cluster = await startCluster({ log: say }, signal);
  const client = await adminOf(cluster);
  await cluster.apply([widgetDefinition], signal);
  for (const workers of [1, 10, 50]) {
    say(`reconcile with ${workers} workers: ${runs} runs of each`);
    const pairs = await alternate(runs, async (program) => {
      await clear(cluster, signal);
      await seedWidgets(client, count, say, signal);
      const args = ["reconcile", "--count", String(count), "--workers", String(workers)];
      return run(cluster, peer, program, args, signal);
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

/** One uncounted run of each first: the server's own caches and both programs' files are warm then. */
async function alternate(runs: number, one: (program: "ours" | "theirs") => Promise<Figures>): Promise<Pairs> {
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

function ratio({ ours, theirs }: Pairs, figure: (figures: Figures) => number): Spread {
  return spread(ours.map((mine, at) => figure(mine) / figure(theirs[at] ?? mine)));
}

function peakKib({ VmHWM }: Figures): number {
  return Number.parseInt(VmHWM, 10);
}

async function run(
  cluster: Cluster,
  peer: string,
  program: "ours" | "theirs",
  args: readonly string[],
  signal: AbortSignal,
): Promise<Figures> {
  const env = { ...process.env, KUBECONFIG: cluster.adminKubeconfig };
  const [file, all] = program === "ours" ? [process.execPath, [OURS, ...args]] : [peer, [...args]];
  const { stdout } = await promisify(execFile)(file, all, { env, signal, maxBuffer: 16 * 1024 * 1024 });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Figures;
}
