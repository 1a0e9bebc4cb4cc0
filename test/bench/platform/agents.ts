import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type Row, spread } from "../table.ts";
import type { Agent, SwarmCommands, SwarmReport } from "./agent-swarm.ts";
import { ask } from "./ask.ts";
import { Child } from "./child.ts";
import type { PlatformCommands } from "./platform-server.ts";
import { manyManagers } from "./rows.ts";

/** Many systems allow a process 20,000 open files, and each agent is a socket in the swarm and one in the platform. */
const MOST_AGENTS = 19_000;
const HEARTBEAT_MS = 60_000;
/** The time of a steady measurement; most agents heartbeat within it. */
const STEADY_MS = 40_000;
const GOAL_P99_MS = 100;
const GOAL_BYTES = 2 * 1024 ** 3;
const WAKES = 200;

export interface AgentsOptions {
  readonly postgres: string;
  readonly agents: number;
  readonly say: (line: string) => void;
}

/** How many agents one platform process can serve: each heartbeats every minute and holds the work feed open. */
export async function benchAgents(options: AgentsOptions, signal: AbortSignal): Promise<Row[]> {
  const { say, agents: count } = options;
  await using stack = new AsyncDisposableStack();
  const platform = new Child<PlatformCommands>(new URL("platform-server.ts", import.meta.url));
  stack.defer(() => platform.stop());
  const swarms = [1, 2].map(() => new Child<SwarmCommands>(new URL("agent-swarm.ts", import.meta.url)));
  stack.defer(async () => void (await Promise.all(swarms.map((swarm) => swarm.stop()))));
  const { port } = await platform.call("start", { database: { postgres: options.postgres }, record: false });
  const most = Math.max(count, Math.round(Math.min(MOST_AGENTS, count * 1.9)));
  say(`agents: making ${most} managers`);
  const { call, agents } = await fleet(platform, port, options.postgres, most);
  const room: Room = { platform, port, swarms, call, say, signal };

  const rows: Row[] = [];
  await join(room, agents.slice(0, count), 45_000);
  rows.push(...(await steady(room, count)));
  rows.push(await wakes(room, agents.slice(0, count)));
  rows.push(await limit(room, agents, count));
  await Promise.all(swarms.map((swarm) => swarm.call("leave")));
  const { holding } = await report(room);
  const { tookMs } = await platform.call("close");
  rows.push({
    what: `graceful stop while ${holding} polls are held`,
    measured: `${(tookMs / 1000).toFixed(2)} s`,
    goal: "at most 10 s",
    reached: tookMs <= 10_000,
    figures: { holding, tookMs },
  });
  return rows;
}

interface Room {
  readonly platform: Child<PlatformCommands>;
  readonly port: number;
  readonly swarms: readonly Child<SwarmCommands>[];
  readonly call: ReturnType<typeof ask>;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

async function fleet(platform: Child<PlatformCommands>, port: number, postgres: string, count: number) {
  const { key, workspaceId, managerId, managerKey } = await platform.call("workspace", { name: "agents" });
  const call = ask(port, key);
  const beat = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
  await ask(port, managerKey)("POST", `/v1/managers/${managerId}/heartbeat`, beat);
  await call("POST", "/v1/projects", { name: "shop" });
  const group = await call("POST", "/v1/deployment-groups", { name: "all", project: "shop", maxDeployments: 1000 });
  const made = await call("POST", "/v1/deployments", {
    name: "first",
    platform: "kubernetes",
    project: "shop",
    deploymentGroupId: group.body.id,
    managerId,
  });
  return { call, agents: await manyManagers(postgres, workspaceId, made.body.deployment.id, count) };
}

async function join({ swarms, port, say, signal }: Room, agents: readonly Agent[], rampMs: number): Promise<void> {
  say(`agents: ${agents.length} more come within ${rampMs / 1000} s`);
  await Promise.all(
    swarms.map((swarm, n) =>
      swarm.call("join", { port, agents: agents.filter((_, at) => at % swarms.length === n), rampMs }),
    ),
  );
  // The last agent needs a moment to open its poll.
  await delay(3_000, undefined, { signal });
}

async function report({ swarms }: Room): Promise<SwarmReport> {
  const reports = await Promise.all(swarms.map((swarm) => swarm.call("report")));
  const failed: Record<string, number> = {};
  for (const each of reports) {
    for (const [message, count] of Object.entries(each.failed)) failed[message] = (failed[message] ?? 0) + count;
  }
  return {
    heartbeatsMs: reports.flatMap((each) => each.heartbeatsMs),
    woken: reports.flatMap((each) => each.woken),
    holding: reports.reduce((sum, each) => sum + each.holding, 0),
    failed,
  };
}

/** Measures what happens within `ms`. */
async function observed(room: Room, ms: number) {
  await report(room);
  const before = await room.platform.call("usage");
  await delay(ms, undefined, { signal: room.signal });
  const after = await room.platform.call("usage");
  const { heartbeatsMs, holding, failed } = await report(room);
  return {
    heartbeats: spread(heartbeatsMs),
    perSecond: heartbeatsMs.length / (ms / 1000),
    holding,
    failed,
    cores: (after.cpuMs - before.cpuMs) / ms,
    memoryBytes: after.memoryBytes,
  };
}

async function steady(room: Room, count: number): Promise<Row[]> {
  room.say(`agents: ${count} for ${STEADY_MS / 1000} s`);
  const seen = await observed(room, STEADY_MS);
  const peakBytes = peakMemory(room.platform.pid);
  room.say(`agents: ${JSON.stringify(seen)}`);
  const refused = Object.values(seen.failed).reduce((sum, each) => sum + each, 0);
  return [
    {
      what: `${count} agents on one process: heartbeats`,
      measured:
        `p99 ${seen.heartbeats.p99.toFixed(0)} ms, median ${seen.heartbeats.median.toFixed(1)} ms, ` +
        `${seen.perSecond.toFixed(0)}/s, ${refused} failed; ${seen.cores.toFixed(2)} cores`,
      goal: `p99 ${GOAL_P99_MS} ms`,
      reached: seen.heartbeats.p99 <= GOAL_P99_MS && refused === 0 && seen.holding > 0.99 * count,
      figures: seen,
    },
    {
      what: `${count} agents on one process: peak memory`,
      measured: `${(peakBytes / 1024 ** 2).toFixed(0)} MiB`,
      goal: "at most 2048 MiB",
      reached: peakBytes <= GOAL_BYTES,
      figures: { peakBytes },
    },
  ];
}

/** Measures from the request that changes a deployment until its manager has the answer that names it. */
async function wakes(room: Room, agents: readonly Agent[]): Promise<Row> {
  room.say(`agents: ${WAKES} changes, one after the other`);
  await report(room);
  const sent = new Map<string, number>();
  for (let n = 0; n < WAKES; n += 1) {
    const at = Math.floor((agents.length / WAKES) * n);
    const { managerId = "" } = agents[at] ?? {};
    const sentMs = performance.timeOrigin + performance.now();
    try {
      await room.call("PATCH", `/v1/deployments/${managerId.replace("mgr_", "dep_")}`, { name: `changed-${n}` });
      sent.set(managerId, sentMs);
    } catch (error) {
      room.say(`agents: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  await delay(5_000, undefined, { signal: room.signal });
  const { woken } = await report(room);
  const latencies = woken.flatMap(({ managerId, atMs }) => {
    const sentMs = sent.get(managerId);
    return sentMs === undefined ? [] : [atMs - sentMs];
  });
  const strangers = woken.length - latencies.length;
  const changed = sent.size;
  const times = spread(latencies);
  return {
    what: `a change wakes its manager's poll, ${agents.length} held`,
    measured:
      `median ${times.median.toFixed(0)} ms, p99 ${times.p99.toFixed(0)} ms; ` +
      `${latencies.length} of ${changed} woken, ${strangers} others`,
    goal: "only its own, p99 1000 ms",
    reached: latencies.length === changed && strangers === 0 && times.p99 <= 1000,
    figures: { ...times, changed, woken: latencies.length, strangers },
  };
}

/**
 * Adds agents while there are files for their sockets, then shortens the heartbeat interval, until the goal is missed.
 */
async function limit(room: Room, agents: readonly Agent[], from: number): Promise<Row> {
  let borne = { holding: from, perSecond: from / 60 };
  const steps: unknown[] = [];
  const bears = async (what: string): Promise<boolean> => {
    await delay(5_000, undefined, { signal: room.signal });
    const seen = await observed(room, 10_000);
    const good = seen.heartbeats.p99 <= GOAL_P99_MS && Object.keys(seen.failed).length === 0;
    room.say(
      `agents: ${what}: p99 ${seen.heartbeats.p99.toFixed(0)} ms, ${seen.perSecond.toFixed(0)}/s${good ? "" : ": broken"}`,
    );
    steps.push({ what, ...seen });
    if (good) borne = { holding: seen.holding, perSecond: seen.perSecond };
    return good;
  };
  const beatEvery = (ms: number) => Promise.all(room.swarms.map((swarm) => swarm.call("beatEvery", { ms })));
  let holds = true;
  if (agents.length > from) {
    await join(room, agents.slice(from), 15_000);
    holds = await bears(`${agents.length} agents`);
  }
  for (let every = HEARTBEAT_MS / 2; holds && every > 5_000; every /= 2) {
    await beatEvery(every);
    holds = await bears(`${agents.length} agents, a heartbeat each ${every / 1000} s`);
  }
  return {
    what: "the most that one process bore within the goal",
    measured: `${borne.holding} polls held and ${borne.perSecond.toFixed(0)} heartbeats a second`,
    goal: "",
    figures: { borne, steps },
  };
}

function peakMemory(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN) * 1024;
}
