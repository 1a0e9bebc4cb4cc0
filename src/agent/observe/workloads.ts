import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { Informer } from "../../kube/cache/informer.ts";
import type { Client } from "../../kube/client/client.ts";
import type { Runnable } from "../../kube/manager/manager.ts";
import type { WatchMetrics } from "../../kube/metrics/metrics.ts";
import { resources } from "../../kube/objects/resource.ts";
import {
  type DaemonSet,
  type Deployment,
  daemonSetShape,
  deploymentShape,
  type Pod,
  podShape,
  type StatefulSet,
  statefulSetShape,
} from "../../kube/projection/shapes.ts";
import type { Health } from "../../kube/workload-state/words.ts";
import type { AgentMetrics } from "../kernel/metrics.ts";
import { WORKLOAD_KINDS } from "../kernel/workload-kinds.ts";
import type { WorkloadList } from "./resource-report.ts";
import { ofDaemonSet, ofDeployment, ofStatefulSet, type Workload } from "./workload.ts";

export interface WorkloadsOptions {
  readonly client: Client;
  readonly namespaces: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<AgentMetrics, "resources">;
  readonly watchMetrics: WatchMetrics;
  /** Called with the namespace of a changed workload. Not of pods: those show in their workload's counts. */
  readonly changed: (namespace: string) => void;
}

interface Caches {
  readonly namespace: string;
  readonly deployments: Informer<Deployment>;
  readonly statefulSets: Informer<StatefulSet>;
  readonly daemonSets: Informer<DaemonSet>;
  readonly pods: Informer<Pod>;
}

/**
 * Read-only caches of the workloads in the namespaces that the customer opened, one set a namespace: a namespace whose
 * RoleBinding is missing is incomplete by itself, and holds up nothing else.
 */
export class Workloads {
  readonly #options: WorkloadsOptions;
  readonly #caches: readonly Caches[];

  constructor(options: WorkloadsOptions) {
    this.#options = options;
    this.#caches = options.namespaces.map((namespace) => this.#cachesOf(namespace));
  }

  /** To be run while this agent leads. Not among the manager's informers: those must sync before anything starts. */
  runnables(): readonly Runnable[] {
    return this.#caches.flatMap(({ namespace, ...informers }) =>
      Object.entries(informers).map(([name, informer]) => ({
        name: `${name} of ${namespace}`,
        run: (signal: AbortSignal) => informer.run(signal),
      })),
    );
  }

  get informers(): readonly { retryNow(): void }[] {
    return this.#caches.flatMap(({ namespace: _, ...informers }) => Object.values(informers));
  }

  lists(): readonly WorkloadList[] {
    const lists = this.#caches.flatMap(({ namespace, deployments, statefulSets, daemonSets }) => [
      listOf(namespace, "Deployment", deployments, ofDeployment),
      listOf(namespace, "StatefulSet", statefulSets, ofStatefulSet),
      listOf(namespace, "DaemonSet", daemonSets, ofDaemonSet),
    ]);
    this.#measure(lists);
    return lists;
  }

  /** By the selector's labels; a workload whose selector has only expressions shows none. */
  podsOf({ metadata, selector }: Workload): readonly Pod[] {
    const labels = Object.entries(selector);
    const [first] = labels;
    const cache = this.#caches.find(({ namespace }) => namespace === metadata.namespace);
    if (first === undefined || cache === undefined) return [];
    const candidates = cache.pods.store.byIndex("label", first.join("="));
    return candidates.filter((pod) => labels.every(([key, value]) => pod.metadata.labels[key] === value));
  }

  #cachesOf(namespace: string): Caches {
    const { client, clock, log, watchMetrics, changed } = this.#options;
    const common = { client, namespace, clock, log, metrics: watchMetrics };
    const caches: Caches = {
      namespace,
      deployments: new Informer({ ...common, resource: resources.deployments, projection: deploymentShape }),
      statefulSets: new Informer({ ...common, resource: resources.statefulSets, projection: statefulSetShape }),
      daemonSets: new Informer({ ...common, resource: resources.daemonSets, projection: daemonSetShape }),
      pods: new Informer({
        ...common,
        resource: resources.pods,
        projection: podShape,
        indexes: { label: (pod: Pod) => Object.entries(pod.metadata.labels).map((entry) => entry.join("=")) },
      }),
    };
    for (const informer of [caches.deployments, caches.statefulSets, caches.daemonSets]) {
      informer.onChange(() => changed(namespace));
    }
    return caches;
  }

  #measure(lists: readonly WorkloadList[]): void {
    const now = this.#options.clock.wallNow();
    for (const kind of WORKLOAD_KINDS) {
      const counts: Partial<Record<Health, number>> = {};
      for (const workload of lists.flatMap((list) => (list.kind === kind ? list.workloads : []))) {
        const { health } = workload.stateOf({ now, pods: this.podsOf(workload) });
        counts[health] = (counts[health] ?? 0) + 1;
      }
      this.#options.metrics.resources(kind, counts);
    }
  }
}

function listOf<T extends Deployment | StatefulSet | DaemonSet>(
  namespace: string,
  kind: Workload["kind"],
  informer: Pick<Informer<T>, "store" | "synced">,
  of: (object: T) => Workload,
): WorkloadList {
  return { namespace, kind, complete: informer.synced, workloads: informer.store.list().map(of) };
}
