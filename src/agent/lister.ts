import { isDeepStrictEqual } from "node:util";
import { pages } from "../api-client/pages.ts";
import type { ReconcileContext, Result } from "../kube/controller/controller.ts";
import type { TriggeredSource } from "../kube/controller/sources.ts";
import { type ListedRequest, readListedRequest } from "./access-requests/pending-request.ts";
import { type ListedCommand, readListedCommand } from "./commands/listed-command.ts";
import { type ListedSession, readListedSession } from "./debug-sessions/listed-session.ts";
import { type ListedDeployment, readListedDeployment } from "./deployments/listed-deployment.ts";
import type { AgentMetrics } from "./kernel/metrics.ts";
import type { Snapshot } from "./kernel/snapshot.ts";
import { isGone, isUnknownRoute } from "./platform-link/platform-answer.ts";
import type { Platform } from "./platform-link/routes.ts";

export interface Snapshots {
  readonly deployments: Snapshot<ListedDeployment>;
  readonly requests: Snapshot<ListedRequest>;
  readonly commands: Snapshot<ListedCommand>;
  readonly sessions: Snapshot<ListedSession>;
}

/** Where ids go when something about them may be new. */
export interface Triggers {
  readonly lister: TriggeredSource;
  readonly deployments: TriggeredSource;
  readonly requests: TriggeredSource;
  readonly commands: TriggeredSource;
  readonly sessions: TriggeredSource;
}

export interface ListerOptions {
  readonly platform: Pick<Platform, "sync" | "accessRelay" | "commands" | "debugSessions">;
  readonly snapshots: Snapshots;
  readonly triggers: Triggers;
  /** Whether the customer accepts this deployment; of others only their being there is read. */
  readonly accepts: (deploymentId: string) => boolean;
  readonly metrics: Pick<AgentMetrics, "buffered" | "requestRefused">;
}

/**
 * The key under which all deployments are listed; the other keys are `commands/<deployment>`, `requests/…`, `sessions/…`.
 */
export const ALL = "deployments";
const MAX_DEPLOYMENTS = 500;
/**
 * Open commands of one deployment looked at in one go; the platform gives the oldest first, the rest comes after them.
 */
const MAX_COMMANDS = 500;
/** Pending debug sessions of one deployment looked at in one go, the newest first; an old one has no engineer left. */
const MAX_SESSIONS = 50;

/** Reads the platform's lists into the snapshots, and reconciles each id that may have changed. */
export class Lister {
  readonly #options: ListerOptions;

  constructor(options: ListerOptions) {
    this.#options = options;
  }

  readonly reconcile = async (key: string, context: ReconcileContext): Promise<Result> => {
    const [list, deploymentId] = key.split("/", 2);
    if (list === ALL) await this.#deployments(context);
    else if (list === "commands" && deploymentId !== undefined) await this.#commands(deploymentId, context);
    else if (list === "requests" && deploymentId !== undefined) await this.#requests(deploymentId, context);
    else if (list === "sessions" && deploymentId !== undefined) await this.#sessions(deploymentId, context);
    const { metrics, snapshots } = this.#options;
    for (const name of ["deployments", "requests", "commands", "sessions"] as const)
      metrics.buffered(name, snapshots[name].size);
    return undefined;
  };

  async #deployments({ signal, log }: ReconcileContext): Promise<void> {
    const { platform, snapshots, triggers } = this.#options;
    const listed: ListedDeployment[] = [];
    let after: string | undefined;
    let left = MAX_DEPLOYMENTS;
    // A report may be answered while the list is on its way, which then has the state before it.
    const since = snapshots.deployments.changes;
    do {
      const body = { limit: left, ...(after !== undefined && { after }) };
      const { deployments, nextAfter } = await platform.sync.list({ body }, signal);
      for (const item of deployments.slice(0, left)) {
        const deployment = readListedDeployment(item);
        if ("problem" in deployment) this.#unreadable(deployment.problem, log);
        else listed.push(deployment);
      }
      left -= deployments.length;
      // An answer without an item gets no further.
      after = deployments.length > 0 && typeof nextAfter === "string" ? nextAfter : undefined;
    } while (after !== undefined && left > 0);
    for (const id of snapshots.deployments.replace(ALL, listed, since)) {
      triggers.deployments.trigger(id);
      // Also for one that is gone: its open commands and requests are gone with it.
      triggers.lister.trigger(`commands/${id}`);
      triggers.lister.trigger(`requests/${id}`);
      triggers.lister.trigger(`sessions/${id}`);
    }
    // An answer has changed these while the list was on its way. Where the two differ, only another list says which is older.
    const read = new Set(listed);
    const kept = snapshots.deployments.values().filter((each) => !read.has(each));
    const isDoubtful = kept.some(
      (each) => !listed.some((item) => item.id === each.id && isDeepStrictEqual(item, each)),
    );
    if (isDoubtful) triggers.lister.trigger(ALL);
  }

  async #commands(deploymentId: string, { signal, log }: ReconcileContext): Promise<void> {
    const { platform, snapshots, triggers, accepts } = this.#options;
    const query = {
      deploymentId,
      state: ["PENDING" as const, "DISPATCHED" as const],
      include: ["payload" as const],
      order: "asc" as const,
      limit: 100,
    };
    const listed: ListedCommand[] = [];
    // A command may be claimed while the list is on its way, which then does not have it.
    const since = accepts(deploymentId) ? snapshots.commands.changes : undefined;
    try {
      for await (const item of since === undefined ? [] : pages(platform.commands.list, { query }, signal)) {
        const command = readListedCommand(item);
        if (command?.deploymentId === deploymentId) listed.push(command);
        else if (command !== undefined) this.#unreadable("a command of another deployment", log);
        if (listed.length >= MAX_COMMANDS) break;
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    for (const id of snapshots.commands.replace(deploymentId, listed, since)) triggers.commands.trigger(id);
  }

  async #requests(deploymentId: string, { signal, log }: ReconcileContext): Promise<void> {
    const { platform, snapshots, triggers, accepts } = this.#options;
    const listed: ListedRequest[] = [];
    try {
      const { requests } = accepts(deploymentId)
        ? await platform.accessRelay.pending({ query: { deploymentId } }, signal)
        : { requests: [] };
      for (const item of requests) {
        const request = readListedRequest(item, deploymentId);
        if (request === undefined) this.#unreadable("a request without a proper id", log);
        else listed.push(request);
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    for (const id of snapshots.requests.replace(deploymentId, listed)) triggers.requests.trigger(id);
  }

  async #sessions(deploymentId: string, { signal, log }: ReconcileContext): Promise<void> {
    const { platform, snapshots, triggers, accepts } = this.#options;
    const listed: ListedSession[] = [];
    try {
      const query = { deploymentId, state: ["pending" as const], limit: MAX_SESSIONS };
      const { items } = accepts(deploymentId) ? await platform.debugSessions.list({ query }, signal) : { items: [] };
      for (const item of items.slice(0, MAX_SESSIONS)) {
        const session = readListedSession(item, deploymentId);
        if (session === undefined) this.#unreadable("a debug session without a proper id", log);
        else if (session !== "none") listed.push(session);
      }
    } catch (error) {
      // A platform without debug sessions lists none.
      if (!(isGone(error) || isUnknownRoute(error))) throw error;
    }
    for (const id of snapshots.sessions.replace(deploymentId, listed)) triggers.sessions.trigger(id);
  }

  /** There is not even an id to answer with. */
  #unreadable(problem: string, log: ReconcileContext["log"]): void {
    this.#options.metrics.requestRefused("unreadable");
    log.warn({ reason: problem.slice(0, 200) }, "the platform listed something unreadable; skipped");
  }
}
