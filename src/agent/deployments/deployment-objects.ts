import type { Clock } from "../../base/clock.ts";
import { acceptedNamespaces } from "../../crds/kinds/accepted-namespaces.ts";
import type {
  ManagedDeployment,
  ManagedDeploymentSpec,
  ManagedDeploymentState,
  ManagedDeploymentStatus,
} from "../../crds/kinds/managed-deployment.ts";
import type { RequiredRight } from "../../crds/manifests/roles/required-rights.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { referenceTo } from "../../kube/events/event.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { WorkloadsSummary } from "../observe/summary.ts";
import type { Installed } from "../releases/installed.ts";
import { acceptance, type Places } from "./acceptance.ts";
import type { CapabilityFacts } from "./capabilities.ts";
import { agentConditions, type ConnectionTrouble, changedConditions, type DeploymentCondition } from "./conditions.ts";
import { healthNews, statusOf } from "./deployment-status.ts";
import { driftCondition } from "./release-conditions.ts";
import { StatusPace } from "./status-pace.ts";
import { workloadConditions } from "./workload-conditions.ts";

/** All the I/O of this part, as functions. */
export interface DeploymentObjectPorts {
  /** By deployment id, from the cache. */
  readonly managed: (deploymentId: string) => ManagedDeployment | undefined;
  /** From the cache, what has the object name of this deployment: two ids can meet in one name. */
  readonly holder: (deploymentId: string) => ManagedDeployment | undefined;
  /** Ids of those in the cache without an answer of the customer. */
  readonly unanswered: () => readonly string[];
  readonly create: (spec: ManagedDeploymentSpec, signal: AbortSignal) => Promise<ManagedDeployment>;
  readonly remove: (managed: ManagedDeployment, signal: AbortSignal) => Promise<unknown>;
  readonly applyStatus: (
    managed: ManagedDeployment,
    status: ManagedDeploymentStatus,
    signal: AbortSignal,
  ) => Promise<unknown>;
  readonly events: Pick<EventRecorder, "record">;
  /** The agent's own rights that are missing. */
  readonly missing: () => readonly RequiredRight[];
  /** Parts of the product that are off by default: what of them this cluster has, for this deployment. */
  readonly offered: (deploymentId: string) => Pick<CapabilityFacts, "debugModes" | "machinePool" | "releases">;
  readonly trouble: () => ConnectionTrouble;
  /** As last seen; undefined before the first look. */
  readonly workloads: (deploymentId: string) => WorkloadsSummary | undefined;
  /** What a release has installed; undefined: nothing, or releases are off. */
  readonly installed: (deploymentId: string) => Installed | undefined;
}

export interface DeploymentObjectsOptions {
  readonly ports: DeploymentObjectPorts;
  readonly places: Places;
  /** Most that wait at once. */
  readonly maxWaiting: number;
  /** Between two writes of a status that changes. */
  readonly statusIntervalMs: number;
  readonly isListed: (deploymentId: string) => boolean;
  readonly clock: Clock;
}

/** What the platform answered to the last report. */
export interface ReportAnswer {
  readonly message: string;
  /** The code of a refusal. */
  readonly refusedWith?: string | undefined;
}

/** The objects that show the customer what the platform lists, and what the customer says there. */
export class DeploymentObjects {
  readonly #options: DeploymentObjectsOptions;
  /** Objects that are being made, or that the cache does not show yet: they count where room is asked for. */
  readonly #made = new Set<string>();
  #isCrowded = false;
  /** Ids whose object name is another's, and that have the log line and event. Bounded by what is listed. */
  readonly #nameTakenIds = new Set<string>();
  readonly #pace: StatusPace;
  /** The platform's last answer of each, and when it came. */
  readonly #answers = new Map<string, { readonly answer: ReportAnswer; readonly at: string }>();

  constructor(options: DeploymentObjectsOptions) {
    this.#options = options;
    this.#pace = new StatusPace(options.clock, options.statusIntervalMs);
  }

  of(id: string): ManagedDeployment | undefined {
    const managed = this.#options.ports.managed(id);
    if (managed !== undefined) this.#made.delete(id);
    return managed;
  }

  /** Where the customer accepts it; nowhere: it waits. */
  accepted(id: string): readonly string[] {
    const { ports, places } = this.#options;
    return acceptedNamespaces(id, ports.managed(id), places.named);
  }

  hasRoomFor(id: string): boolean {
    const { ports, maxWaiting } = this.#options;
    const others = new Set([...ports.unanswered(), ...this.#made]);
    others.delete(id);
    return others.size < maxWaiting;
  }

  /** The most that may wait is reached. Logged once, not once a deployment: the platform may list any number. */
  noRoom({ log }: ReconcileContext): void {
    if (this.#isCrowded) return;
    this.#isCrowded = true;
    log.warn({ max: this.#options.maxWaiting }, "more deployments wait than are shown; the rest is only counted");
  }

  async create(spec: ManagedDeploymentSpec, context: ReconcileContext): Promise<void> {
    const { ports } = this.#options;
    const { signal, log } = context;
    const { deploymentId } = spec;
    const holder = ports.holder(deploymentId);
    if (holder !== undefined) return this.#nameTaken(deploymentId, holder, context);
    const isAccepted = this.accepted(deploymentId).length > 0;
    if (!isAccepted) this.#made.add(deploymentId);
    try {
      const managed = await ports.create(spec, signal);
      this.#isCrowded = false;
      log.info({ deploymentId, accepted: isAccepted }, "the platform lists a deployment; it is shown in the cluster");
      if (isAccepted) return;
      this.#record(
        managed,
        "AwaitingAcceptance",
        "a deployment waits for acceptance; run the command in its status.acceptanceLine",
      );
    } catch (error) {
      this.#made.delete(deploymentId);
      // There already, and the cache will say so.
      if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
    }
  }

  /** It is not made. Once for each id, a log line and an event on the object that has the name say so. */
  #nameTaken(deploymentId: string, holder: ManagedDeployment, { log }: ReconcileContext): void {
    if (holder.spec.deploymentId === deploymentId || this.#nameTakenIds.has(deploymentId)) return;
    this.#nameTakenIds.add(deploymentId);
    const { name } = holder.metadata;
    log.warn(
      { deploymentId, name, code: "NAME_TAKEN" },
      "another deployment has this one's object name; it is not shown",
    );
    const note = `deployment ${deploymentId} is not shown and not served: its object would have the name of this one`;
    this.#record(holder, "NameTaken", note, "Warning");
  }

  /** The platform lists it no more, and the customer has not answered it. */
  async clear(id: string, { signal, log }: ReconcileContext): Promise<void> {
    const { ports } = this.#options;
    const managed = ports.managed(id);
    if (managed === undefined) return;
    await ports.remove(managed, signal);
    log.info({ deploymentId: id }, "a deployment that waited is not listed any more; its object is deleted");
  }

  forget(id: string): void {
    this.#made.delete(id);
    this.#nameTakenIds.delete(id);
    this.#pace.forget(id);
    this.#answers.delete(id);
  }

  detach(id: string, signal: AbortSignal): Promise<void> {
    this.#pace.forget(id);
    this.#answers.set(id, { answer: { message: "the platform no longer lists it" }, at: this.#now() });
    return this.#writeReported(id, "Detached", signal);
  }

  /** Shown at once, or when the status may be written again: `dueInMs`. */
  reported(id: string, answer: ReportAnswer, signal: AbortSignal): Promise<void> {
    this.#answers.set(id, { answer, at: this.#now() });
    return this.#writeReported(id, this.#stateOf(id), signal);
  }

  /** When a change of the status is to be written that had to wait; undefined: none waits. */
  dueInMs(id: string): number | undefined {
    return this.#pace.dueInMs(id);
  }

  async writeDue(id: string, signal: AbortSignal): Promise<void> {
    if (this.#pace.dueInMs(id) === 0) await this.#writeReported(id, this.#stateOf(id), signal);
  }

  /** The customer's answer, rights and connection change between two reports. */
  async updateConditions(id: string, signal: AbortSignal): Promise<void> {
    const managed = this.of(id);
    if (managed === undefined) return;
    const { status: before } = managed;
    const conditions = this.#conditionsOf(managed);
    const status = this.#statusOf(managed, this.#stateOf(id), conditions, before?.lastReportedAt);
    const isSame = status.state === before?.state && String(status.namespaces) === String(before?.namespaces);
    if (isSame && changedConditions(managed, conditions).length === 0) return;
    await this.#write(managed, status, signal);
    if (before?.state !== "Waiting" || status.state !== "Serving") return;
    this.#record(managed, "Accepted", `may be served in ${status.namespaces?.join(", ")}`);
  }

  async #writeReported(id: string, state: ManagedDeploymentState, signal: AbortSignal): Promise<void> {
    const managed = this.of(id);
    const told = this.#answers.get(id);
    if (managed === undefined || told === undefined) return;
    const { message, refusedWith } = told.answer;
    const reported =
      refusedWith === undefined
        ? ({ status: "True", reason: "Acknowledged" } as const)
        : ({ status: "False", reason: "Refused" } as const);
    const summary = this.#options.ports.workloads(id);
    const conditions = [
      { type: "Reported", ...reported, message } as const,
      ...this.#conditionsOf(managed),
      ...(summary === undefined ? [] : workloadConditions(summary)),
    ];
    const isServed = refusedWith === undefined && state === "Serving";
    const at = isServed ? told.at : managed.status?.lastReportedAt;
    const status = this.#statusOf(managed, state, conditions, at);
    if (!this.#pace.isDue(id, managed.status, status)) return;
    await this.#write(managed, status, signal);
    this.#pace.written(id);
    const news = healthNews(managed.status, status);
    if (news !== undefined) this.#record(managed, news.reason, news.note, news.type, "Observe");
  }

  /**
   * Detached is decided apart: it is said only after the platform has been asked, and stays until it lists it again.
   */
  #stateOf(id: string): ManagedDeploymentState {
    const { isListed, ports } = this.#options;
    if (ports.managed(id)?.status?.state === "Detached" && !isListed(id)) return "Detached";
    return this.accepted(id).length > 0 ? "Serving" : "Waiting";
  }

  #statusOf(
    managed: ManagedDeployment,
    state: ManagedDeploymentState,
    changed: readonly DeploymentCondition[],
    lastReportedAt: string | undefined,
  ): ManagedDeploymentStatus {
    const { ports, places, clock } = this.#options;
    const { deploymentId } = managed.spec;
    const accepted = this.accepted(deploymentId);
    const facts = { observed: ports.workloads(deploymentId), installed: ports.installed(deploymentId) };
    const { grantsNamespace } = places;
    const more = { state, accepted, changed, lastReportedAt, grantsNamespace };
    return statusOf(managed, { ...facts, ...more }, clock.wallNow());
  }

  #now(): string {
    return this.#options.clock.wallNow().toISOString();
  }

  #conditionsOf(managed: ManagedDeployment): readonly DeploymentCondition[] {
    const { ports, places } = this.#options;
    const installed = ports.installed(managed.spec.deploymentId);
    return [
      ...acceptance(managed, places),
      ...agentConditions(ports.missing(), ports.trouble()),
      ...(installed === undefined ? [] : [driftCondition(installed)]),
    ];
  }

  #record(
    managed: ManagedDeployment,
    reason: "AwaitingAcceptance" | "Accepted" | "NameTaken" | "WorkloadUnhealthy" | "WorkloadRecovered",
    note: string,
    type: "Normal" | "Warning" = "Normal",
    action: "Accept" | "Observe" = "Accept",
  ): void {
    const { events } = this.#options.ports;
    events.record({ regarding: referenceTo(managed), type, reason, action, note });
  }

  /** Not being allowed to say it is no failure of what was done; log and event name the right. */
  async #write(managed: ManagedDeployment, status: ManagedDeploymentStatus, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.ports.applyStatus(managed, status, signal);
    } catch (error) {
      if (!(error instanceof KubeError && error.isForbidden)) throw error;
    }
  }
}
