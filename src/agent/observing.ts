import { getHeapStatistics } from "node:v8";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { RequiredRight } from "../crds/manifests/roles/required-rights.ts";
import type { AccessWatch } from "../kube/access/access-watch.ts";
import { Informer } from "../kube/cache/informer.ts";
import type { Client } from "../kube/client/client.ts";
import type { Runnable } from "../kube/manager/manager.ts";
import type { WatchMetrics } from "../kube/metrics/metrics.ts";
import { resources } from "../kube/objects/resource.ts";
import { type Node, nodeShape } from "../kube/projection/shapes.ts";
import type { AgentConfig } from "./kernel/config.ts";
import { OBSERVED, type ObservedKind } from "./kernel/observed-kinds.ts";
import { podsFor } from "./kernel/pod-limit.ts";
import { EventLookup } from "./lookups/event-lookup.ts";
import { eventLister, podMetricsLister } from "./lookups/lists.ts";
import { UsageLookup } from "./lookups/usage-lookup.ts";
import { NameSalt } from "./names/name-salt.ts";
import { type Names, PLAIN_NAMES } from "./names/names.ts";
import { ClusterNodes } from "./nodes/cluster-nodes.ts";
import type { Lookups, WorkloadRef } from "./observe/observation.ts";
import { Workloads } from "./observe/workloads.ts";
import { mayRead } from "./rights.ts";

export interface ObservingOptions {
  readonly client: Client;
  readonly config: AgentConfig;
  readonly rights: Pick<AccessWatch<RequiredRight>, "missing">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly watchMetrics: WatchMetrics;
  readonly changed: (ref: WorkloadRef) => void;
  /** What is told of the cluster as a whole may have changed. */
  readonly clusterChanged: () => void;
}

/** All that reads the opened namespaces, and nodes: what is watched, and what is asked for when needed. */
export interface Observing {
  readonly workloads: Workloads;
  readonly lookups: Lookups;
  readonly nodes: ClusterNodes;
  readonly names: Names;
  /** To be run while this agent leads. */
  readonly runnables: readonly Runnable[];
  /** The agent's rights have changed: what was refused is tried now. */
  retryNow(): void;
}

export function observing(options: ObservingOptions): Observing {
  const { client, config, rights, clock, log, changed } = options;
  const labelSelector = config.observedLabelSelector || undefined;
  const workloads = new Workloads({
    ...options,
    labelSelector,
    namespaces: config.namespaces,
    scope: config.observedScope,
    maxPods: config.observedMaxPods || podsFor(getHeapStatistics().heap_size_limit),
    kinds: config.observedKinds,
    mayRead: (namespace, kind) => mayRead(rights.missing, namespace, OBSERVED[kind].resource),
  });
  const events = new EventLookup<ObservedKind>({
    clock,
    log,
    isOn: config.observedOnDemand.includes("events"),
    list: eventLister(client),
    mayRead: (namespace) => mayRead(rights.missing, namespace, resources.events),
    changed,
  });
  const usage = new UsageLookup({
    clock,
    log,
    isOn: config.observedOnDemand.includes("metrics"),
    list: podMetricsLister(client, labelSelector),
    mayRead: (namespace) => mayRead(rights.missing, namespace, resources.podMetrics),
    podCount: (namespace) => workloads.podCount(namespace),
    changed(namespace) {
      for (const kind of workloads.kinds.filter((each) => OBSERVED[each].beats)) {
        for (const name of workloads.names(namespace, kind)) changed({ namespace, kind, name });
      }
    },
  });
  const { systemNamespace: namespace } = config;
  const salt =
    config.redactNames === "on"
      ? new NameSalt({ client, namespace, clock, log, changed: options.clusterChanged })
      : undefined;
  const names = salt ?? PLAIN_NAMES;
  const nodes = nodeList(options);
  return {
    workloads,
    lookups: { events, usage },
    names,
    nodes: new ClusterNodes({
      ...{ names, clock },
      list: nodes,
      mayRead: () => mayRead(rights.missing, config.grantsNamespace, resources.nodes),
      changed: options.clusterChanged,
    }),
    runnables: [
      ...workloads.runnables(),
      ...(nodes === undefined ? [] : [{ name: "nodes", run: (signal: AbortSignal) => nodes.run(signal) }]),
      ...[events, usage, ...(salt === undefined ? [] : [salt])].map((lookup) => ({
        name: lookup.name,
        run: (signal: AbortSignal) => lookup.run(signal),
      })),
    ],
    retryNow() {
      for (const informer of workloads.informers) informer.retryNow();
      nodes?.retryNow();
      events.retryNow();
      usage.retryNow();
    },
  };
}

/** Undefined: the customer does not let nodes be read. */
function nodeList({ client, config, clock, log, watchMetrics: metrics }: ObservingOptions): Informer<Node> | undefined {
  if (config.observedNodes === "off") return undefined;
  return new Informer<Node>({ client, clock, log, metrics, resource: resources.nodes, projection: nodeShape });
}
