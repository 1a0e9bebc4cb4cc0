import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { Informer } from "../../kube/cache/informer.ts";
import { keyOf } from "../../kube/objects/resource.ts";
import { jsonProjection } from "../../kube/projection/projection.ts";
import type { CacheOptions, DrainCaches } from "../drains/drain-caches.ts";
import type { DrainNode } from "../drains/shapes.ts";
import { isOver, type JoinFacts } from "./decide-join.ts";
import { waitingRequestsOf } from "./renewals.ts";
import { isKeptForGood } from "./retention.ts";
import { type CertificateSigningRequest, certificateSigningRequests } from "./signing-requests.ts";

/** What joins know of the cluster: the caches of drains, and certificate requests. */
export class JoinCaches {
  readonly joins: Informer<MachineJoin>;
  readonly pools: Informer<MachinePool>;
  readonly nodes: Informer<DrainNode>;
  readonly requests: Informer<CertificateSigningRequest>;
  readonly #shared: DrainCaches;

  constructor({ client, clock, log, metrics }: Omit<CacheOptions, "namespace">, shared: DrainCaches) {
    this.joins = shared.joins;
    this.pools = shared.pools;
    this.nodes = shared.nodes;
    this.#shared = shared;
    this.requests = new Informer<CertificateSigningRequest>({
      client,
      clock,
      log,
      metrics: metrics.watch,
      resource: certificateSigningRequests,
      projection: jsonProjection<CertificateSigningRequest>(),
    });
  }

  openJoins(): readonly string[] {
    return [...this.joins.store.values()].filter((join) => !isOver(join)).map(keyOf);
  }

  openJoinsOf(nodeName: string): readonly string[] {
    const named = [...this.joins.store.values()].filter(({ spec }) => spec.nodeName === nodeName);
    return named.filter((join) => !isOver(join)).map(keyOf);
  }

  endedJoins(): readonly string[] {
    return [...this.joins.store.values()].filter((join) => !isKeptForGood(join)).map(keyOf);
  }

  allPools(): readonly string[] {
    return [...this.pools.store.values()].map(keyOf);
  }

  waitingRequestsOf(nodeName: string): readonly string[] {
    return waitingRequestsOf(nodeName, this.requests.store.values());
  }

  allRequests(): readonly string[] {
    return [...this.requests.store.values()].map(keyOf);
  }

  nodeOf(name: string): JoinFacts["node"] {
    return aliveNode(this.nodes.store.get(name));
  }

  async liveNodeOf(name: string, signal: AbortSignal): Promise<JoinFacts["node"]> {
    return aliveNode(await this.#shared.liveNode(name, signal));
  }
}

function aliveNode(node: DrainNode | undefined): JoinFacts["node"] {
  if (node === undefined) return undefined;
  const isAlive = node.status.conditions.some(({ type, status }) => type === "Ready" && status === "True");
  return { uid: node.metadata.uid, isAlive };
}
