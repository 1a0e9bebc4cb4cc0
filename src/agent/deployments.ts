import { ApiError } from "../api-client/api-error.ts";
import type { Capability, DeploymentState, DeploymentStatus } from "../contract/deployment-state.ts";
import { DEPLOYMENT_PROTOCOL_VERSION } from "../contract/deployment-state.ts";
import type { ManagedDeployment, ManagedDeploymentSpec, ManagedDeploymentStatus } from "../crds/managed-deployment.ts";
import type { RequiredRight } from "../crds/manifests/required-rights.ts";
import { ApiError as KubeError } from "../kube/api-error.ts";
import type { Clock, Random } from "../kube/clock.ts";
import type { ReconcileContext, Result } from "../kube/controller.ts";
import type { Board } from "./board.ts";
import { type DeploymentStep, nextDeploymentStep } from "./deployment.ts";
import { isLeaseLost, type Leases } from "./leases.ts";
import type { ListedDeployment } from "./listed-deployment.ts";
import type { AgentMetrics } from "./metrics.ts";
import { isGone } from "./platform-answer.ts";
import type { ReportPart } from "./resource-report.ts";
import type { Platform } from "./routes.ts";
import { type Connectedness, newsFor, type Said, saying, standing } from "./standing.ts";

/** All the I/O of this reconciler, as functions. */
export interface DeploymentPorts {
  readonly platform: Pick<Platform["sync"], "reconcile">;
  /** By deployment id, from the cache. */
  readonly managed: (deploymentId: string) => ManagedDeployment | undefined;
  readonly applySpec: (spec: ManagedDeploymentSpec, signal: AbortSignal) => Promise<unknown>;
  readonly applyStatus: (
    managed: ManagedDeployment,
    status: ManagedDeploymentStatus,
    signal: AbortSignal,
  ) => Promise<unknown>;
  /** What the caches say of the workloads, cut into calls. */
  readonly resources: () => readonly ReportPart[];
  /** Asks for the platform's list again. */
  readonly relist: () => void;
  /** The agent's own rights that are missing. */
  readonly missing: () => readonly RequiredRight[];
  readonly trouble: () => Connectedness;
}

export interface DeploymentsOptions {
  readonly board: Board<ListedDeployment>;
  readonly ports: DeploymentPorts;
  readonly leases: Leases;
  readonly namespaces: readonly string[];
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Pick<AgentMetrics, "resourceReport">;
}

/** Health older than 180 s is shown as stale (§11.1): a report a minute may be lost twice. */
const REPORT_EVERY_MS = 60_000;
/** A change is told sooner, but a rollout is many changes. */
const REPORT_AFTER_CHANGE_MS = 5_000;
/** Apply, acquire, renew, report in up to three setup steps, and a margin. */
const MAX_STEPS = 10;
const CONTRADICTION_RETRY_MS = 30_000;
/** A deployment that is gone from the platform since the last run is on no list, so nothing else brings us back to it. */
const UNREAD_RETRY_MS = 5_000;

const CAPABILITIES: readonly Capability[] = [
  { key: "k8s-workloads", state: "granted" },
  { key: "operations", state: "granted" },
  { key: "logs", state: "granted" },
  { key: "debug", state: "unavailable", detail: "not in this version" },
  { key: "machines", state: "unavailable", detail: "not in this version" },
];

interface Memory {
  reportAtMs: number;
  reportedAtMs: number;
}

/** Holds each deployment of the platform under a lease, shows it in the cluster, and reports what lives there. */
export class Deployments {
  readonly #options: DeploymentsOptions;
  readonly #memories = new Map<string, Memory>();

  constructor(options: DeploymentsOptions) {
    this.#options = options;
  }

  /** Workloads changed: report soon. Returns the ids that are reported. */
  workloadsChanged(): readonly string[] {
    const nowMs = this.#options.clock.monotonicMs();
    for (const memory of this.#memories.values()) {
      const soonMs = Math.max(nowMs, memory.reportedAtMs + REPORT_AFTER_CHANGE_MS);
      memory.reportAtMs = Math.min(memory.reportAtMs, soonMs);
    }
    return [...this.#memories.keys()];
  }

  /** @param id of the deployment. */
  readonly reconcile = async (id: string, context: ReconcileContext): Promise<Result> => {
    const { board, ports, leases, namespaces, clock } = this.#options;
    // Before anything that needs the platform: this is where people look for what is wrong with it.
    await this.#tellStanding(id, context.signal);
    // After a start, with the platform away: what it does not list it may not have been asked for yet. Taking that for
    // a detachment would have the operator refuse what was granted.
    if (!board.isRead) return { requeueAfterMs: UNREAD_RETRY_MS };
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      context.signal.throwIfAborted();
      const [listed, managed] = [board.get(id), ports.managed(id)];
      const { reportAtMs } = this.#memoryOf(id);
      const world = { listed, managed, lease: leases.of(id), acquireAtMs: leases.acquireAtMs(id), reportAtMs };
      const step = nextDeploymentStep(world, namespaces, clock.monotonicMs());
      if (step.do === "wait") {
        if (listed === undefined) {
          this.#memories.delete(id);
          leases.forget(id);
        }
        return step.forMs === undefined ? undefined : { requeueAfterMs: step.forMs };
      }
      await this.#take(step, id, context);
      // The cache shows what was written only after its watch has seen it: the event brings us back.
      if (step.do === "writeManaged" || step.do === "detach") return undefined;
    }
    return { requeueAfterMs: CONTRADICTION_RETRY_MS };
  };

  async #take(step: Exclude<DeploymentStep, { do: "wait" }>, id: string, context: ReconcileContext): Promise<void> {
    const { board, ports, leases } = this.#options;
    switch (step.do) {
      case "writeManaged":
        return void (await ports.applySpec(step.spec, context.signal));
      case "detach":
        return this.#writeStatus(id, "Detached", "the platform no longer lists it", context.signal);
      case "acquire":
        return leases.acquire(id, board.get(id)?.model ?? "pull", context.signal);
      case "renew":
        if (!(await leases.renew(id, context.signal))) context.log.warn({ deploymentId: id }, "lease lost");
        return;
      case "giveUp":
        context.log.warn({ deploymentId: id }, "lease given up: not renewed in time");
        return leases.lost(id);
      case "release":
        return leases.release(id, context.signal);
      case "report":
        return this.#report(id, step.status, context);
    }
  }

  async #report(id: string, status: DeploymentStatus, context: ReconcileContext): Promise<void> {
    const { ports, clock, random, metrics } = this.#options;
    const memory = this.#memoryOf(id);
    const atMs = clock.monotonicMs();
    memory.reportedAtMs = atMs;
    memory.reportAtMs = atMs + REPORT_EVERY_MS * (0.9 + 0.2 * random());
    try {
      for (const part of ports.resources()) await this.#send(id, status, part, context.signal);
      metrics.resourceReport("ok");
    } catch (error) {
      if (context.signal.aborted) throw error;
      metrics.resourceReport("failed");
      await this.#refused(id, error, context);
      return;
    }
    await this.#writeStatus(id, "Serving", "the platform has the last report", context.signal);
  }

  async #send(id: string, status: DeploymentStatus, part: ReportPart, signal: AbortSignal): Promise<void> {
    const { board, ports, leases, version, namespaces } = this.#options;
    const listed = board.get(id);
    if (listed === undefined) return;
    const environmentInfo = { platform: "kubernetes" as const, namespace: namespaces.join(",").slice(0, 512) };
    const state: DeploymentState = {
      status,
      platform: listed.platform,
      protocolVersion: DEPLOYMENT_PROTOCOL_VERSION,
      ...(listed.platform === "kubernetes" ? { environmentInfo } : {}),
    };
    const body = {
      deploymentId: id,
      ...(leases.of(id) === undefined ? {} : { session: leases.session }),
      state,
      resourceHeartbeats: [...part.resourceHeartbeats],
      observedInventoryBatches: [...part.observedInventoryBatches],
      capabilities: [...CAPABILITIES],
      operatorVersion: version,
    };
    const { current } = await ports.platform.reconcile({ body }, signal);
    board.update({ ...listed, status: current.status });
    // More steps that may not be skipped follow at once.
    const moves = current.status !== listed.status && current.status !== "running";
    if (moves && listed.model === "push") this.#memoryOf(id).reportAtMs = 0;
  }

  /** Some refusals are news, not failures: they say what is true instead. */
  async #refused(id: string, error: unknown, { log, signal }: ReconcileContext): Promise<void> {
    const { leases, ports } = this.#options;
    const code = error instanceof ApiError ? error.code : undefined;
    if (isLeaseLost(error) || code === "DEPLOYMENT_LOCKED") leases.lost(id);
    else if (code === "INVALID_STATE_TRANSITION" || isGone(error)) ports.relist();
    else {
      this.#memoryOf(id).reportAtMs = 0;
      throw error;
    }
    log.info({ deploymentId: id, code }, "report refused");
    await this.#writeStatus(id, "Serving", "the platform refused the last report", signal, code);
  }

  async #writeStatus(
    id: string,
    state: "Serving" | "Detached",
    message: string,
    signal: AbortSignal,
    refusedWith?: string,
  ): Promise<void> {
    const { ports, clock } = this.#options;
    const managed = ports.managed(id);
    if (managed === undefined) return;
    const now = clock.wallNow();
    const observedGeneration = managed.metadata.generation ?? 0;
    const reported =
      refusedWith === undefined
        ? ({ status: "True", reason: "Acknowledged" } as const)
        : ({ status: "False", reason: "Refused" } as const);
    const conditions = saying(managed, [{ type: "Reported", ...reported, message }, ...this.#standing()], now);
    const at = refusedWith === undefined && state === "Serving" ? now.toISOString() : managed.status?.lastReportedAt;
    const lastReportedAt = at === undefined ? {} : { lastReportedAt: at };
    await this.#applyStatus(managed, { state, observedGeneration, ...lastReportedAt, conditions }, signal);
  }

  /** Rights and connection come and go between two reports. */
  async #tellStanding(id: string, signal: AbortSignal): Promise<void> {
    const managed = this.#options.ports.managed(id);
    const news = managed === undefined ? [] : newsFor(managed, this.#standing());
    if (managed === undefined || news.length === 0) return;
    const conditions = saying(managed, news, this.#options.clock.wallNow());
    await this.#applyStatus(managed, { ...managed.status, conditions }, signal);
  }

  #standing(): readonly Said[] {
    const { ports } = this.#options;
    return standing(ports.missing(), ports.trouble());
  }

  /** Not being allowed to say it is no failure of what was done; log and event tell of the right. */
  async #applyStatus(managed: ManagedDeployment, status: ManagedDeploymentStatus, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.ports.applyStatus(managed, status, signal);
    } catch (error) {
      if (!(error instanceof KubeError && error.isForbidden)) throw error;
    }
  }

  #memoryOf(id: string): Memory {
    let memory = this.#memories.get(id);
    if (memory === undefined) {
      memory = { reportAtMs: 0, reportedAtMs: Number.NEGATIVE_INFINITY };
      this.#memories.set(id, memory);
    }
    return memory;
  }
}
