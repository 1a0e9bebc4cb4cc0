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
import { resources } from "../../kube/objects/resource.ts";
import { leanMetadataShape } from "../../kube/projection/common-shapes.ts";
import { entries, microTime, optional, string } from "../../kube/projection/field-types.ts";
import { field, jsonProjection, message, type Projected } from "../../kube/projection/projection.ts";
import { type Node, nodeShape } from "../../kube/projection/shapes.ts";
import { type Load, readLoads } from "./loads.ts";
import type { Hastening, NewDrain } from "./wishes.ts";

export interface MachineClusterOptions {
  readonly client: Client;
  /** Of pools, joins and drains. */
  readonly namespace: string;
  /** Throws when another agent may lead by now; called right before each write. */
  readonly fence: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<KubeMetrics, "watch">;
}

// Field numbers: generated.proto of k8s.io/api/{coordination,core}/v1.
const nodeLeaseShape = message({
  metadata: field(1, leanMetadataShape),
  spec: field(2, message({ renewTime: field(4, optional(microTime)) })),
});
type NodeLease = Projected<typeof nodeLeaseShape>;
const loadsShape = message({ metadata: field(1, leanMetadataShape), data: field(2, entries(["loads"], string)) });
type Loads = Projected<typeof loadsShape>;

/** Where each kubelet renews a lease of its node's name. */
const LEASES_NAMESPACE = "kube-node-lease";
const LOADS = /^sallyport-machine-loads-\d+$/;

/** Machines as the agent sees them: a cache of each kind, and the writes that wishes need. It changes no node. */
export class MachineCluster {
  readonly pools: Informer<MachinePool>;
  readonly joins: Informer<MachineJoin>;
  readonly drains: Informer<MachineDrain>;
  readonly nodes: Informer<Node>;
  readonly leases: Informer<NodeLease>;
  /** What the pods of each node ask for, summed up by the machine controller: the agent may read no pod of other namespaces. */
  readonly loads: Informer<Loads>;
  #loadByNode: ReadonlyMap<string, Load> | undefined;
  readonly #options: MachineClusterOptions;

  constructor(options: MachineClusterOptions) {
    const { client, namespace, clock, log, metrics } = options;
    const common = { client, clock, log, metrics: metrics.watch };
    const ours = <T extends Cached>(resource: KindResource): Informer<T> =>
      new Informer<T>({ ...common, namespace, resource, projection: jsonProjection<T>() });
    this.#options = options;
    this.pools = ours(machinePools);
    this.joins = ours(machineJoins);
    this.drains = ours(machineDrains);
    this.nodes = new Informer<Node>({ ...common, resource: resources.nodes, projection: nodeShape });
    this.leases = new Informer<NodeLease>({
      ...common,
      namespace: LEASES_NAMESPACE,
      resource: resources.leases,
      projection: nodeLeaseShape,
    });
    this.loads = new Informer<Loads>({
      ...common,
      namespace,
      resource: resources.configMaps,
      projection: loadsShape,
      keep: ({ metadata }) => LOADS.test(metadata.name),
    });
    this.loads.onChange(() => {
      this.#loadByNode = undefined;
    });
  }

  get informers() {
    return [this.pools, this.joins, this.drains, this.nodes, this.leases, this.loads];
  }

  /** When the kubelet of this node last renewed its lease. */
  renewedAt(nodeName: string): string | undefined {
    return this.leases.store.get(`${LEASES_NAMESPACE}/${nodeName}`)?.spec.renewTime;
  }

  loadOf(nodeName: string): Load | undefined {
    this.#loadByNode ??= new Map(this.loads.store.list().flatMap(({ data }) => readLoads(data.loads ?? "")));
    return this.#loadByNode.get(nodeName);
  }

  async liveDrains(signal: AbortSignal): Promise<readonly MachineDrain[]> {
    const { client, namespace } = this.#options;
    const found: MachineDrain[] = [];
    for await (const drain of client.list<MachineDrain>(machineDrains, { namespace }, signal)) found.push(drain);
    return found;
  }

  create(drain: NewDrain, signal: AbortSignal): Promise<MachineDrain> {
    this.#options.fence();
    return this.#options.client.create<MachineDrain>(machineDrains, drain, signal);
  }

  hasten({ metadata }: MachineDrain, by: Hastening, signal: AbortSignal): Promise<MachineDrain> {
    const { client, fence, namespace } = this.#options;
    const { name, uid } = metadata;
    fence();
    const body = { metadata: { uid }, spec: by };
    return client.patch<MachineDrain>(machineDrains, { namespace, name }, { type: "merge", body }, {}, signal);
  }

  /** Of this very object: one of the same name that was made since stays. */
  async delete({ metadata: { name, uid } }: MachineDrain, signal: AbortSignal): Promise<void> {
    const { client, fence, namespace } = this.#options;
    fence();
    await client.delete(machineDrains, { namespace, name }, { preconditions: { uid } }, signal);
  }
}
