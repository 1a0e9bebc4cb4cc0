import { readFile } from "node:fs/promises";
import { type Row, spread } from "../table.ts";
import { granted, opened } from "./engineer.ts";
import { getPods } from "./get-pods.ts";
import { idle } from "./idle.ts";
import { killing } from "./killing.ts";
import { opening } from "./opening.ts";
import type { DebugOptions } from "./options.ts";
import { throughput } from "./throughput.ts";
import { OURS, otherWays, type Way, warmed, wayOf } from "./ways.ts";
import { type DebugWorld, startDebugCluster, startDebugWorld } from "./world.ts";

const GOAL_AUDIT_MS = 5;
/** For the tunnel's last words. */
const STOP_MS = 15_000;

/** Debug sessions beside other ways to the same API server, with every part as shipped and in its own process. */
export async function benchDebug(options: DebugOptions, signal: AbortSignal): Promise<Row[]> {
  const { wanted, say } = options;
  const rows: Row[] = [];
  const add = (...more: readonly Row[]): void => {
    rows.push(...more);
    // A run that is stopped has said what it had measured.
    for (const { what, measured } of more) say(`${what}: ${measured}`);
  };
  await using stack = new AsyncDisposableStack();
  const found = await startDebugCluster(stack, say, signal);
  if (["open", "kill", "pods", "throughput", "audit"].some(wanted)) {
    await using inner = new AsyncDisposableStack();
    const world = await startDebugWorld(inner, found, say, signal);
    if (wanted("open")) add(...(await opening(world, options, signal)));
    if (wanted("kill")) add(...(await killing(world, options, signal)));
    if (["pods", "throughput", "audit"].some(wanted)) add(...(await sideBySide(inner, world, options, signal)));
  }
  if (wanted("idle")) add(...(await idle(found, options, signal)));
  return rows;
}

async function sideBySide(
  stack: AsyncDisposableStack,
  world: DebugWorld,
  options: DebugOptions,
  signal: AbortSignal,
): Promise<readonly Row[]> {
  const { wanted, say } = options;
  const rows: Row[] = [];
  const others = await otherWays(stack, world, say, signal);
  const session = async (mode: "exec" | "port-forward"): Promise<Way> => {
    const open = await opened(world, await granted(world, mode, signal), signal);
    stack.defer(() => open.close());
    return wayOf(world, OURS, open.kubeconfig);
  };
  const [ours, forwarding] = [await session("exec"), await session("port-forward")];
  const ways = [...others, ours];
  for (const way of ways) await warmed(way, signal);
  if (wanted("pods") || wanted("audit")) rows.push(...(await getPods(ways, options, signal)));
  if (wanted("throughput")) rows.push(...(await throughput(ways, forwarding, world, options, signal)));
  await world.tunnel.stop(STOP_MS);
  const times = JSON.parse(await readFile(world.auditTimesFile, "utf8")) as number[];
  const audit = spread(times);
  rows.push({
    what: `what the audit adds to a request, ${times.length} requests`,
    measured: `median ${audit.median.toFixed(1)} ms, p99 ${audit.p99.toFixed(1)} ms`,
    goal: `p99 ${GOAL_AUDIT_MS} ms`,
    reached: audit.p99 <= GOAL_AUDIT_MS,
    figures: { ...audit },
  });
  return rows;
}
