import { serveCommands } from "./child.ts";
import { HttpConnection, requestText } from "./http-connection.ts";

export interface Agent {
  readonly managerId: string;
  readonly key: string;
}

interface Join {
  readonly port: number;
  readonly agents: readonly Agent[];
  /** The agents join one after the other, over this time. */
  readonly rampMs: number;
}

/** One answer of the feed that named work. */
export interface Woken {
  readonly managerId: string;
  /** On the wall clock, which the processes of a machine share. */
  readonly atMs: number;
}

export interface SwarmReport {
  readonly heartbeatsMs: readonly number[];
  readonly woken: readonly Woken[];
  /** Polls that are held now. */
  readonly holding: number;
  readonly failed: Readonly<Record<string, number>>;
}

/** How long a poll asks to be held; the most that the API allows. */
const WAIT_SECONDS = 30;
/** An agent looks for a new heartbeat interval this often. */
const PACE_LOOK_MS = 2_000;
const BEAT = JSON.stringify({
  status: "healthy",
  url: "https://manager.example.com",
  managementConfigs: {},
  version: "0.1.0",
});

let everyMs = 60_000;
let heartbeatsMs: number[] = [];
let woken: Woken[] = [];
let failed: Record<string, number> = {};
let holding = 0;
let stopped = false;

const commands = {
  /** Resolves when the last has sent its first request. */
  async join({ port, agents, rampMs }: Join) {
    const startedMs = performance.now();
    for (const [n, agent] of agents.entries()) {
      const dueMs = startedMs + (rampMs * n) / agents.length;
      if (dueMs > performance.now()) await after(dueMs - performance.now());
      void live(`127.0.${1 + (n % 4)}.1`, port, agent);
    }
  },
  /** Sets the heartbeat interval of all agents. */
  beatEvery({ ms }: { readonly ms: number }) {
    everyMs = ms;
  },
  /** What happened since the last report. */
  report(): SwarmReport {
    const report = { heartbeatsMs, woken, failed, holding };
    heartbeatsMs = [];
    woken = [];
    failed = {};
    return report;
  },
  /** From now on a lost connection does not count as a failure. */
  leave() {
    stopped = true;
  },
};

export type SwarmCommands = typeof commands;
serveCommands(commands);

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function live(address: string, port: number, agent: Agent): Promise<void> {
  await Promise.all([holdFeed(address, port, agent), beat(address, port, agent)]);
}

/** Polls the feed as an agent does: ask, take the work, ask again from that cursor. */
async function holdFeed(address: string, port: number, { managerId, key }: Agent): Promise<void> {
  let cursor: string | undefined;
  while (!stopped) {
    try {
      const connection = await HttpConnection.open(port, address);
      for (;;) {
        const query = cursor === undefined ? "" : `?wait=${WAIT_SECONDS}&cursor=${encodeURIComponent(cursor)}`;
        const path = `/v1/managers/${managerId}/work${query}`;
        if (cursor !== undefined) holding += 1;
        const answer = await connection.request(requestText({ method: "GET", path, key })).finally(() => {
          if (cursor !== undefined) holding -= 1;
        });
        if (answer.status !== 200) throw new Error(`feed ${answer.status}`);
        const { topics, cursor: next } = JSON.parse(answer.body) as { topics: unknown[]; cursor: string };
        if (cursor !== undefined && topics.length > 0) woken.push({ managerId, atMs: wallMs() });
        cursor = next;
      }
    } catch (error) {
      note(error);
      await after(1_000);
    }
  }
}

/** Each over a new connection, as an agent may need after a minute without traffic. */
async function beat(address: string, port: number, { managerId, key }: Agent): Promise<void> {
  await after(Math.random() * everyMs);
  while (!stopped) {
    const startedMs = performance.now();
    try {
      const connection = await HttpConnection.open(port, address);
      const path = `/v1/managers/${managerId}/heartbeat`;
      const { status } = await connection.request(requestText({ method: "POST", path, key, body: BEAT }));
      connection.close();
      if (status !== 200) throw new Error(`heartbeat ${status}`);
      heartbeatsMs.push(performance.now() - startedMs);
    } catch (error) {
      note(error);
    }
    await untilNextBeat(startedMs);
  }
}

/** Agents take up a new interval at random times; otherwise all that are overdue by it would beat at once. */
async function untilNextBeat(lastMs: number): Promise<void> {
  const pace = everyMs;
  let dueMs = lastMs + pace;
  while (dueMs > performance.now()) {
    await after(Math.min(PACE_LOOK_MS, dueMs - performance.now()));
    if (everyMs !== pace) {
      await after(Math.random() * everyMs);
      dueMs = 0;
    }
  }
}

function note(error: unknown): void {
  if (stopped) return;
  const message = error instanceof Error ? error.message : String(error);
  failed[message] = (failed[message] ?? 0) + 1;
}

function wallMs(): number {
  return performance.timeOrigin + performance.now();
}
