import type { AccessGrant } from "../crds/access-grant.ts";
import type { RequiredRight } from "../crds/manifests/required-rights.ts";
import type { AccessWatch } from "../kube/access-watch.ts";
import type { Clock, Random } from "../kube/clock.ts";
import { Controller, type Reconcile } from "../kube/controller.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { EventRecorder } from "../kube/event-recorder.ts";
import type { Logger } from "../kube/log.ts";
import type { Runnable } from "../kube/manager.ts";
import type { KubeMetrics } from "../kube/metrics.ts";
import { periodic, type Source, watches } from "../kube/sources.ts";
import { AccessRequests } from "./access-requests.ts";
import { Board } from "./board.ts";
import type { Cluster } from "./cluster.ts";
import { Commands } from "./commands.ts";
import type { AgentConfig } from "./config.ts";
import { Deployments } from "./deployments.ts";
import { Hints } from "./hints.ts";
import { ALL, type Boards, Intake, type IntakeHints } from "./intake.ts";
import { Leases } from "./leases.ts";
import { type AgentMetrics, BUFFER_CAPACITY, type Buffer } from "./metrics.ts";
import type { PlatformLink } from "./platform-link.ts";
import { resourceReport } from "./resource-report.ts";
import type { Platform } from "./routes.ts";
import type { Workloads } from "./workloads.ts";

export interface ControllerParts {
  readonly platform: Platform;
  readonly link: PlatformLink;
  readonly cluster: Cluster;
  readonly events: Pick<EventRecorder, "record">;
  readonly metrics: AgentMetrics;
  readonly kube: KubeMetrics;
  readonly fence: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly config: AgentConfig;
  readonly version: string;
  readonly rights: Pick<AccessWatch<RequiredRight>, "missing">;
}

/** A remote service wants seconds; when it is found again, everything is looked at at once anyway. */
const BACKOFF = { baseMs: 500, maxMs: 60_000 };
/** One reconcile is a handful of calls, each with a limit of its own. */
const RECONCILE_TIMEOUT_MS = 180_000;
const RELEASE_TIMEOUT_MS = 5_000;

/** The four reconcilers of the agent, and the ways in which they are woken. Only the leader runs them. */
export class AgentControllers {
  readonly boards: Boards;
  readonly #parts: ControllerParts;
  readonly #hints: IntakeHints = {
    intake: new Hints("intake", [ALL]),
    deployments: new Hints("deployments"),
    requests: new Hints("requests"),
    commands: new Hints("commands"),
  };
  readonly #leases: Leases;
  readonly #deployments: Deployments;
  readonly #requests: AccessRequests;
  readonly #commands: Commands;

  constructor(parts: ControllerParts, workloads: Pick<Workloads, "lists" | "podsOf">) {
    const { platform, cluster, events, metrics, fence, clock, config, rights, link } = parts;
    const board = <T extends { readonly id: string }>(name: keyof Boards & Buffer): Board<T> =>
      new Board<T>(BUFFER_CAPACITY[name], () => metrics.dropped(name));
    this.#parts = parts;
    this.boards = { deployments: board("deployments"), requests: board("requests"), commands: board("commands") };
    this.#leases = new Leases({ platform: platform.sync, clock, changed: (held) => metrics.leasesHeld(held) });
    this.#deployments = new Deployments({
      ...parts,
      board: this.boards.deployments,
      leases: this.#leases,
      namespaces: config.namespaces,
      ports: {
        platform: platform.sync,
        managed: (id) => cluster.managedOf(id),
        applySpec: (spec, signal) => cluster.applyManaged(spec, signal),
        applyStatus: (managed, status, signal) => cluster.applyManagedStatus(managed, status, signal),
        resources: () => resourceReport(workloads.lists(), (workload) => workloads.podsOf(workload), clock.wallNow()),
        relist: () => this.lookAtAll(),
        missing: () => rights.missing,
        trouble: () => link.trouble ?? (link.isConnected ? undefined : "unknown"),
      },
    });
    this.#requests = new AccessRequests({
      ...parts,
      board: this.boards.requests,
      grantsNamespace: config.grantsNamespace,
      ports: {
        platform: platform.accessRelay,
        grant: (id) => cluster.grantOf(id),
        createGrant: (grant, signal) => cluster.createGrant(grant, signal),
        events,
      },
    });
    this.#commands = new Commands({
      ...parts,
      board: this.boards.commands,
      grantsNamespace: config.grantsNamespace,
      ports: {
        platform: {
          ...platform.commands,
          // The one claim of a command: not by an agent that may not lead any more.
          dispatch: async (args, signal) => {
            fence();
            return await platform.commands.dispatch(args, signal);
          },
        },
        cached: (name) => cluster.invocationNamed(name),
        read: (name, signal) => cluster.readInvocation(name, signal),
        create: (invocation, signal) => cluster.createInvocation(invocation, signal),
      },
    });
  }

  /** Nothing is known: everything is read again. The list of deployments leads to all other lists. */
  readonly lookAtAll = (): void => {
    this.#hints.intake.hint(ALL);
  };

  /** The platform is back: what failed meanwhile waits for its backoff, and need not. */
  readonly recovered = (): void => {
    this.lookAtAll();
    for (const id of this.#requestIds()) this.#hints.requests.hint(id);
    for (const { id } of this.boards.commands.values()) this.#hints.commands.hint(id);
    for (const { id } of this.boards.deployments.values()) this.#hints.deployments.hint(id);
  };

  /** A hint of the work feed. Topics of other parts of the product are not this agent's. */
  readonly changed = (topic: string, deploymentId: string): void => {
    if (topic === "deployments") this.lookAtAll();
    else if (topic === "commands") this.#hints.intake.hint(`commands/${deploymentId}`);
    else if (topic === "access-requests") this.#hints.intake.hint(`requests/${deploymentId}`);
  };

  /** What is known of rights or connection changed: the deployments say so. */
  readonly standingChanged = (): void => {
    for (const { spec } of this.#parts.cluster.managed.store.list()) this.#hints.deployments.hint(spec.deploymentId);
  };

  readonly workloadsChanged = (): void => {
    for (const id of this.#deployments.workloadsChanged()) this.#hints.deployments.hint(id);
  };

  runnables(): readonly Runnable[] {
    const { platform, cluster, metrics, clock, random, config } = this.#parts;
    const { boards } = this;
    const hints = this.#hints;
    const resync = (keys: () => readonly string[]): Source =>
      periodic(config.resyncIntervalMs, keys, { clock, random });
    const idsOn = (board: keyof Boards) => (): readonly string[] => boards[board].values().map(({ id }) => id);
    const grants = watches<AccessGrant>(cluster.grants, (grant, { type }) => {
      if (type === "deleted") this.#requests.deleted(grant);
      return [grant.spec.requestId];
    });
    const invocations = watches(cluster.invocations, ({ spec }) => [spec.commandId]);
    const managed = watches(cluster.managed, ({ spec }) => [spec.deploymentId]);
    const intake = new Intake({ platform, boards, hints, metrics });
    return [
      this.#controller("intake", intake.reconcile, 4, [hints.intake, resync(() => [ALL])]),
      this.#controller("deployments", this.#deployments.reconcile, 2, [
        hints.deployments,
        managed,
        resync(idsOn("deployments")),
      ]),
      this.#controller("access-requests", this.#requests.reconcile, 4, [
        hints.requests,
        grants,
        resync(() => this.#requestIds()),
      ]),
      this.#controller("commands", this.#commands.reconcile, 8, [
        hints.commands,
        invocations,
        resync(idsOn("commands")),
      ]),
      { name: "leases", run: (signal) => this.#releaseAtEnd(signal) },
    ];
  }

  #controller(name: string, reconcile: Reconcile, concurrency: number, sources: readonly Source[]): Controller {
    const { link, clock, log, kube: metrics } = this.#parts;
    const common = { clock, log, metrics, backoff: BACKOFF, reconcileTimeoutMs: RECONCILE_TIMEOUT_MS } as const;
    // A kind that may not be read is shown by readiness, log and event; starting again would not make it readable.
    return new Controller({
      ...common,
      cacheSyncTimeoutMs: "never",
      name,
      reconcile: link.politely(reconcile),
      sources,
      concurrency,
    });
  }

  #requestIds(): readonly string[] {
    const listed = this.boards.requests.values().map(({ id }) => id);
    const inCluster = this.#parts.cluster.grants.store.list().map(({ spec }) => spec.requestId);
    return [...new Set([...listed, ...inCluster])];
  }

  async #releaseAtEnd(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    const never = new AbortController().signal;
    await withDeadline(this.#parts.clock, RELEASE_TIMEOUT_MS, never, (each) => this.#leases.releaseAll(each));
  }
}
