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
import type { ListState } from "../kernel/resource-metrics.ts";
import type { WorkloadKind } from "../kernel/workload-kinds.ts";
import type { WorkloadRef } from "./observation.ts";
import { ofDaemonSet, ofDeployment, ofStatefulSet, type Workload } from "./workload.ts";

export interface WorkloadsOptions {
  readonly client: Client;
  readonly namespaces: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly watchMetrics: WatchMetrics;
  /** Whether the agent has the right to: a watch that is open goes on for minutes after the right was taken. */
  readonly mayRead: (namespace: string, kind: WorkloadKind) => boolean;
  /** Called for each change of a workload or of a pod that it owns. */
  readonly changed: (ref: WorkloadRef) => void;
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

  /** Of the list of a kind in a namespace; a namespace that is not opened is unreadable. */
  state(namespace: string, kind: WorkloadKind): ListState {
    const list = this.#listOf(namespace, kind);
    if (list === undefined || list.refusal !== undefined || !this.#options.mayRead(namespace, kind))
      return "unreadable";
    return list.synced ? "read" : "starting";
  }

  names(namespace: string, kind: WorkloadKind): readonly string[] {
    return (
      this.#listOf(namespace, kind)
        ?.store.list()
        .map(({ metadata }) => metadata.name) ?? []
    );
  }

  workload({ namespace, kind, name }: WorkloadRef): Workload | undefined {
    const found = this.#listOf(namespace, kind)?.store.get(`${namespace}/${name}`);
    return found === undefined ? undefined : OF[kind](found as never);
  }

  /** Its pods, by their owner: labels alone would take those of another owner with the same labels for its own. */
  podsOf({ kind, metadata }: Pick<Workload, "kind" | "metadata">): readonly Pod[] {
    const cache = this.#caches.find(({ namespace }) => namespace === metadata.namespace);
    return cache?.pods.store.byIndex("owner", `${kind}/${metadata.name}`) ?? [];
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
        indexes: { owner: (pod: Pod) => ownerNames(pod, namespace) },
      }),
    };
    for (const [kind, informer] of [
      ["Deployment", caches.deployments],
      ["StatefulSet", caches.statefulSets],
      ["DaemonSet", caches.daemonSets],
    ] as const) {
      informer.onChange(({ object }) => changed({ namespace, kind, name: object.metadata.name }));
    }
    caches.pods.onChange(({ object }) => {
      const ref = ownerOf(object, namespace);
      if (ref !== undefined) changed(ref);
    });
    return caches;
  }

  #listOf(namespace: string, kind: WorkloadKind): Informer<Deployment | StatefulSet | DaemonSet> | undefined {
    const caches = this.#caches.find((each) => each.namespace === namespace);
    const lists = { Deployment: caches?.deployments, StatefulSet: caches?.statefulSets, DaemonSet: caches?.daemonSets };
    return lists[kind] as Informer<Deployment | StatefulSet | DaemonSet> | undefined;
  }
}

const OF = { Deployment: ofDeployment, StatefulSet: ofStatefulSet, DaemonSet: ofDaemonSet } as const;

function ownerNames(pod: Pod, namespace: string): readonly string[] {
  const owner = ownerOf(pod, namespace);
  return owner === undefined ? [] : [`${owner.kind}/${owner.name}`];
}

/** The workload that a pod belongs to. A Deployment owns it through a ReplicaSet, named after it and the template's hash. */
function ownerOf({ metadata }: Pod, namespace: string): WorkloadRef | undefined {
  const owner = metadata.ownerReferences.find(({ controller }) => controller === true);
  if (owner === undefined) return undefined;
  if (owner.kind === "StatefulSet" || owner.kind === "DaemonSet")
    return { namespace, kind: owner.kind, name: owner.name };
  const suffix = `-${metadata.labels["pod-template-hash"] ?? ""}`;
  if (owner.kind !== "ReplicaSet" || suffix === "-" || !owner.name.endsWith(suffix)) return undefined;
  return { namespace, kind: "Deployment", name: owner.name.slice(0, -suffix.length) };
}
