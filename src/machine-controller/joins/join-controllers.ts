import { API_SERVER_BACKOFF } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { machineJoins } from "../../crds/kinds/machine-join.ts";
import { machinePools } from "../../crds/kinds/machine-pool.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { writeStatus } from "../../kube/client/status-writer.ts";
import { Controller } from "../../kube/controller/controller.ts";
import { notifiedBy, triggered, watches } from "../../kube/controller/sources.ts";
import type { KubeMetrics } from "../../kube/metrics/metrics.ts";
import { JOIN_POLICIES, type PolicyWatch } from "../kernel/policy-watch.ts";
import { refuseMachine } from "../kernel/refuse-machine.ts";
import type { JoinCaches } from "./join-caches.ts";
import { type JoinEvents, type JoinPorts, reconcileJoin } from "./join-reconciler.ts";
import { Places } from "./places.ts";
import { type PoolPorts, poolsOf, reconcilePool } from "./pool-status.ts";
import { type RenewalPorts, reconcileRenewal } from "./renewals.ts";
import { type RetentionPorts, reconcileEnded } from "./retention.ts";
import { approve, certificateSigningRequests, createRequest, readRequest } from "./signing-requests.ts";

export interface JoinParts {
  readonly client: Client;
  readonly caches: JoinCaches;
  readonly publisher: JoinEvents & { issued(kind: "renewal" | "serving"): void };
  readonly kube: Pick<KubeMetrics, "controller" | "queue">;
  readonly policies: PolicyWatch;
  readonly fence: () => void;
  /** Where this process reaches the API server. */
  readonly apiServer: string;
  readonly clock: Clock;
  /** Its calendar is the API server's. */
  readonly serverClock: Clock;
  readonly log: Logger;
}

/** What the API server last said of the right to approve certificates to serve with; each pool tells it. */
class ServingObstacle {
  readonly source = triggered("right to approve serving certificates");
  readonly #pools: () => readonly string[];
  words: string | undefined;

  constructor(pools: () => readonly string[]) {
    this.#pools = pools;
  }

  say(words: string | undefined): void {
    if (words === this.words) return;
    this.words = words;
    for (const key of this.#pools()) this.source.trigger(key);
  }
}

const WORDS = {
  renewal: "a joined machine renews its own certificate",
  serving: "a joined machine serves under its own names, and its pool allows it",
} as const;

/** What only the leader does about joins: judges them one by one, has them signed, and counts them. */
export function joinControllers(parts: JoinParts): readonly Controller[] {
  const { caches, clock, log, kube, policies } = parts;
  const common = { clock, log, metrics: kube, backoff: API_SERVER_BACKOFF, cacheSyncTimeoutMs: "never" } as const;
  const obstacle = () => policies.obstacle(JOIN_POLICIES);
  const joinPorts = joinPortsOf(parts, obstacle);
  const serving = new ServingObstacle(() => caches.allPools());
  const renewalPorts = renewalPortsOf(parts, obstacle, serving);
  const poolPorts = poolPortsOf(parts, obstacle, serving);
  const retentionPorts = retentionPortsOf(parts, obstacle);
  return [
    new Controller({
      ...common,
      name: "machinejoin",
      concurrency: 4,
      reconcile: (key, context) => reconcileJoin(key, joinPorts, context),
      sources: [
        watches(caches.joins),
        watches(caches.pools, () => caches.openJoins()),
        watches(caches.nodes, ({ metadata }) => caches.openJoinsOf(metadata.name)),
        notifiedBy(policies, () => caches.openJoins()),
      ],
    }),
    new Controller({
      ...common,
      name: "noderenewal",
      concurrency: 2,
      reconcile: (name, context) => reconcileRenewal(name, renewalPorts, context),
      sources: [
        watches(caches.requests),
        // A kubelet asks to serve before its machine is Joined, and may ask before the cache has its node's addresses.
        watches(caches.joins, ({ spec }) => caches.waitingRequestsOf(spec.nodeName)),
        watches(caches.nodes, ({ metadata }) => caches.waitingRequestsOf(metadata.name)),
        watches(caches.pools, () => caches.allRequests()),
        notifiedBy(policies, () => caches.allRequests()),
      ],
    }),
    new Controller({
      ...common,
      name: "endedjoin",
      concurrency: 1,
      reconcile: (key, context) => reconcileEnded(key, retentionPorts, context),
      sources: [watches(caches.joins), notifiedBy(policies, () => caches.endedJoins())],
    }),
    new Controller({
      ...common,
      name: "machinepool",
      concurrency: 1,
      reconcile: (key, context) => reconcilePool(key, poolPorts, context),
      sources: [
        watches(caches.pools, () => caches.allPools()),
        watches(caches.joins, () => caches.allPools()),
        notifiedBy(policies, () => caches.allPools()),
        serving.source,
      ],
    }),
  ];
}

function joinPortsOf(parts: JoinParts, obstacle: () => string | undefined): JoinPorts {
  const { client, caches, fence, serverClock: clock, publisher } = parts;
  let username: string | undefined;
  const self = async (signal: AbortSignal): Promise<string> => {
    username ??= (await client.whoAmI(signal)).username;
    return username;
  };
  return {
    clock,
    fence,
    self,
    publisher,
    obstacle,
    places: new Places(),
    join: (key) => caches.joins.store.get(key),
    joins: () => caches.joins.store.values(),
    pool(name) {
      const pool = [...caches.pools.store.values()].find(({ metadata }) => metadata.name === name);
      if (pool === undefined) return undefined;
      const [acting] = poolsOf(pool.spec.deploymentId, caches.pools.store.values());
      return { pool, isSuperseded: acting?.metadata.name !== name };
    },
    node: (name) => caches.nodeOf(name),
    liveNode: (name, signal) => caches.liveNodeOf(name, signal),
    signingRequest: (name, signal) => readRequest(client, name, signal),
    async createRequest(join, signal) {
      try {
        await createRequest(client, join, signal);
      } catch (error) {
        // An earlier try had come through; the next look compares it.
        if (!(error instanceof ApiError && error.isAlreadyExists)) throw error;
      }
    },
    async approveRequest(name, signal) {
      const found = await client.get(certificateSigningRequests, { name }, signal);
      if (found !== undefined) await approve(client, found, "a person or the pool let this machine in", signal);
    },
    writeStatus: (join, status, signal) => writeStatus(client, machineJoins, join, status, signal),
    refuse: (join, signal) => refuseMachine(client, join, signal),
  };
}

function renewalPortsOf(
  { client, caches, fence, publisher, apiServer }: JoinParts,
  obstacle: () => string | undefined,
  serving: ServingObstacle,
): RenewalPorts {
  return {
    servingObstacle: (words) => serving.say(words),
    fence,
    apiServer,
    joins: () => caches.joins.store.values(),
    pool: (name) => [...caches.pools.store.values()].find(({ metadata }) => metadata.name === name),
    node: (name) => caches.nodes.store.get(name),
    nodes: () => caches.nodes.store.values(),
    request: (name) => (obstacle() === undefined ? caches.requests.store.get(name) : undefined),
    approve: (request, kind, signal) => approve(client, request, WORDS[kind], signal),
    issued: (kind) => publisher.issued(kind),
  };
}

function poolPortsOf(
  { client, caches, fence, serverClock }: JoinParts,
  obstacle: () => string | undefined,
  serving: ServingObstacle,
): PoolPorts {
  return {
    servingObstacle: () => serving.words,
    now: () => serverClock.wallNow(),
    fence,
    obstacle,
    pool: (key) => caches.pools.store.get(key),
    pools: () => caches.pools.store.values(),
    joins: () => caches.joins.store.values(),
    writeStatus: (pool, status, signal) => writeStatus(client, machinePools, pool, status, signal),
  };
}

function retentionPortsOf(
  { client, caches, fence, serverClock }: JoinParts,
  obstacle: () => string | undefined,
): RetentionPorts {
  return {
    now: () => serverClock.wallNow(),
    fence,
    obstacle,
    join: (key) => caches.joins.store.get(key),
    async delete({ metadata: { name, namespace, uid, resourceVersion } }, signal) {
      await client.delete(machineJoins, { namespace, name }, { preconditions: { uid, resourceVersion } }, signal);
    },
  };
}
