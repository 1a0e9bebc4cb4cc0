import { ApiError } from "../../api-client/api-error.ts";
import type { Clock, Random } from "../../base/clock.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import type { AgentMetrics } from "../kernel/metrics.ts";
import type { Snapshot } from "../kernel/snapshot.ts";
import type { WorkloadRef } from "../observe/observation.ts";
import { EMPTY_PART } from "../observe/report-parts.ts";
import type { Report, ResourceReports } from "../observe/resource-reports.ts";
import { isGone } from "../platform-link/platform-answer.ts";
import type { Releases } from "../releases/releases.ts";
import { isUnknown, RETRIES } from "../releases/wish.ts";
import type { Places } from "./acceptance.ts";
import {
  type DeploymentFacts,
  type DeploymentReport,
  type DeploymentStep,
  isOver,
  nextDeploymentStep,
} from "./deployment.ts";
import { type DeploymentObjectPorts, DeploymentObjects } from "./deployment-objects.ts";
import { isLeaseLost, type Leases } from "./leases.ts";
import type { ListedDeployment } from "./listed-deployment.ts";
import {
  backOff,
  begun,
  hold,
  isHeld,
  LOOK_AFTER_CHANGE_MS,
  newPace,
  noticed,
  type ReportPace,
  resumed,
  STATE_ALONE,
  staysHeld,
  waitOf,
} from "./report-pace.ts";
import { type ReportAnswered, ReportSender, type ReportSenderPorts } from "./report-sender.ts";

const REFUSED = "the platform refused the last report";
const LOCKED = "an earlier agent process holds the deployment there: the lease ends within five minutes";
/** All the I/O of this reconciler, as functions. */
export interface DeploymentPorts extends DeploymentObjectPorts, ReportSenderPorts {
  readonly resources: Pick<ResourceReports, "next" | "changed" | "forget" | "exceeded"> &
    ReportSenderPorts["resources"];
}

export interface DeploymentsOptions {
  readonly snapshot: Snapshot<ListedDeployment>;
  readonly ports: DeploymentPorts;
  readonly leases: Leases;
  /** Undefined: releases are off. */
  readonly releases: Releases | undefined;
  readonly places: Places;
  readonly maxWaiting: number;
  /** Between two reports of what changes. */
  readonly reportIntervalMs: number;
  readonly statusIntervalMs: number;
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Pick<AgentMetrics, "resourceReport">;
}

/** Apply, acquire, renew, report in up to three setup steps, and a margin. */
const MAX_STEPS = 10;
const CONTRADICTION_RETRY_MS = 30_000;
/**
 * A deployment that is gone from the platform since the last run is on no list, so nothing else brings us back to it.
 */
const UNREAD_RETRY_MS = 5_000;

interface Memory extends ReportPace {
  unlistedAtMs: number | undefined;
  /** At the last look. */
  accepted: readonly string[];
}

/**
 * Shows each deployment that the platform lists as an application in the cluster; holds those that the customer accepts
 * under a lease, and reports what lives in the namespaces that they are accepted for.
 */
export class Deployments {
  readonly #options: DeploymentsOptions;
  readonly #objects: DeploymentObjects;
  readonly #sender: ReportSender;
  readonly #memories = new Map<string, Memory>();

  constructor(options: DeploymentsOptions) {
    this.#options = options;
    this.#objects = new DeploymentObjects({ ...options, isListed: (id) => options.snapshot.get(id) !== undefined });
    this.#sender = new ReportSender({ ...options, isRunner: options.releases !== undefined });
  }

  /** A workload changed: look at it soon. Returns the ids to reconcile; no other deployment may learn of it. */
  workloadChanged(ref: WorkloadRef): readonly string[] {
    const ids = [...this.#memories.keys()].filter((id) => this.#memoryOf(id).accepted.includes(ref.namespace));
    for (const id of ids) this.#options.ports.resources.changed(id, ref);
    return this.#lookSoon(ids);
  }

  /** What has no namespace changed. Returns the ids to reconcile: each that is accepted anywhere. */
  clusterChanged(): readonly string[] {
    return this.#lookSoon([...this.#memories.keys()].filter((id) => this.#memoryOf(id).accepted.length > 0));
  }

  /** Those that no look was planned for yet: a burst of changes is one look. */
  #lookSoon(ids: readonly string[]): readonly string[] {
    const soonMs = this.#options.clock.monotonicMs() + LOOK_AFTER_CHANGE_MS;
    const found = ids.filter((id) => this.#memoryOf(id).lookAtMs > soonMs);
    for (const id of found) this.#memoryOf(id).lookAtMs = soonMs;
    return found;
  }

  /** What the agent may read has changed: each deployment's workloads are looked at when it is reconciled. */
  lookNow(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const memory of this.#memories.values()) memory.lookAtMs = Math.min(memory.lookAtMs, nowMs);
  }

  /** @param id of the deployment. */
  readonly reconcile = async (id: string, context: ReconcileContext): Promise<Result> => {
    const { snapshot, clock } = this.#options;
    // Before anything that needs the platform: this is where people look for what is wrong with it.
    await this.#objects.updateConditions(id, context.signal);
    await this.#objects.writeDue(id, context.signal);
    // After a start, with the platform away: what it does not list it may not have been asked for yet. Taking that for
    // a detachment would have the operator refuse what was granted.
    if (!snapshot.isRead) return { requeueAfterMs: UNREAD_RETRY_MS };
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      context.signal.throwIfAborted();
      const facts = this.#factsOf(id);
      const step = nextDeploymentStep(facts, clock.monotonicMs());
      if (step.do === "wait") {
        if (facts.listed === undefined && step.forMs === undefined) this.#forget(id);
        if (facts.listed !== undefined && facts.managed === undefined) this.#objects.noRoom(context);
        const waits = [step.forMs, this.#objects.dueInMs(id)].filter((each) => each !== undefined);
        return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
      }
      await this.#take(step, id, context);
      // The cache shows what was written only after its watch has seen it: the event brings us back.
      if (step.do === "create" || step.do === "detach" || step.do === "clear") return undefined;
    }
    return { requeueAfterMs: CONTRADICTION_RETRY_MS };
  };

  #factsOf(id: string): DeploymentFacts {
    const { snapshot, leases, releases, clock } = this.#options;
    const [listed, memory, accepted] = [snapshot.get(id), this.#memoryOf(id), this.#objects.accepted(id)];
    const lease = leases.of(id);
    const runner = accepted.length === 0 ? undefined : releases;
    const isLeased = lease !== undefined;
    memory.unlistedAtMs = listed === undefined ? (memory.unlistedAtMs ?? clock.monotonicMs()) : undefined;
    const news = listed && runner?.news(listed, isLeased);
    const wanted = listed?.desiredReleaseId;
    noticed(memory, JSON.stringify([accepted, this.#options.ports.offered(id), wanted, news]));
    memory.accepted = accepted;
    return {
      listed,
      managed: this.#objects.of(id),
      accepted,
      hasRoom: this.#objects.hasRoomFor(id),
      unlistedAtMs: memory.unlistedAtMs,
      lease,
      acquireAtMs: leases.acquireAtMs(id),
      reportAtMs: Math.min(memory.reportAtMs, memory.lookAtMs),
      release: listed && runner?.step(listed, isLeased),
      isRetried: runner !== undefined && listed?.wanted.retryRequested === true && RETRIES[listed.status] !== undefined,
    };
  }

  async #take(step: Exclude<DeploymentStep, { do: "wait" }>, id: string, context: ReconcileContext): Promise<void> {
    const { snapshot, leases } = this.#options;
    switch (step.do) {
      case "create":
        return this.#objects.create(step.spec, context);
      case "detach":
        return this.#objects.detach(id, context.signal);
      case "clear":
        return this.#objects.clear(id, context);
      case "acquire":
        return leases.acquire(id, snapshot.get(id)?.model ?? "pull", context.signal);
      case "renew":
        if (!(await leases.renew(id, context.signal))) context.log.warn({ deploymentId: id }, "lease lost");
        return;
      case "giveUp":
        context.log.warn({ deploymentId: id }, "lease given up: not renewed in time");
        return leases.lost(id);
      case "release":
        return leases.release(id, context.signal);
      case "report":
        return this.#report(id, step.report, context);
    }
  }

  async #report(id: string, said: DeploymentReport, context: ReconcileContext): Promise<void> {
    const { ports, clock, random, metrics } = this.#options;
    const accepted = this.#objects.accepted(id);
    const memory = this.#memoryOf(id);
    const atMs = clock.monotonicMs();
    memory.lookAtMs = Number.POSITIVE_INFINITY;
    const isHeldBack = isHeld(memory, atMs);
    const rest = isHeldBack ? STATE_ALONE : resumed(memory, accepted);
    const found = rest ?? (await ports.resources.next(id, accepted, context.signal));
    const report = this.#options.snapshot.get(id)?.tellsHealth === false ? this.#untold(id, found) : found;
    const waitMs = waitOf(memory, report, atMs, this.#options.reportIntervalMs);
    if (waitMs > 0) {
      // A workload may have changed during the look.
      memory.lookAtMs = Math.min(memory.lookAtMs, atMs + waitMs);
      return;
    }
    begun(memory, report, atMs, random);
    let left = report.parts.length === 0 ? [EMPTY_PART] : report.parts;
    let answer: ReportAnswered | undefined;
    try {
      while (left.length > 0) {
        // What happened is told once, not with each part.
        const told = answer === undefined ? said : { ...said, progress: [] };
        const sent = await this.#sender.sendFirst({ id, report: told, parts: left, accepted }, memory, context);
        left = sent.left;
        answer = sent.answer ?? answer;
      }
      metrics.resourceReport("ok", report.mode, clock.wallNow());
      if (!isHeldBack) memory.exceeded = 0;
    } catch (error) {
      if (context.signal.aborted) throw error;
      if (isHeldBack && staysHeld(memory, error)) return;
      metrics.resourceReport("failed", report.mode, clock.wallNow());
      if (hold(memory, error, { ...report, parts: left }, accepted, clock.monotonicMs())) {
        context.log.info({ deploymentId: id }, "the platform takes more of this deployment later");
        return;
      }
      await this.#refused(id, error, context);
      return;
    }
    const message = accepted.length === 0 ? "the platform knows that it waits" : "the platform has the last report";
    if (!isHeldBack) await this.#objects.reported(id, { message }, context.signal);
    if (answer !== undefined) await this.#answered(id, said, answer, context);
  }

  /** Without its parts: what the customer sees of it in the cluster goes on, and nothing waits to be sent. */
  #untold(id: string, report: Report): Report {
    for (const part of report.parts) this.#options.ports.resources.acknowledged(id, part, false);
    return { ...report, parts: [], isWorse: false };
  }

  /** The platform's answer says what the deployment should become. */
  async #answered(
    id: string,
    said: DeploymentReport,
    answer: ReportAnswered,
    context: ReconcileContext,
  ): Promise<void> {
    const { snapshot, leases, releases, places, ports, clock } = this.#options;
    const accepted = this.#objects.accepted(id);
    const record = snapshot.get(id);
    if (releases === undefined || record === undefined || accepted.length === 0) return;
    const { current, target } = answer;
    // It has gone on from what was reported, or has not taken it: which update is under way, only the list says.
    if (current.status !== said.state.status || isUnknown(record)) ports.relist();
    const isLeased = (): boolean => {
      const lease = leases.of(id);
      return lease !== undefined && !isOver(lease, clock.monotonicMs());
    };
    const namespaces = accepted.filter((each) => places.opened.includes(each));
    const memory = this.#memoryOf(id);
    const { reportAtMs } = memory;
    // Should it fail, the next try needs a report: only its answer has the target.
    memory.reportAtMs = 0;
    const againMs = await releases.answered({ record, current, target, namespaces, isLeased }, context);
    memory.reportAtMs = Math.min(reportAtMs, clock.monotonicMs() + (againMs ?? Number.POSITIVE_INFINITY));
  }

  /** Some refusals are news, not failures: they say what is true instead. */
  async #refused(id: string, error: unknown, { log, signal }: ReconcileContext): Promise<void> {
    const { leases, ports, clock } = this.#options;
    const code = error instanceof ApiError ? error.code : undefined;
    if (isLeaseLost(error) || code === "DEPLOYMENT_LOCKED") leases.lost(id);
    else if (code === "INVALID_STATE_TRANSITION" || isGone(error)) ports.relist();
    else if (backOff(this.#memoryOf(id), error, clock.monotonicMs())) ports.resources.exceeded(id);
    else {
      this.#memoryOf(id).reportAtMs = 0;
      throw error;
    }
    log.info({ deploymentId: id, code }, "report refused");
    const answer = { message: code === "DEPLOYMENT_LOCKED" ? LOCKED : REFUSED, refusedWith: code };
    await this.#objects.reported(id, answer, signal);
  }

  #forget(id: string): void {
    this.#memories.delete(id);
    this.#options.ports.resources.forget(id);
    this.#options.releases?.forget(id);
    this.#objects.forget(id);
    this.#options.leases.forget(id);
  }

  #memoryOf(id: string): Memory {
    let memory = this.#memories.get(id);
    if (memory === undefined) {
      memory = { ...newPace(), unlistedAtMs: undefined, accepted: [] };
      this.#memories.set(id, memory);
    }
    return memory;
  }
}
