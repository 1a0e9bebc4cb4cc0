import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "../../../src/kube/client/client.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { ask } from "../platform/ask.ts";
import { type Row, spread } from "../table.ts";
import { NAMESPACE, nameOf, podOf, workloadsOf } from "./objects.ts";
import { type AgentOptions, mib } from "./options.ts";
import { usageOf } from "./usage.ts";
import type { AgentWorld } from "./world.ts";

const GOAL = { toldMedianMs: 1_500, toldP99Ms: 6_000, stallMs: 50, growth: 1.1 } as const;
const CHANGES_A_SECOND = 100;
/** Ten early reports a minute are the agent's bound. */
const BETWEEN_WORSENED_MS = 6_500;
const TOLD_WITHIN_MS = 60_000;
const POLL_MS = 25;

/** From the answer to the write of a worse status until the platform shows it to the vendor. */
export async function told(
  { fleet }: AgentWorld,
  client: Client,
  { pods, worsened, say }: AgentOptions,
  signal: AbortSignal,
): Promise<Row> {
  const count = Math.min(worsened, workloadsOf(pods));
  say(`health: ${count} workloads get worse, one each ${BETWEEN_WORSENED_MS / 1_000} s`);
  const call = ask(fleet.port, fleet.key);
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const counts = { readyReplicas: 3, availableReplicas: 3 };
    const key = { name: nameOf(index), namespace: NAMESPACE };
    const body = { status: counts };
    await client.patch(resources.deployments, key, { type: "merge", body }, { subresource: "status" }, signal);
    const changedMs = performance.now();
    const path = `/v1/resources/container/deployment.${NAMESPACE}.${nameOf(index)}/deployments`;
    const isShown = async (): Promise<boolean> => {
      const answer = await call("GET", path).catch(() => undefined);
      return answer?.body.deployments.some(({ health }: { readonly health: string }) => health === "degraded") === true;
    };
    while (!(await isShown())) {
      if (performance.now() - changedMs > TOLD_WITHIN_MS) throw new Error(`${nameOf(index)} was never told`);
      await pause(POLL_MS, undefined, { signal });
    }
    times.push(performance.now() - changedMs);
    await pause(Math.max(0, BETWEEN_WORSENED_MS - (performance.now() - changedMs)), undefined, { signal });
  }
  const took = spread(times);
  return {
    what: `a workload gets worse → the platform shows it, ${count} times`,
    measured: `median ${took.median.toFixed(0)} ms, p99 ${took.p99.toFixed(0)} ms`,
    goal: `median ${GOAL.toldMedianMs} ms, p99 ${GOAL.toldP99Ms} ms`,
    reached: took.median <= GOAL.toldMedianMs && took.p99 <= GOAL.toldP99Ms,
    figures: { took },
  };
}

/** Pods of all workloads become ready and unready. */
export async function churn(
  { agent, proxy, stalls }: AgentWorld,
  client: Client,
  { pods, churnSeconds, say }: AgentOptions,
  signal: AbortSignal,
): Promise<Row[]> {
  say(`health: ${CHANGES_A_SECOND} changes a second for ${churnSeconds} s`);
  const [stallsBefore, sent, before, startedMs] = [
    (await stalls()).length,
    proxy.sent("/v1/sync/"),
    usageOf(agent.pid),
    performance.now(),
  ];
  let [changes, failed, sayAtMs] = [0, 0, startedMs + 30_000];
  const open = new Set<Promise<void>>();
  const memory: number[] = [];
  for (;;) {
    const elapsedMs = performance.now() - startedMs;
    if (elapsedMs >= churnSeconds * 1_000) break;
    signal.throwIfAborted();
    // A server that is too slow for this many is not given more at once.
    while (changes < (elapsedMs / 1_000) * CHANGES_A_SECOND && open.size < CHANGES_A_SECOND) {
      const change = flip(client, changes, pods, signal)
        .catch(() => {
          failed += 1;
        })
        .finally(() => open.delete(change));
      open.add(change);
      changes += 1;
    }
    if (performance.now() > sayAtMs) {
      sayAtMs += 30_000;
      memory.push(usageOf(agent.pid).rssKib);
      say(
        `health: ${changes} changes after ${Math.round(elapsedMs / 1_000)} s, the agent has ${mib(memory.at(-1) ?? 0)}`,
      );
    }
    await pause(10, undefined, { signal });
  }
  await Promise.all(open);
  const tookMs = performance.now() - startedMs;
  await pause(1_500, undefined, { signal });
  const seconds = spread((await stalls()).slice(stallsBefore));
  const [after, sentAfter] = [usageOf(agent.pid), proxy.sent("/v1/sync/")];
  const growth = after.rssKib / (memory[0] ?? before.rssKib);
  const rate = (changes - failed) / (tookMs / 1_000);
  const core = (after.cpuMs - before.cpuMs) / tookMs;
  return [
    {
      what: `${rate.toFixed(0)} changes a second for ${(tookMs / 1_000).toFixed(0)} s: longest stall of the event loop`,
      measured: `${seconds.max.toFixed(0)} ms (median second ${seconds.median.toFixed(0)} ms, p99 ${seconds.p99.toFixed(0)} ms), ${(core * 100).toFixed(0)} % of a core${failed > 0 ? `, ${failed} writes failed` : ""}`,
      goal: `${CHANGES_A_SECOND} a second, at most ${GOAL.stallMs} ms`,
      reached: seconds.max <= GOAL.stallMs && rate >= CHANGES_A_SECOND * 0.95,
      figures: { seconds, rate, failed, core },
    },
    {
      what: "memory during these changes",
      measured: `${[before.rssKib, ...memory, after.rssKib].map(mib).join(", ")}`,
      goal: `at most ${GOAL.growth} times what it has after 30 s`,
      reached: growth <= GOAL.growth,
      figures: {
        before,
        memory,
        after,
        bytes: sentAfter.bytes - sent.bytes,
        requests: sentAfter.requests - sent.requests,
      },
    },
  ];
}

/** A prime apart, so that one workload is not hit twice in a row. */
async function flip(client: Client, change: number, pods: number, signal: AbortSignal): Promise<void> {
  const index = (change * 7_919) % pods;
  const isReady = Math.floor(change / pods) % 2 === 1;
  const at = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const ready = { type: "Ready", status: isReady ? "True" : "False", reason: "Set", lastTransitionTime: at };
  const body = { status: { conditions: [ready] } };
  const options = { subresource: "status" };
  await client.patch(
    resources.pods,
    { name: podOf(index), namespace: NAMESPACE },
    { type: "merge", body },
    options,
    signal,
  );
}
