import type { Clock, Random } from "../base/clock.ts";
import { withDeadline } from "../base/deadline.ts";
import type { Logger } from "../base/log.ts";
import { acceptedNamespaces } from "../crds/accepted-namespaces.ts";
import type { AccessGrant } from "../crds/kinds/access-grant.ts";
import type { ManagedDeployment } from "../crds/kinds/managed-deployment.ts";
import type { RequiredRight } from "../crds/manifests/roles/required-rights.ts";
import type { AccessWatch } from "../kube/access/access-watch.ts";
import { Controller, type Reconcile } from "../kube/controller/controller.ts";
import { periodic, type Source, triggered, watches } from "../kube/controller/sources.ts";
import type { EventRecorder } from "../kube/events/event-recorder.ts";
import type { Runnable } from "../kube/manager/manager.ts";
import type { KubeMetrics } from "../kube/metrics/metrics.ts";
import { AccessRequests } from "./access-requests/access-requests.ts";
import { Capacity } from "./capacity.ts";
import type { Cluster } from "./cluster.ts";
import { Commands } from "./commands/commands.ts";
import type { AgentConfig } from "./config.ts";
import { isUnanswered } from "./deployments/deployment.ts";
import { Deployments } from "./deployments/deployments.ts";
import { Leases } from "./deployments/leases.ts";
import { ALL, Lister, type Snapshots, type Triggers } from "./lister.ts";
import { type AgentMetrics, BUFFER_CAPACITY, type Buffer } from "./metrics.ts";
import { resourceReport } from "./observe/resource-report.ts";
import type { Workloads } from "./observe/workloads.ts";
import type { PlatformLink } from "./platform-link/platform-link.ts";
import type { Platform } from "./platform-link/routes.ts";
import { Snapshot } from "./snapshot.ts";

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
  readonly snapshots: Snapshots;
  readonly #parts: ControllerParts;
  readonly #triggers: Triggers = {
    lister: triggered("lister", [ALL]),
    deployments: triggered("deployments"),
    requests: triggered("requests"),
    commands: triggered("commands"),
  };
  /** The customer accepts this deployment, somewhere. */
  readonly #accepts = (id: string): boolean => {
    const { cluster, config } = this.#parts;
    return acceptedNamespaces(id, cluster.managedOf(id), config.deployments).length > 0;
  };
  readonly #leases: Leases;
  readonly #deployments: Deployments;
  readonly #requests: AccessRequests;
  readonly #commands: Commands;

  constructor(parts: ControllerParts, workloads: Pick<Workloads, "lists" | "podsOf">) {
    const { platform, cluster, events, metrics, fence, clock, config, rights, link } = parts;
    const snapshot = <T extends { readonly id: string }>(name: keyof Snapshots & Buffer): Snapshot<T> =>
      new Snapshot<T>(BUFFER_CAPACITY[name], () => metrics.dropped(name));
    // A claim of a command: not by an agent that may not lead any more.
    const claims = <Args, Answer>(call: (args: Args, signal: AbortSignal) => Promise<Answer>): typeof call => {
      return async (args, signal) => {
        fence();
        return await call(args, signal);
      };
    };
    this.#parts = parts;
    this.snapshots = {
      deployments: snapshot("deployments"),
      requests: snapshot("requests"),
      commands: snapshot("commands"),
    };
    cluster.managed.onChange((change) => {
      if (change.type === "updated") this.#answered(change.object, change.previous);
    });
    this.#leases = new Leases({ platform: platform.sync, clock, changed: (held) => metrics.leasesHeld(held) });
    this.#deployments = new Deployments({
      ...parts,
      snapshot: this.snapshots.deployments,
      leases: this.#leases,
      places: { named: config.deployments, opened: config.namespaces, grantsNamespace: config.grantsNamespace },
      maxWaiting: config.maxWaitingDeployments,
      ports: {
        platform: platform.sync,
        managed: (id) => cluster.managedOf(id),
        holder: (id) => cluster.managedUnderNameOf(id),
        unanswered: () =>
          cluster.managed.store
            .list()
            .filter((managed) => isUnanswered(managed) && !this.#accepts(managed.spec.deploymentId))
            .map(({ spec }) => spec.deploymentId),
        create: (spec, signal) => cluster.createManaged(spec, signal),
        remove: (managed, signal) => cluster.deleteManaged(managed, signal),
        events,
        applyStatus: (managed, status, signal) => cluster.applyManagedStatus(managed, status, signal),
        resources: (namespaces) =>
          resourceReport(
            workloads.lists().filter(({ namespace }) => namespaces.includes(namespace)),
            (workload) => workloads.podsOf(workload),
            clock.wallNow(),
          ),
        relist: () => this.lookAtAll(),
        missing: () => rights.missing,
        trouble: () => link.trouble ?? (link.isConnected ? undefined : "unknown"),
      },
    });
    const grantCapacity = new Capacity({ clock, open: cluster.openGrants });
    const invocationCapacity = new Capacity({ clock, open: cluster.openInvocations });
    cluster.grants.onChange(grantCapacity.shown);
    cluster.invocations.onChange(invocationCapacity.shown);
    this.#requests = new AccessRequests({
      ...parts,
      snapshot: this.snapshots.requests,
      grantsNamespace: config.grantsNamespace,
      ports: {
        accepts: this.#accepts,
        platform: { ...platform.accessRelay, approvals: claims(platform.accessRelay.approvals) },
        claimed: (items, plan) => this.#commands.claimed(items, plan),
        grant: (id) => cluster.grantOf(id),
        capacity: grantCapacity,
        createGrant: (grant, signal) => cluster.createGrant(grant, signal),
        events,
      },
    });
    this.#commands = new Commands({
      ...parts,
      snapshot: this.snapshots.commands,
      trigger: (id) => this.#triggers.commands.trigger(id),
      grantsNamespace: config.grantsNamespace,
      ports: {
        accepts: this.#accepts,
        platform: {
          ...platform.commands,
          dispatch: claims(platform.commands.dispatch),
          complete: claims(platform.commands.complete),
        },
        cached: (name) => cluster.invocationNamed(name),
        read: (name, signal) => cluster.readInvocation(name, signal),
        capacity: invocationCapacity,
        create: (invocation, signal) => cluster.createInvocation(invocation, signal),
      },
    });
  }

  /** Nothing is known: everything is read again. The list of deployments leads to all other lists. */
  readonly lookAtAll = (): void => {
    this.#triggers.lister.trigger(ALL);
  };

  /** The platform is back: what failed meanwhile waits for its backoff, and need not. */
  readonly recovered = (): void => {
    this.lookAtAll();
    for (const id of this.#requestIds()) this.#triggers.requests.trigger(id);
    for (const { id } of this.snapshots.commands.values()) this.#triggers.commands.trigger(id);
    for (const { id } of this.snapshots.deployments.values()) this.#triggers.deployments.trigger(id);
  };

  /** A hint of the work feed. Topics of other parts of the product are not this agent's. */
  readonly changed = (topic: string, deploymentId: string): void => {
    if (topic === "deployments") this.lookAtAll();
    else if (topic === "commands") this.#triggers.lister.trigger(`commands/${deploymentId}`);
    else if (topic === "access-requests") this.#triggers.lister.trigger(`requests/${deploymentId}`);
  };

  /** What is known of rights or connection changed: the deployments say so. */
  readonly standingChanged = (): void => {
    for (const { spec } of this.#parts.cluster.managed.store.list())
      this.#triggers.deployments.trigger(spec.deploymentId);
  };

  readonly workloadsChanged = (namespace: string): void => {
    for (const id of this.#deployments.workloadsChanged(namespace)) this.#triggers.deployments.trigger(id);
  };

  /** Of what the platform lists. */
  readonly deploymentStates = () =>
    this.snapshots.deployments.values().map(({ id }) => {
      if (this.#accepts(id)) return "accepted";
      return this.#parts.cluster.managedOf(id) === undefined ? "unshown" : "waiting";
    });

  /** The customer's word came or went: what waits for it is read now. */
  #answered({ spec }: ManagedDeployment, before: ManagedDeployment): void {
    const { deploymentId: id, acceptedNamespaces: now = [] } = spec;
    const { acceptedNamespaces: then = [] } = before.spec;
    if (now.length > 0 === then.length > 0) return;
    this.#triggers.lister.trigger(`commands/${id}`);
    this.#triggers.lister.trigger(`requests/${id}`);
  }

  runnables(): readonly Runnable[] {
    const { platform, cluster, metrics, clock, random, config } = this.#parts;
    const { snapshots } = this;
    const triggers = this.#triggers;
    const resync = (keys: () => readonly string[]): Source =>
      periodic(config.resyncIntervalMs, keys, { clock, random });
    const idsOn = (snapshot: keyof Snapshots) => (): readonly string[] =>
      snapshots[snapshot].values().map(({ id }) => id);
    const grants = watches<AccessGrant>(cluster.grants, (grant, { type }) => {
      if (type === "deleted") this.#requests.deleted(grant);
      return [grant.spec.requestId];
    });
    const invocations = watches(cluster.invocations, ({ spec }) => [spec.commandId]);
    const managed = watches(cluster.managed, ({ spec }) => [spec.deploymentId]);
    const lister = new Lister({ platform, snapshots, triggers, accepts: this.#accepts, metrics });
    return [
      this.#controller("intake", lister.reconcile, 4, [triggers.lister, resync(() => [ALL])]),
      this.#controller("deployments", this.#deployments.reconcile, 2, [
        triggers.deployments,
        managed,
        resync(idsOn("deployments")),
      ]),
      this.#controller("access-requests", this.#requests.reconcile, 4, [
        triggers.requests,
        grants,
        resync(() => this.#requestIds()),
      ]),
      this.#controller("commands", this.#commands.reconcile, 8, [
        triggers.commands,
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
    const listed = this.snapshots.requests.values().map(({ id }) => id);
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
