import { API_SERVER_BACKOFF } from "../../base/backoff.ts";
import { type Clock, systemRandom } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { CORDONED_BY_ANNOTATION } from "../../crds/group.ts";
import { type MachineDrain, machineDrains } from "../../crds/kinds/machine-drain.ts";
import { machineJoins } from "../../crds/kinds/machine-join.ts";
import type { Change } from "../../kube/cache/cache.ts";
import type { Client } from "../../kube/client/client.ts";
import { writeStatus } from "../../kube/client/status-writer.ts";
import { Controller } from "../../kube/controller/controller.ts";
import { generationChanged, type Predicate } from "../../kube/controller/predicates.ts";
import { notifiedBy, periodic, reads, watches } from "../../kube/controller/sources.ts";
import type { KubeMetrics } from "../../kube/metrics/metrics.ts";
import { keyOf, resources } from "../../kube/objects/resource.ts";
import type { MachinesConfig } from "../kernel/config.ts";
import { DRAIN_POLICIES, type PolicyWatch } from "../kernel/policy-watch.ts";
import { refuseMachine } from "../kernel/refuse-machine.ts";
import { budgetKey } from "./attempts.ts";
import { cordonOf, cordonText } from "./cordon.ts";
import { type CordonPorts, reconcileCordon } from "./cordon-reconciler.ts";
import type { DrainCaches } from "./drain-caches.ts";
import { DrainMemory } from "./drain-memory.ts";
import type { DrainPublisher } from "./drain-publisher.ts";
import { type DrainPorts, reconcileDrain } from "./drain-reconciler.ts";
import type { Budget, DrainNode } from "./shapes.ts";

export interface DrainParts {
  readonly client: Client;
  readonly caches: DrainCaches;
  readonly publisher: DrainPublisher;
  readonly kube: Pick<KubeMetrics, "controller" | "queue">;
  readonly policies: PolicyWatch;
  readonly fence: () => void;
  /** This pod. */
  readonly identity: string;
  readonly clock: Clock;
  /** Its calendar is the API server's. */
  readonly serverClock: Clock;
  readonly log: Logger;
  readonly config: Pick<
    MachinesConfig,
    "systemNamespace" | "grantsNamespace" | "workers" | "sweepIntervalMs" | "drainEnabled"
  >;
}

/** What only the leader does about drains. */
export function drainControllers(parts: DrainParts): readonly Controller[] {
  const { caches, clock, log, kube, config, publisher } = parts;
  const memory = new DrainMemory(systemRandom);
  caches.budgets.onChange(({ type, object }) => {
    if (type === "deleted") memory.gates.forget(budgetKey(object));
  });
  caches.drains.onChange(({ type, object }) => {
    if (type === "deleted") publisher.deleted(object);
  });
  const common = { clock, log, metrics: kube, backoff: API_SERVER_BACKOFF, cacheSyncTimeoutMs: "never" } as const;
  const cordonPorts = cordonPortsOf(parts);
  const cordons = new Controller({
    ...common,
    name: "cordon",
    concurrency: 4,
    reconcile: (name, context) => reconcileCordon(name, cordonPorts, context),
    sources: [
      watches(caches.nodes, (node) => (cordonOf(node) === undefined ? [] : [keyOf(node)])),
      watches(caches.drains, ({ spec }, { type }) => (type === "updated" ? [] : [spec.nodeName])),
      periodic(config.sweepIntervalMs, () => caches.markedNodes(), { clock }),
    ],
  });
  if (!config.drainEnabled) return [cordons];
  const ports = drainPortsOf(parts, memory);
  const drains = new Controller({
    ...common,
    name: "machinedrain",
    concurrency: config.workers,
    reconcile: (key, context) => reconcileDrain(key, ports, context),
    sources: [
      watches(caches.drains),
      watches(caches.drains, () => caches.openDrains(), moves),
      watches(caches.pods, ({ spec }) => caches.openDrainsOf(spec.nodeName)),
      watches(caches.nodes, ({ metadata }) => caches.openDrainsOf(metadata.name)),
      watches(caches.budgets, () => caches.openDrains(true), gives),
      watches(caches.pools, () => caches.openDrains(), generationChanged),
      watches(caches.joins, ({ spec }) => caches.openDrainsOf(spec.nodeName)),
      reads(caches.joins),
      notifiedBy(parts.policies, () => caches.allDrains()),
    ],
  });
  return [drains, cordons];
}

/** Whether it may be another drain's turn now. */
const moves: Predicate<MachineDrain> = (change: Change<MachineDrain>) =>
  change.type !== "updated" ||
  change.object.status?.state !== change.previous.status?.state ||
  change.object.metadata.deletionTimestamp !== undefined;

/** Whether a budget may let another pod go than before. */
const gives: Predicate<Budget> = (change: Change<Budget>) =>
  change.type !== "updated" ||
  change.object.status.disruptionsAllowed !== change.previous.status.disruptionsAllowed ||
  change.object.metadata.generation !== change.previous.metadata.generation;

function writeNodeOf(client: Client): DrainPorts["writeNode"] {
  return async ({ metadata }, cordon, unschedulable, signal) => {
    const { name, resourceVersion } = metadata;
    const annotations = { [CORDONED_BY_ANNOTATION]: cordon === undefined ? null : cordonText(cordon) };
    const spec = { unschedulable: unschedulable ? true : null };
    const body = { metadata: { resourceVersion, annotations }, spec };
    await client.patch(resources.nodes, { name }, { type: "merge", body }, {}, signal);
  };
}

function cordonPortsOf({ client, caches, fence, publisher }: DrainParts): CordonPorts {
  return {
    fence,
    node: (name) => caches.nodes.store.get(name),
    drains: () => caches.drains.store.values(),
    liveNode: (name, signal) => caches.liveNode(name, signal),
    liveDrainsOf: (name, signal) => caches.liveDrainsOf(name, signal),
    writeNode: writeNodeOf(client),
    uncordoned: (name, uid) => publisher.uncordoned(name, uid),
  };
}

function drainPortsOf(parts: DrainParts, memory: DrainMemory): DrainPorts {
  const { client, caches, fence, publisher, serverClock: clock, identity, config } = parts;
  const { systemNamespace, grantsNamespace } = config;
  return {
    clock,
    fence,
    memory,
    publisher,
    own: { namespace: systemNamespace, name: identity },
    keptNamespaces: ["kube-system", systemNamespace, grantsNamespace],
    drain: (key) => caches.drains.store.get(key),
    drains: () => caches.drains.store.values(),
    node: (name) => caches.nodes.store.get(name),
    podsOn: (name) => caches.podsOn(name),
    budgetsOf: (pod) => caches.budgetsOf(pod),
    rulesFor: (name) => caches.rulesFor(name),
    isOfItsMachine: (spec) => caches.isOfItsMachine(spec),
    obstacle: () => parts.policies.obstacle(DRAIN_POLICIES),
    liveNode: (name, signal) => caches.liveNode(name, signal),
    livePodsOn: (name, signal) => caches.livePodsOn(name, signal),
    liveJoins: (name, signal) => caches.liveJoinsOf(name, signal),
    writeNode: writeNodeOf(client),
    evict: ({ metadata: { name, namespace, uid } }, signal) =>
      client.evict({ name, namespace }, { preconditions: { uid } }, signal),
    deletePod: ({ metadata: { name, namespace, uid } }, gracePeriodSeconds, signal) =>
      client.delete(resources.pods, { name, namespace }, { preconditions: { uid }, gracePeriodSeconds }, signal),
    writeStatus: (drain, status, signal) => writeStatus(client, machineDrains, drain, status, signal),
    async markRemoved(join, signal) {
      const { name, namespace } = join.metadata;
      const key = { name, namespace };
      await refuseMachine(client, join, signal);
      const removed = { status: { state: "Removed" } };
      await client.patch(machineJoins, key, { type: "merge", body: removed }, { subresource: "status" }, signal);
    },
    async deleteNode({ metadata: { name, uid } }: DrainNode, signal) {
      await client.delete(resources.nodes, { name }, { preconditions: { uid } }, signal);
    },
  };
}
