import { withDeadline } from "../base/deadline.ts";
import type { MachineReport } from "../contract/machines/machine.ts";
import { acceptedNamespaces } from "../crds/kinds/accepted-namespaces.ts";
import type { AccessGrant } from "../crds/kinds/access-grant.ts";
import type { DebugSession } from "../crds/kinds/debug-session.ts";
import type { ManagedDeployment } from "../crds/kinds/managed-deployment.ts";
import { Controller, type Reconcile } from "../kube/controller/controller.ts";
import { periodic, type Source, triggered, watches } from "../kube/controller/sources.ts";
import type { Runnable } from "../kube/manager/manager.ts";
import { BUFFER_CAPACITY, type Buffer } from "./kernel/metrics.ts";
import { Snapshot } from "./kernel/snapshot.ts";
import { ALL, Lister, type Snapshots, type Triggers } from "./lister.ts";
import type { MachineCluster } from "./machines/machine-cluster.ts";
import { MachineControllers } from "./machines/machine-controllers.ts";
import type { WorkloadRef } from "./observe/observation.ts";
import { type AgentReconcilers, agentReconcilers, type ControllerParts, type ReconcilerParts } from "./reconcilers.ts";

/** A remote service wants seconds; when it is found again, everything is looked at at once anyway. */
const BACKOFF = { baseMs: 500, maxMs: 60_000 };
/** One reconcile is a handful of calls, each with a limit of its own. */
const RECONCILE_TIMEOUT_MS = 180_000;
const RELEASE_TIMEOUT_MS = 5_000;

/** The agent's controllers: its reconcilers, each with what triggers it. Only the leader runs them. */
export class AgentControllers {
  readonly snapshots: Snapshots;
  readonly #parts: ControllerParts;
  readonly #triggers: Triggers = {
    lister: triggered("lister", [ALL]),
    deployments: triggered("deployments"),
    requests: triggered("requests"),
    commands: triggered("commands"),
    sessions: triggered("sessions"),
  };
  /** The customer accepts this deployment, somewhere. */
  readonly #accepts: (deploymentId: string) => boolean;
  readonly #reconcilers: AgentReconcilers;
  /** Undefined: machines are off. */
  readonly #machines: MachineControllers | undefined;

  constructor(parts: ControllerParts, observed: Pick<ReconcilerParts, "workloads" | "lookups" | "nodes" | "names">) {
    const { cluster, config, metrics } = parts;
    const snapshot = <T extends { readonly id: string }>(name: keyof Snapshots & Buffer): Snapshot<T> =>
      new Snapshot<T>(BUFFER_CAPACITY[name], () => metrics.dropped(name));
    this.#parts = parts;
    this.snapshots = {
      deployments: snapshot("deployments"),
      requests: snapshot("requests"),
      commands: snapshot("commands"),
      sessions: snapshot("sessions"),
    };
    cluster.managed.onChange((change) => {
      if (change.type === "updated") this.#answered(change.object, change.previous);
    });
    this.#accepts = (id) => acceptedNamespaces(id, cluster.managedOf(id), config.deployments).length > 0;
    this.#reconcilers = agentReconcilers({
      ...parts,
      workloads: observed.workloads,
      lookups: observed.lookups,
      nodes: observed.nodes,
      names: observed.names,
      snapshots: this.snapshots,
      accepts: this.#accepts,
      relist: this.relistAll,
      trigger: (commandId) => this.#triggers.commands.trigger(commandId),
    });
    this.#machines = cluster.machines && this.#machineControllers(cluster.machines);
  }

  /** Reads all of the platform's lists again; that of deployments triggers the others. */
  readonly relistAll = (): void => {
    this.#triggers.lister.trigger(ALL);
  };

  /** The platform answers again: what failed without it is reconciled now, not at the end of its backoff. */
  readonly recovered = (): void => {
    this.relistAll();
    for (const id of this.#requestIds()) this.#triggers.requests.trigger(id);
    for (const { id } of this.snapshots.commands.values()) this.#triggers.commands.trigger(id);
    for (const id of this.#sessionIds()) this.#triggers.sessions.trigger(id);
    for (const id of this.#machines?.deploymentIds() ?? []) this.#machines?.wanted(id);
    for (const { id } of this.snapshots.deployments.values()) this.#triggers.deployments.trigger(id);
  };

  /** A topic of the work feed. Topics of other parts of the product are ignored. */
  readonly changed = (topic: string, deploymentId: string): void => {
    if (topic === "deployments") this.relistAll();
    else if (topic === "commands") this.#triggers.lister.trigger(`commands/${deploymentId}`);
    else if (topic === "access-requests") this.#triggers.lister.trigger(`requests/${deploymentId}`);
    else if (topic === "debug-sessions") this.#triggers.lister.trigger(`sessions/${deploymentId}`);
    else if (topic === "machines") this.#machines?.wanted(deploymentId);
  };

  /** The agent's rights or its connection changed: each deployment's conditions are written anew. */
  readonly conditionsChanged = (): void => {
    this.#reconcilers.deployments.lookNow();
    for (const { spec } of this.#parts.cluster.managed.store.list())
      this.#triggers.deployments.trigger(spec.deploymentId);
  };

  readonly workloadChanged = (ref: WorkloadRef): void => {
    for (const id of this.#reconcilers.deployments.workloadChanged(ref)) this.#triggers.deployments.trigger(id);
  };

  readonly clusterChanged = (): void => {
    for (const id of this.#reconcilers.deployments.clusterChanged()) this.#triggers.deployments.trigger(id);
  };

  /** Of what the platform lists. */
  readonly deploymentStates = () =>
    this.snapshots.deployments.values().map(({ id }) => {
      if (this.#accepts(id)) return "accepted";
      return this.#parts.cluster.managedOf(id) === undefined ? "unshown" : "waiting";
    });

  /** The customer accepted the deployment or took that back: its commands, requests and sessions are listed now. */
  #answered({ spec }: ManagedDeployment, before: ManagedDeployment): void {
    const { deploymentId: id, acceptedNamespaces: now = [] } = spec;
    const { acceptedNamespaces: then = [] } = before.spec;
    if (now.length > 0 === then.length > 0) return;
    this.#triggers.lister.trigger(`commands/${id}`);
    this.#triggers.lister.trigger(`requests/${id}`);
    this.#triggers.lister.trigger(`sessions/${id}`);
  }

  runnables(): readonly Runnable[] {
    const { platform, cluster, metrics } = this.#parts;
    const { snapshots } = this;
    const triggers = this.#triggers;
    const resync = this.#resync;
    const idsOn = (snapshot: keyof Snapshots) => (): readonly string[] =>
      snapshots[snapshot].values().map(({ id }) => id);
    const grants = watches<AccessGrant>(cluster.grants, (grant, { type }) => {
      if (type === "deleted") this.#reconcilers.requests.deleted(grant);
      return [grant.spec.requestId];
    });
    const invocations = watches(cluster.invocations, ({ spec }) => [spec.commandId]);
    const sessions =
      cluster.sessions &&
      watches<DebugSession>(cluster.sessions, (session, { type }) => {
        if (type === "deleted") this.#reconcilers.sessions.deleted(session);
        return [session.spec.sessionId];
      });
    const managed = watches(cluster.managed, ({ spec }) => [spec.deploymentId]);
    const rollouts = cluster.releases && watches(cluster.releases.rollouts, ({ spec }) => [spec.deploymentId]);
    const pools = cluster.machines && watches(cluster.machines.pools, ({ spec }) => [spec.deploymentId]);
    const lister = new Lister({ platform, snapshots, triggers, accepts: this.#accepts, metrics });
    return [
      this.#controller("lister", lister.reconcile, 4, [triggers.lister, resync(() => [ALL])]),
      this.#controller("deployments", this.#reconcilers.deployments.reconcile, 2, [
        triggers.deployments,
        managed,
        ...[pools, rollouts].filter((each) => each !== undefined),
        resync(idsOn("deployments")),
      ]),
      this.#controller("access-requests", this.#reconcilers.requests.reconcile, 4, [
        triggers.requests,
        grants,
        resync(() => this.#requestIds()),
      ]),
      this.#controller("commands", this.#reconcilers.commands.reconcile, 8, [
        triggers.commands,
        invocations,
        resync(idsOn("commands")),
      ]),
      this.#controller("debug-sessions", this.#reconcilers.sessions.reconcile, 2, [
        triggers.sessions,
        ...(sessions === undefined ? [] : [sessions]),
        resync(() => this.#sessionIds()),
      ]),
      ...(this.#machines?.controllers() ?? []),
      { name: "leases", run: (signal) => this.#releaseAtEnd(signal) },
    ];
  }

  readonly #resync = (keys: () => readonly string[]): Source => {
    const { config, clock, random } = this.#parts;
    return periodic(config.resyncIntervalMs, keys, { clock, random });
  };

  readonly machinesReported = (): readonly MachineReport[] => this.#machines?.reported ?? [];

  #machineControllers(machines: MachineCluster): MachineControllers {
    const { platform, cluster, config, clock } = this.#parts;
    return new MachineControllers({
      platform,
      machines,
      config,
      clock,
      accepts: this.#accepts,
      resync: this.#resync,
      grants: () => cluster.grants.store.list(),
      controller: (...args) => this.#controller(...args),
    });
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

  #sessionIds(): readonly string[] {
    const listed = this.snapshots.sessions.values().map(({ id }) => id);
    const inCluster = this.#parts.cluster.sessions?.store.list().map(({ spec }) => spec.sessionId) ?? [];
    return [...new Set([...listed, ...inCluster])];
  }

  async #releaseAtEnd(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    const never = new AbortController().signal;
    await withDeadline(this.#parts.clock, RELEASE_TIMEOUT_MS, never, (each) =>
      this.#reconcilers.leases.releaseAll(each),
    );
  }
}
