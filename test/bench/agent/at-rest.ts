import { setTimeout as pause } from "node:timers/promises";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import type { Row } from "../table.ts";
import { workloadsOf } from "./objects.ts";
import { type AgentOptions, mib } from "./options.ts";
import { usageOf } from "./usage.ts";
import { type AgentWorld, startKubeStateMetrics } from "./world.ts";

const GOAL = { memory: 0.5, core: 0.01, bytes: 2_048 } as const;
/** V8 and the first reports come to rest. */
const SETTLE_MS = 30_000;

/** Beside kube-state-metrics, which watches the same, when it can be had. */
export async function atRest(
  { agent, proxy, toggleStalls }: AgentWorld,
  cluster: Cluster,
  { pods, restSeconds, say }: AgentOptions,
  signal: AbortSignal,
): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const peer = await startKubeStateMetrics(stack, cluster, say, signal);
  toggleStalls();
  await pause(SETTLE_MS, undefined, { signal });
  const [before, sent, all, startedMs] = [
    usageOf(agent.pid),
    proxy.sent("/v1/sync/"),
    proxy.sent(""),
    performance.now(),
  ];
  const peerBefore = peer && usageOf(peer.pid);
  say(`health: ${restSeconds} s at rest`);
  await pause(restSeconds * 1_000, undefined, { signal });
  const [after, sentAfter, allAfter] = [usageOf(agent.pid), proxy.sent("/v1/sync/"), proxy.sent("")];
  const peerAfter = peer && usageOf(peer.pid);
  const tookMs = performance.now() - startedMs;
  toggleStalls();
  const core = (after.cpuMs - before.cpuMs) / tookMs;
  const bytes = ((sentAfter.bytes - sent.bytes) / tookMs) * 60_000;
  const allBytes = ((allAfter.bytes - all.bytes) / tookMs) * 60_000;
  const share = peerAfter === undefined ? undefined : after.rssKib / peerAfter.rssKib;
  const peerCore = peerBefore && peerAfter ? (peerAfter.cpuMs - peerBefore.cpuMs) / tookMs : undefined;
  const figures = { before, after, peerBefore, peerAfter, tookMs };
  return [
    {
      what: `memory at rest against kube-state-metrics, ${pods} pods`,
      measured:
        share === undefined
          ? `${mib(after.rssKib)}; no kube-state-metrics to compare with`
          : `${share.toFixed(2)} (${mib(after.rssKib)} against ${mib(peerAfter?.rssKib ?? 0)}; peaks ${mib(after.peakKib)} and ${mib(peerAfter?.peakKib ?? 0)})`,
      goal: `at most ${GOAL.memory}`,
      ...(share !== undefined && { reached: share <= GOAL.memory }),
      figures,
    },
    {
      what: "CPU at rest",
      measured: `${(core * 100).toFixed(2)} % of a core${peerCore === undefined ? "" : ` (kube-state-metrics ${(peerCore * 100).toFixed(2)} %)`}`,
      goal: `at most ${GOAL.core * 100} %`,
      reached: core <= GOAL.core,
      figures: { core, peerCore },
    },
    {
      what: `reports at rest, ${workloadsOf(pods)} workloads`,
      measured: `${Math.round(bytes)} bytes a minute (with heartbeat and work feed ${Math.round(allBytes)})`,
      goal: `at most ${GOAL.bytes}`,
      reached: bytes <= GOAL.bytes,
      figures: { sent, sentAfter, all, allAfter },
    },
  ];
}
