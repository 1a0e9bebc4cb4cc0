import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { KindResource } from "../../crds/kinds/kind.ts";
import { type MachineDrain, machineDrains } from "../../crds/kinds/machine-drain.ts";
import { type MachineJoin, machineJoins } from "../../crds/kinds/machine-join.ts";
import { type MachinePool, machinePools } from "../../crds/kinds/machine-pool.ts";
import { Informer } from "../../kube/cache/informer.ts";
import type { Cached } from "../../kube/cache/store.ts";
import type { Client } from "../../kube/client/client.ts";
import type { KubeMetrics } from "../../kube/metrics/metrics.ts";
import { isSelected } from "../../kube/objects/label-match.ts";
import { keyOf, resources } from "../../kube/objects/resource.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { jsonProjection } from "../../kube/projection/projection.ts";
import { cordonOf } from "./cordon.ts";
import { type DrainRules, isOfItsMachine, poolOf, rulesOf } from "./rules.ts";
import { type Budget, budgetShape, type DrainNode, type DrainPod, drainNodeShape, drainPodShape } from "./shapes.ts";
import { isOver } from "./turn.ts";

export interface CacheOptions {
  readonly client: Client;
  /** Of pools, joins and drains. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<KubeMetrics, "watch">;
}

const BY_NODE = "node";
const BY_NAMESPACE = "namespace";

/** What drains know of the cluster, and the questions that the reconcilers ask of it. */
export class DrainCaches {
  readonly drains: Informer<MachineDrain>;
  readonly pools: Informer<MachinePool>;
  readonly joins: Informer<MachineJoin>;
  readonly nodes: Informer<DrainNode>;
  readonly pods: Informer<DrainPod>;
  readonly budgets: Informer<Budget>;
  readonly #client: Client;
  readonly #namespace: string;

  constructor({ client, namespace, clock, log, metrics }: CacheOptions) {
    const common = { client, clock, log, metrics: metrics.watch };
    const ours = <T extends Cached>(resource: KindResource, nodeOf?: (object: T) => string): Informer<T> =>
      new Informer<T>({
        ...common,
        namespace,
        resource,
        projection: jsonProjection<T>(),
        ...(nodeOf && { indexes: { [BY_NODE]: (object: T) => [nodeOf(object)] } }),
      });
    this.#client = client;
    this.#namespace = namespace;
    this.drains = ours<MachineDrain>(machineDrains, ({ spec }) => spec.nodeName);
    this.joins = ours<MachineJoin>(machineJoins, ({ spec }) => spec.nodeName);
    this.pools = ours<MachinePool>(machinePools);
    this.nodes = new Informer({ ...common, resource: resources.nodes, projection: drainNodeShape });
    this.pods = new Informer({
      ...common,
      resource: resources.pods,
      projection: drainPodShape,
      indexes: { [BY_NODE]: ({ spec }) => (spec.nodeName === "" ? [] : [spec.nodeName]) },
    });
    this.budgets = new Informer({
      ...common,
      resource: resources.podDisruptionBudgets,
      projection: budgetShape,
      indexes: { [BY_NAMESPACE]: ({ metadata }) => [metadata.namespace] },
    });
  }

  get informers(): readonly Pick<
    Informer<Cached>,
    "run" | "whenSettled" | "whenSynced" | "synced" | "refusal" | "resource"
  >[] {
    return [this.drains, this.pools, this.joins, this.nodes, this.pods, this.budgets];
  }

  podsOn(nodeName: string): readonly DrainPod[] {
    return this.pods.store.byIndex(BY_NODE, nodeName);
  }

  budgetsOf({ metadata }: DrainPod): readonly Budget[] {
    const all = this.budgets.store.byIndex(BY_NAMESPACE, metadata.namespace);
    return all.filter(({ spec }) => spec.selector !== undefined && isSelected(spec.selector, metadata.labels));
  }

  rulesFor(nodeName: string): DrainRules {
    return rulesOf(poolOf(nodeName, this.joins.store.byIndex(BY_NODE, nodeName), this.pools.store.values()));
  }

  isOfItsMachine(spec: MachineDrain["spec"]): boolean {
    return isOfItsMachine(spec, this.joins.store.byIndex(BY_NODE, spec.nodeName), this.pools.store.values());
  }

  /** Keys of drains of the node that are not over. */
  openDrainsOf(nodeName: string): readonly string[] {
    return this.drains.store
      .byIndex(BY_NODE, nodeName)
      .filter((drain) => !isOver(drain))
      .map(keyOf);
  }

  /** Of all nodes. @param begun those that act, or that wait */
  openDrains(begun?: boolean): readonly string[] {
    const isWanted = (drain: MachineDrain): boolean =>
      !isOver(drain) && (begun === undefined || begun === (drain.status?.startedAt !== undefined));
    return [...this.drains.store.values()].filter(isWanted).map(keyOf);
  }

  /** Also what is over, and has its node still to be removed. */
  allDrains(): readonly string[] {
    return [...this.drains.store.values()].map(keyOf);
  }

  markedNodes(): readonly string[] {
    return [...this.nodes.store.values()].filter((node) => cordonOf(node) !== undefined).map(keyOf);
  }

  async liveNode(name: string, signal: AbortSignal): Promise<DrainNode | undefined> {
    const found = await this.#client.get(resources.nodes, { name }, signal);
    return found === undefined ? undefined : drainNodeShape.fromJson(found, new Interner());
  }

  async livePodsOn(nodeName: string, signal: AbortSignal): Promise<readonly DrainPod[]> {
    const strings = new Interner();
    const pods: DrainPod[] = [];
    const options = { fieldSelector: `spec.nodeName=${nodeName}` };
    for await (const found of this.#client.list(resources.pods, options, signal)) {
      pods.push(drainPodShape.fromJson(found, strings));
    }
    return pods;
  }

  liveDrainsOf(nodeName: string, signal: AbortSignal): Promise<readonly MachineDrain[]> {
    return this.#liveOf<MachineDrain>(machineDrains, nodeName, signal);
  }

  async liveJoinsOf(nodeName: string, signal: AbortSignal): Promise<readonly MachineJoin[]> {
    const all = await this.#liveOf<MachineJoin>(machineJoins, nodeName, signal);
    return all.filter(({ status }) => status?.state === "Issued" || status?.state === "Joined");
  }

  async #liveOf<T extends MachineDrain | MachineJoin>(
    resource: KindResource,
    nodeName: string,
    signal: AbortSignal,
  ): Promise<readonly T[]> {
    const found: T[] = [];
    const options = { namespace: this.#namespace, fieldSelector: `spec.nodeName=${nodeName}` };
    for await (const object of this.#client.list<T>(resource, options, signal)) found.push(object);
    return found;
  }
}
