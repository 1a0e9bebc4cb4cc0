import { ApiError } from "../../api-client/api-error.ts";
import type { Clock } from "../../base/clock.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { MAX_API_ERROR, printable } from "../../crds/printable.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import type { Capacity } from "../kernel/capacity.ts";
import { type AgentMetrics, BUFFER_CAPACITY } from "../kernel/metrics.ts";
import type { Snapshot } from "../kernel/snapshot.ts";
import { isGone } from "../platform-link/platform-answer.ts";
import type { Platform } from "../platform-link/routes.ts";
import { decideSession, type NewSession, refuse, type SessionReport } from "./debug-session.ts";
import type { ListedSession } from "./listed-session.ts";

/** All the I/O of this reconciler, as functions. Each is idempotent. */
export interface SessionPorts {
  /** Whether the customer accepts this deployment. */
  readonly accepts: (deploymentId: string) => boolean;
  readonly platform: Pick<Platform["debugSessions"], "patch">;
  /** The object of this session's name, from the cache. */
  readonly session: (id: string) => DebugSession | undefined;
  readonly capacity: Pick<Capacity, "fullBecause" | "made" | "unmade">;
  readonly create: (session: NewSession, signal: AbortSignal) => Promise<unknown>;
}

export interface DebugSessionsOptions {
  readonly snapshot: Snapshot<ListedSession>;
  readonly ports: SessionPorts;
  /** Debug sessions are on in this cluster. */
  readonly enabled: boolean;
  readonly grantsNamespace: string;
  readonly clock: Clock;
  readonly metrics: Pick<AgentMetrics, "sessionReported" | "dropped" | "buffered">;
}

/** Brings each debug session to the cluster once, and its end back to the platform at least once. */
export class DebugSessions {
  readonly #options: DebugSessionsOptions;
  /** Session id → reports that the platform has answered. Bounded by what is listed and what is in the cluster. */
  readonly #answered = new Map<string, Set<string>>();
  /** Remembered until the platform has their end. */
  readonly #deleted = new Map<string, DebugSession>();

  constructor(options: DebugSessionsOptions) {
    this.#options = options;
  }

  /** A session was deleted: an end of its own, which only we have seen. */
  deleted(session: DebugSession): void {
    const { metrics } = this.#options;
    if (this.#deleted.size >= BUFFER_CAPACITY.deletedSessions) {
      metrics.dropped("deletedSessions");
      return;
    }
    this.#deleted.set(session.spec.sessionId, session);
    metrics.buffered("deletedSessions", this.#deleted.size);
  }

  /** @param id of the session. */
  readonly reconcile = async (id: string, context: ReconcileContext): Promise<Result> => {
    const { snapshot, ports, enabled, grantsNamespace, clock, metrics } = this.#options;
    const [listed, session, deleted] = [snapshot.get(id), ports.session(id), this.#deleted.get(id)];
    const accepted = listed !== undefined && ports.accepts(listed.deploymentId);
    const facts = { listed, accepted, enabled, session, deleted, answered: this.#answeredOf(id) };
    for (const action of decideSession(id, facts, grantsNamespace, clock.wallNow())) {
      context.signal.throwIfAborted();
      if (action.do === "create") await this.#create(id, action.session, context);
      else await this.#report(action, context);
    }
    // A deletion is kept while the platform still lists the session, or it would become an object again.
    if (listed === undefined && this.#deleted.delete(id)) metrics.buffered("deletedSessions", this.#deleted.size);
    if (listed === undefined && session === undefined) this.#answered.delete(id);
    return undefined;
  };

  async #create(id: string, session: NewSession, context: ReconcileContext): Promise<void> {
    const { capacity, create } = this.#options.ports;
    const { deploymentId, mode, namespace } = session.spec;
    const full = capacity.fullBecause(deploymentId);
    // An engineer waits for the answer: a session for which there is no room now is refused, not kept.
    if (full !== undefined) return this.#report(refuse(id, full), context);
    capacity.made(session);
    try {
      await create(session, context.signal);
      context.log.info(
        { name: session.metadata.name, deploymentId, mode, namespace },
        "debug session is in the cluster",
      );
    } catch (error) {
      capacity.unmade(session);
      // There already, and the cache will say so.
      if (error instanceof KubeError && error.isAlreadyExists) return;
      if (!(error instanceof KubeError && error.isInvalid)) throw error;
      await this.#report(refuse(id, printable(error.message, MAX_API_ERROR)), context);
    }
  }

  async #report({ id, key, body }: SessionReport, { signal, log }: ReconcileContext): Promise<void> {
    const { ports, metrics } = this.#options;
    try {
      await ports.platform.patch({ params: { id }, body }, signal);
      metrics.sessionReported(key, "recorded");
    } catch (error) {
      // Ended there already, or not this agent's any more: the same report again is refused again.
      if (!(isGone(error) || isOver(error))) throw error;
      metrics.sessionReported(key, "ignored");
      log.debug({ key, err: error }, "the platform ignored a report on a debug session");
    }
    if (key === "failed") log.warn({ code: body.error?.code }, "debug session refused");
    this.#answered.set(id, this.#answeredOf(id).add(key));
  }

  #answeredOf(id: string): Set<string> {
    return this.#answered.get(id) ?? new Set();
  }
}

function isOver(error: unknown): boolean {
  return error instanceof ApiError && error.code === "INVALID_STATE_TRANSITION";
}
