import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../base/clock.ts";
import type { MachineReport } from "../../contract/machines/machine.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { Change } from "../../kube/cache/cache.ts";
import type { Controller, Reconcile } from "../../kube/controller/controller.ts";
import { type Notifier, notifiedBy, reads, type Source, triggered, watches } from "../../kube/controller/sources.ts";
import { keyOf } from "../../kube/objects/resource.ts";
import type { Node } from "../../kube/projection/shapes.ts";
import type { AgentConfig } from "../kernel/config.ts";
import { STALE_AFTER_MS } from "../kernel/list-state.ts";
import { ManagerIdentity } from "../platform-link/manager-identity.ts";
import type { Platform } from "../platform-link/routes.ts";
import { type EndedDrainPorts, reconcileEndedDrain } from "./ended-drains.ts";
import { endedReport, machineReport } from "./inventory.ts";
import type { MachineCluster } from "./machine-cluster.ts";
import { MachineInventory } from "./machine-inventory.ts";
import { MachineWishes } from "./machine-wishes.ts";
import { endedJoins, type Member, membersOf, poolOf } from "./members.ts";

export interface MachineControllerParts {
  readonly platform: Pick<Platform, "machines" | "whoami">;
  readonly machines: MachineCluster;
  readonly grants: () => readonly AccessGrant[];
  readonly config: Pick<AgentConfig, "grantsNamespace" | "namespaces" | "machinesReportForeign" | "redactNames">;
  readonly clock: Clock;
  readonly accepts: (deploymentId: string) => boolean;
  /** Makes a controller that only the leader runs. */
  readonly controller: (
    name: string,
    reconcile: Reconcile,
    concurrency: number,
    sources: readonly Source[],
  ) => Controller;
  /** Enqueues keys again and again, for what no message told of. */
  readonly resync: (keys: () => readonly string[]) => Source;
}

/** The agent's half of machines: wishes of the platform in, an inventory out. */
export class MachineControllers {
  readonly #parts: MachineControllerParts;
  readonly #wishes: MachineWishes;
  readonly #inventory: MachineInventory;
  readonly #wanted = triggered("machine-wishes");
  readonly #answered = triggered("answered machine wishes");

  constructor(parts: MachineControllerParts) {
    const { platform, machines, grants, config, clock, accepts } = parts;
    const identity = new ManagerIdentity(platform.whoami);
    const members = (id: string): readonly Member[] => this.#members(id);
    this.#parts = parts;
    this.#wishes = new MachineWishes({
      grantsNamespace: config.grantsNamespace,
      ports: {
        platform: platform.machines,
        accepts,
        members,
        grants,
        managerId: (signal) => identity.resolve(signal),
        node: (name) => machines.nodes.store.get(name),
        drains: () => machines.drains.store.list(),
        liveDrains: (signal) => machines.liveDrains(signal),
        create: (drain, signal) => machines.create(drain, signal),
        hasten: (drain, by, signal) => machines.hasten(drain, by, signal),
        delete: (drain, signal) => machines.delete(drain, signal),
        answersChanged: (id) => this.#answered.trigger(id),
      },
    });
    this.#inventory = new MachineInventory({
      clock,
      ports: { platform: platform.machines, accepts, machines: (id, now) => this.#machines(id, now) },
    });
  }

  /** The work feed's topic `machines`, or the link to the platform came back. */
  readonly wanted = (deploymentId: string): void => {
    this.#wanted.trigger(deploymentId);
  };

  /** Deployments that have a pool. */
  readonly deploymentIds = (): readonly string[] => [
    ...new Set(this.#parts.machines.pools.store.list().map(({ spec }) => spec.deploymentId)),
  ];

  get reported(): readonly MachineReport[] {
    return this.#inventory.reported;
  }

  controllers(): readonly Controller[] {
    const { machines, controller, resync } = this.#parts;
    const { pools, joins, drains, nodes } = machines;
    const ids = this.deploymentIds;
    const caches = [pools, joins, drains, nodes].map((informer) => reads(informer));
    const changes: readonly Notifier[] = [
      ...[pools, joins, drains, machines.loads].map((informer) => ({
        name: informer.resource.kind,
        onChange: (listener: () => void) => void informer.onChange(() => listener()),
        whenSynced: (signal: AbortSignal) => informer.whenSynced(signal),
      })),
      {
        name: nodes.resource.kind,
        onChange: (listener) => void nodes.onChange((change) => isNews(change) && listener()),
        whenSynced: (signal) => nodes.whenSynced(signal),
      },
    ];
    return [
      controller("machine-wishes", this.#wishes.reconcile, 2, [
        this.#wanted,
        // What was made or ended while the cache was behind; its status is no news here.
        watches(
          drains,
          ({ spec }) => (spec.requested === undefined ? [] : [spec.requested.deploymentId]),
          ({ type }) => type !== "updated",
        ),
        ...caches,
        resync(ids),
      ]),
      controller("ended-drains", (key, context) => reconcileEndedDrain(key, this.#ended, context), 1, [
        watches(drains),
        watches(
          nodes,
          ({ metadata }) => this.#drainsOf(metadata.name),
          ({ type }) => type === "deleted",
        ),
        ...caches,
      ]),
      controller("machine-inventory", this.#inventory.reconcile, 2, [
        ...changes.map((each) => notifiedBy(each, ids)),
        this.#answered,
        resync(ids),
      ]),
    ];
  }

  get #ended(): EndedDrainPorts {
    const { machines, clock } = this.#parts;
    return {
      now: () => clock.wallNow(),
      drain: (key) => machines.drains.store.get(key),
      node: (name) => machines.nodes.store.get(name),
      delete: (drain, signal) => machines.delete(drain, signal),
    };
  }

  #drainsOf(nodeName: string): readonly string[] {
    return this.#parts.machines.drains.store
      .list()
      .filter(({ spec }) => spec.nodeName === nodeName)
      .map(keyOf);
  }

  #members(deploymentId: string): readonly Member[] {
    const { pools, joins, nodes } = this.#parts.machines;
    const fleet = { pools: pools.store.list(), joins: joins.store.list() };
    return membersOf(
      deploymentId,
      fleet,
      nodes.store.list().map(({ metadata }) => metadata.name),
    );
  }

  #machines(deploymentId: string, now: Date) {
    const { machines, config, clock } = this.#parts;
    const { pools, joins, drains, nodes } = machines;
    const nowMs = clock.monotonicMs();
    // A list that may be old would tell of machines as if they had just been seen.
    const isRead = [pools, joins, drains, nodes].every(
      ({ synced, refusal, currentAtMs }) =>
        synced && refusal === undefined && currentAtMs !== undefined && nowMs - currentAtMs <= STALE_AFTER_MS,
    );
    if (!isRead || !this.deploymentIds().includes(deploymentId)) return undefined;
    const hidden = !config.machinesReportForeign || config.redactNames === "on";
    const isTold = (namespace: string): boolean =>
      !hidden || (config.redactNames === "off" && config.namespaces.includes(namespace));
    const byNode = Map.groupBy(drains.store.list(), ({ spec }) => spec.nodeName);
    const fleet = { pools: pools.store.list(), joins: joins.store.list() };
    const pool = poolOf(deploymentId, fleet.pools);
    const members = this.#members(deploymentId);
    const machinesTold = members.flatMap((member) => {
      const { nodeName } = member;
      const facts = {
        deploymentId,
        member,
        pool,
        isTold,
        node: nodes.store.get(nodeName),
        renewedAt: machines.renewedAt(nodeName),
        drains: byNode.get(nodeName) ?? [],
        answer: this.#wishes.answerOf(deploymentId, member.machineId),
        load: machines.loadOf(nodeName),
      };
      return machineReport(facts, now) ?? [];
    });
    return [...machinesTold, ...endedJoins(deploymentId, fleet, members).map((join) => endedReport(join, now))];
  }
}

/** A kubelet writes its node every five minutes though nothing has changed. */
function isNews(change: Change<Node>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return !(
    isDeepStrictEqual(object.status, previous.status) &&
    isDeepStrictEqual(object.metadata.labels, previous.metadata.labels) &&
    object.spec.unschedulable === previous.spec.unschedulable
  );
}
