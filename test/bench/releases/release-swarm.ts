import type { Agent } from "../platform/agent-swarm.ts";
import { serveCommands } from "../platform/child.ts";
import { HttpConnection, requestText } from "../platform/http-connection.ts";

interface Follow {
  readonly port: number;
  readonly agents: readonly Agent[];
  /** They come one after the other, over this time. */
  readonly rampMs: number;
}

export interface FollowReport {
  /** Polls that are held now. */
  readonly holding: number;
  /** When each was told `updating`, on the wall clock, which the processes of a machine share. */
  readonly updatingAtMs: readonly number[];
  readonly failed: Readonly<Record<string, number>>;
}

const WAIT_SECONDS = 30;
const AGAIN_MS = 1_000;

const updatingAtMs: number[] = [];
const failed: Record<string, number> = {};
let holding = 0;
let stopped = false;

const commands = {
  /** Resolves when the last has sent its first request. */
  async follow({ port, agents, rampMs }: Follow) {
    const startedMs = performance.now();
    for (const [n, agent] of agents.entries()) {
      await after(startedMs + (rampMs * n) / agents.length - performance.now());
      void live(`127.0.${1 + (n % 4)}.1`, port, agent);
    }
  },
  report(): FollowReport {
    return { holding, updatingAtMs, failed };
  },
  /** From now on a lost connection does not count as a failure. */
  leave() {
    stopped = true;
  },
};

export type ReleaseSwarmCommands = typeof commands;
serveCommands(commands);

function after(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}

/** An agent with one deployment: holds the feed, and does for a promoted release what `src/agent` asks of the platform. */
async function live(address: string, port: number, agent: Agent): Promise<void> {
  const session = `session-${agent.managerId}`;
  let cursor: string | undefined;
  let isLeased = false;
  while (!stopped) {
    try {
      const feed = await HttpConnection.open(port, address);
      const work = await HttpConnection.open(port, address);
      const asked = (path: string, body: object) => called(work, agent.key, "POST", path, body);
      for (;;) {
        if (!isLeased) isLeased = await leased(asked, session);
        const query = cursor === undefined ? "" : `?wait=${WAIT_SECONDS}&cursor=${encodeURIComponent(cursor)}`;
        if (cursor !== undefined) holding += 1;
        const told = await called(feed, agent.key, "GET", `/v1/managers/${agent.managerId}/work${query}`).finally(
          () => {
            if (cursor !== undefined) holding -= 1;
          },
        );
        ({ cursor } = told);
        if (told.topics.length > 0) await carriedOut(asked, session);
      }
    } catch (error) {
      note(error);
      await after(AGAIN_MS);
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what an agent reads of the answers; another shape fails there.
type Answer = any;
type Ask = (path: string, body: object) => Promise<Answer>;

async function leased(ask: Ask, session: string): Promise<boolean> {
  const request = { session, requestId: `${session}-${performance.now()}`, deploymentModel: "pull", limit: 1 };
  const { deployments } = await ask("/v1/sync/acquire", request);
  const [found] = deployments;
  if (found === undefined) return false;
  await ask("/v1/sync/renew", { session, deploymentIds: [found.deploymentId] });
  return true;
}

/** The report whose answer has the target, and the one that it is being applied. */
async function carriedOut(ask: Ask, session: string): Promise<void> {
  const [listed] = (await ask("/v1/sync/list", { limit: 500 })).deployments as Answer[];
  if (listed?.status !== "update-pending") return;
  const operationId = listed.updateState?.active?.id;
  const state = { platform: "kubernetes", protocolVersion: 1 };
  const of = { deploymentId: listed.id, session, operationId };
  const { target } = await ask("/v1/sync/reconcile", { ...of, state: { ...state, status: "update-pending" } });
  if (target == null) throw new Error("no target");
  const rollout = { rollout: { id: operationId, over: false } };
  const { current } = await ask("/v1/sync/reconcile", {
    ...of,
    state: { ...state, status: "updating", runtimeMetadata: rollout },
  });
  if (current.status !== "updating") throw new Error(`is ${current.status} and not updating`);
  updatingAtMs.push(performance.timeOrigin + performance.now());
}

async function called(
  connection: HttpConnection,
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const text = requestText({ method, path, key, ...(body && { body: JSON.stringify(body) }) });
  const answer = await connection.request(text);
  if (answer.status !== 200) throw new Error(`${path.split("?")[0]}: ${answer.status} ${answer.body.slice(0, 200)}`);
  return JSON.parse(answer.body);
}

function note(error: unknown): void {
  if (stopped) return;
  const message = error instanceof Error ? error.message : String(error);
  failed[message] = (failed[message] ?? 0) + 1;
}
