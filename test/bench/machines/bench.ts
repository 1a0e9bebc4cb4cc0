import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../../../lab/cluster/cluster.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import { Watchdog } from "../../../lab/cluster/watchdog.ts";
import { productProcess } from "../../../lab/product-process.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { silentLogger } from "../../../src/base/log.ts";
import { Informer } from "../../../src/kube/cache/informer.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { podDisruptionBudgetShape } from "../../../src/kube/projection/batch-shapes.ts";
import { DrainWorld } from "../../integration/machines/drain-world.ts";
import { SHOP } from "../../world/people.ts";
import { type Row, spread } from "../table.ts";
import { crowd } from "./crowd.ts";
import { waitingPolls } from "./polls.ts";

export interface MachinesOptions {
  readonly drained: number;
  /** Nodes that are drained at once. */
  readonly drains: number;
  readonly wanted: (name: string) => boolean;
  readonly say: (line: string) => void;
}

interface Run {
  readonly seconds: number;
  readonly calls: number;
}

const NODE = "node-1";
const PODS_EACH = 50;
const LIMIT_MS = 1_800_000;
const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules: [{ level: Metadata }]
`;

const POLLS = 500;
const PODS_OF_ONE = 100;

export async function benchMachines(options: MachinesOptions, signal: AbortSignal): Promise<Row[]> {
  const { wanted, say } = options;
  const rows: Row[] = [];
  if (wanted("polls")) rows.push(await waitingPolls(POLLS, say, signal));
  if (wanted("crowd")) rows.push(await crowd(options.drains, PODS_OF_ONE, say, signal));
  if (["free", "budgets", "freed"].some(wanted)) rows.push(...(await besideKubectl(options, signal)));
  return rows;
}

/** Our drain beside `kubectl drain` of the same version, on a real API server with its controllers and simulated nodes. */
async function besideKubectl({ drained, wanted, say }: MachinesOptions, signal: AbortSignal): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-machines-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const policy = join(folder, "audit-policy.yaml");
  const audit = join(folder, "audit.jsonl");
  await writeFile(policy, AUDIT_POLICY);
  const apiserverArgs = [`--audit-policy-file=${policy}`, `--audit-log-path=${audit}`];
  const cluster = stack.use(
    await startCluster({ controllers: true, kwok: { nodes: 2 }, apiserverArgs, log: say }, signal),
  );
  const world = await DrainWorld.create(cluster);
  stack.defer(() => world.close());
  const watchdog = new Watchdog();
  stack.defer(() => watchdog.done());
  const port = await freePort();
  // As shipped, but for where it runs.
  const env = { SALLYPORT_KUBECONFIG: world.kubeconfig, SALLYPORT_IDENTITY: "bench" };
  const controller = productProcess({ kind: "machine-controller", logs: folder, port, watchdog, env });
  await controller.start(signal);
  stack.defer(() => controller.stop(5_000));

  const calls = async (agent: string): Promise<number> => {
    const lines = (await readFile(audit, "utf8")).split("\n");
    return lines.filter((line) => line.includes(`"userAgent":"${agent}`)).length;
  };
  const run = async (agent: string, budgets: boolean, drain: () => Promise<unknown>): Promise<Run> => {
    await world.clean([NODE, "node-2"]);
    const sets = Math.max(Math.round(drained / PODS_EACH), 1);
    for (let index = 0; index < sets; index += 1) {
      await world.workload(`web-${index}`, NODE, PODS_EACH);
      if (budgets) await world.budget(`web-${index}`, `web-${index}`, { maxUnavailable: 1 });
    }
    const before = await calls(agent);
    const startMs = performance.now();
    await drain();
    const seconds = (performance.now() - startMs) / 1_000;
    const result = { seconds, calls: (await calls(agent)) - before };
    say(
      `${agent}, ${sets * PODS_EACH} pods${budgets ? " with budgets" : ""}: ${seconds.toFixed(1)} s, ${result.calls} calls`,
    );
    return result;
  };
  const theirs = async (): Promise<void> => {
    const args = ["drain", NODE, "--ignore-daemonsets", "--timeout=30m"];
    const { code, stderr } = await cluster.kubectl(args, { signal, limitMs: LIMIT_MS });
    if (code !== 0) throw new Error(`kubectl drain: ${stderr}`);
  };
  const ours = async (): Promise<void> => {
    const drain = await world.drain({ nodeName: NODE });
    await world.until(drain, ({ status }) => status?.state === "Drained", LIMIT_MS);
  };
  const rows: Row[] = [];
  for (const budgets of [false, true]) {
    const name = budgets ? "budgets" : "free";
    if (!wanted(name)) continue;
    const peer = await run("kubectl", budgets, theirs);
    rows.push(...compared(budgets, drained, peer, await run("sallyport-machines", budgets, ours)));
  }
  if (wanted("freed")) rows.push(await freed(world, ours, say));
  return rows;
}

/** So few pods that the drain's rate, ten at once and then five a second, holds none of them. */
const FREED_PODS = 10;
const FREED_ROUNDS = 6;

/** How long a budget that has room again keeps it, while pods wait for it. */
async function freed(world: DrainWorld, drain: () => Promise<void>, say: (line: string) => void): Promise<Row> {
  const stop = new AbortController();
  const keptMs: number[] = [];
  let sinceMs: number | undefined;
  const informer = new Informer({
    ...{ client: world.admin, namespace: SHOP, clock: systemClock, log: silentLogger },
    ...{ resource: resources.podDisruptionBudgets, projection: podDisruptionBudgetShape },
  });
  informer.onChange((change) => {
    if (change.type !== "updated") return;
    const [was, is] = [change.previous.status.disruptionsAllowed, change.object.status.disruptionsAllowed];
    if (was === 0 && is > 0) sinceMs = performance.now();
    if (is !== 0 || sinceMs === undefined) return;
    keptMs.push(performance.now() - sinceMs);
    sinceMs = undefined;
  });
  const watching = informer.run(stop.signal).catch(() => undefined);
  try {
    for (let round = 1; round <= FREED_ROUNDS; round += 1) {
      await world.clean([NODE, "node-2"]);
      await world.workload("web", NODE, FREED_PODS);
      await world.budget("web", "web", { maxUnavailable: 1 });
      // Room from before the drain waited for no drain, nor does that after its last pod.
      sinceMs = undefined;
      await drain();
      sinceMs = undefined;
      say(`budget with room, round ${round} of ${FREED_ROUNDS}: ${keptMs.length} so far`);
    }
  } finally {
    stop.abort(new Error("measured"));
    await watching;
  }
  const kept = spread(keptMs);
  return {
    what: `a budget has room → the next pod is evicted, ${keptMs.length} times`,
    measured: `p50 ${Math.round(kept.median)} ms, p99 ${Math.round(kept.p99)} ms`,
    goal: "p99 1 s",
    reached: kept.p99 <= 1_000,
    figures: { ...kept },
  };
}

function compared(budgets: boolean, pods: number, peer: Run, mine: Run): readonly Row[] {
  const time = mine.seconds / peer.seconds;
  const calls = mine.calls / peer.calls;
  const limit = budgets ? 1.2 : 1.1;
  const what = `${pods} pods drained ${budgets ? "with budgets of one" : "without budgets"}`;
  return [
    {
      what: `${what}: time`,
      measured: `${mine.seconds.toFixed(1)} s, kubectl ${peer.seconds.toFixed(1)} s: ${time.toFixed(2)} ×`,
      goal: `${limit} ×`,
      reached: time <= limit,
      figures: { mine: mine.seconds, peer: peer.seconds },
    },
    {
      what: `${what}: API calls`,
      measured: `${mine.calls}, kubectl ${peer.calls}: ${calls.toFixed(2)} ×`,
      goal: budgets ? "0.5 ×" : "",
      ...(budgets && { reached: calls <= 0.5 }),
      figures: { mine: mine.calls, peer: peer.calls },
    },
  ];
}
