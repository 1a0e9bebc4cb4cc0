import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { Change } from "../../kube/cache/cache.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import { ObjectLimit } from "../../kube/cache/object-limit.ts";
import type { Cached } from "../../kube/cache/store.ts";
import type { Client } from "../../kube/client/client.ts";
import type { Runnable } from "../../kube/manager/manager.ts";
import type { WatchMetrics } from "../../kube/metrics/metrics.ts";
import type { Pod, ReplicaSet } from "../../kube/projection/shapes.ts";
import { isDone } from "../../kube/workload-state/job.ts";
import { unboundClaims } from "../../kube/workload-state/stateful-set.ts";
import { listStateOf } from "../kernel/list-state.ts";
import type { ObservedKind, ObservedScope } from "../kernel/observed-kinds.ts";
import type { ListState } from "../kernel/resource-metrics.ts";
import { History } from "./history.ts";
import { type Lists, listsOf, type Objects, OF } from "./lists.ts";
import type { WorkloadRef } from "./observation.ts";
import { BARE, controllerOf, deploymentByName, isBare, ownerIndex, ownerOfKind } from "./owners.ts";
import type { Related, Workload } from "./workload.ts";

export interface WorkloadsOptions {
  readonly client: Client;
  readonly namespaces: readonly string[];
  readonly scope: ObservedScope;
  readonly kinds: readonly ObservedKind[];
  /** Undefined: all objects. */
  readonly labelSelector?: string | undefined;
  /** Pods that are held of all namespaces together; beyond, the namespace with the most has none. */
  readonly maxPods: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly watchMetrics: WatchMetrics;
  /** Whether the agent has the right to: a watch that is open goes on for minutes after the right was taken. */
  readonly mayRead: (namespace: string, kind: ObservedKind) => boolean;
  /** Called for each change of an object that is told, or of one that belongs to it. */
  readonly changed: (ref: WorkloadRef) => void;
  /** The caches of a namespace. @default informers */
  readonly open?: typeof listsOf;
}

/**
 * Read-only caches of the opened namespaces, one a namespace and kind: one whose rule is missing is incomplete by itself,
 * and holds up nothing else. In the scope `cluster` all namespaces share one a kind: 64 of them would be 576 streams.
 */
export class Workloads {
  readonly kinds: readonly ObservedKind[];
  readonly #options: WorkloadsOptions;
  /** What runs: by namespace, or one entry for all. */
  readonly #opened: ReadonlyMap<string, Lists>;
  /** By opened namespace. */
  readonly #lists: ReadonlyMap<string, Lists>;
  readonly #history: History;
  readonly #podLimit: ObjectLimit;

  constructor(options: WorkloadsOptions) {
    this.kinds = options.kinds;
    this.#podLimit = new ObjectLimit(options.maxPods);
    this.#options = options;
    this.#history = new History(options.clock);
    const { namespaces, scope } = options;
    if (scope === "namespaces") {
      this.#opened = new Map(namespaces.map((namespace) => [namespace, this.#watched({ namespace })]));
      this.#lists = this.#opened;
      return;
    }
    const served = new Set(namespaces);
    const keep = ({ metadata }: Cached): boolean => served.has(metadata.namespace ?? "");
    const shared = this.#watched({ keep });
    this.#opened = new Map(namespaces.length === 0 ? [] : [["all namespaces", shared]]);
    this.#lists = new Map(namespaces.map((namespace) => [namespace, shared]));
  }

  /** To be run while this agent leads. Not among the manager's informers: those must sync before anything starts. */
  runnables(): readonly Runnable[] {
    return [...this.#opened].flatMap(([where, lists]) =>
      Object.values(lists).map((informer) => ({
        name: `${informer.resource.plural} of ${where}`,
        run: (signal: AbortSignal) => informer.run(signal),
      })),
    );
  }

  get informers(): readonly { retryNow(): void }[] {
    return [...this.#opened.values()].flatMap((lists) => Object.values(lists));
  }

  /** Of the list of a kind in a namespace; a namespace that is not opened is unreadable. */
  state(namespace: string, kind: ObservedKind): ListState {
    const list = this.#listOf(namespace, kind);
    const { clock, mayRead } = this.#options;
    const facts = {
      isOpened: list !== undefined,
      mayRead: mayRead(namespace, kind),
      isRefused: list?.refusal !== undefined,
      isTooLarge: list?.isTooLarge === true,
      isSynced: list?.synced === true,
      currentAtMs: list?.currentAtMs,
    };
    return listStateOf(facts, clock.monotonicMs());
  }

  /** Of the objects that are told: not those that belong to another. */
  names(namespace: string, kind: ObservedKind): readonly string[] {
    const store = this.#listOf(namespace, kind)?.store;
    const all = kind in ownerIndex ? store?.byIndex("owner", BARE) : store?.list();
    return this.#of<Cached>(namespace, all ?? []).map(({ metadata }) => metadata.name);
  }

  /** Of all pods of a namespace; undefined: they are not read. */
  podCount(namespace: string): number | undefined {
    const store = this.#read(namespace, "Pod")?.store;
    return store === undefined || this.#options.scope === "namespaces"
      ? store?.size
      : this.#of(namespace, store.list()).length;
  }

  /** Undefined: there is none, or it belongs to another. */
  workload({ namespace, kind, name }: WorkloadRef): Workload | undefined {
    const found = this.#listOf(namespace, kind)?.store.get(`${namespace}/${name}`);
    if (found === undefined || (hasOwnerIndex(kind) && !isBare(kind, found))) return undefined;
    return OF[kind](found as never);
  }

  /** By owners: labels alone would take what belongs to another with the same labels. */
  relatedTo({ kind, metadata }: Pick<Workload, "kind" | "metadata">): Related {
    const { uid, namespace = "" } = metadata;
    const before = (podUid: string) => this.#history.before(podUid);
    if (kind === "Pod") return { before, pods: this.#itself(namespace, metadata.name) };
    if (kind === "PersistentVolumeClaim" || kind === "PodDisruptionBudget") return {};
    if (kind === "CronJob") return { before, ...this.#runsOf(namespace, uid) };
    const scaledUpAt = this.#history.scaledUpAt(uid);
    if (kind === "Deployment") return { before, scaledUpAt, ...this.#ofDeployment(namespace, metadata) };
    const { pods } = this.#podsOf(namespace, [uid]);
    const claims = kind === "StatefulSet" ? this.#unboundClaims(namespace, metadata.name, pods) : undefined;
    return { before, scaledUpAt, ...(pods && { pods }), ...(claims && { claims }) };
  }

  #ofDeployment(namespace: string, { uid, name }: Workload["metadata"]): Pick<Related, "pods" | "replicaSets"> {
    const store = this.#read(namespace, "ReplicaSet")?.store;
    if (store !== undefined) {
      const replicaSets = this.#of(namespace, store.byIndex("owner", uid));
      const uids = replicaSets.map(({ metadata }) => metadata.uid);
      return { replicaSets, ...this.#podsOf(namespace, uids) };
    }
    const pods = this.#read(namespace, "Pod")?.store.byIndex("deployment", name);
    return pods === undefined ? {} : { pods: this.#of(namespace, pods) };
  }

  #runsOf(namespace: string, uid: string): Pick<Related, "pods" | "jobs"> {
    const store = this.#read(namespace, "Job")?.store;
    if (store === undefined) return {};
    const jobs = this.#of(namespace, store.byIndex("owner", uid));
    const running = jobs.filter((job) => !isDone(job)).map(({ metadata }) => metadata.uid);
    return { jobs: [...jobs, ...this.#history.endedJobs(uid)], ...this.#podsOf(namespace, running) };
  }

  #itself(namespace: string, name: string): readonly Pod[] {
    const pod = this.#listOf(namespace, "Pod")?.store.get(`${namespace}/${name}`);
    return pod === undefined ? [] : [pod];
  }

  #podsOf(namespace: string, owners: readonly string[]): Pick<Related, "pods"> {
    const store = this.#read(namespace, "Pod")?.store;
    return store === undefined
      ? {}
      : { pods: owners.flatMap((uid) => this.#of(namespace, store.byIndex("owner", uid))) };
  }

  #unboundClaims(namespace: string, name: string, pods: readonly Pod[] = []): Related["claims"] {
    const claims = this.#read(namespace, "PersistentVolumeClaim")?.store;
    const set = this.#listOf(namespace, "StatefulSet")?.store.get(`${namespace}/${name}`);
    if (claims === undefined || set === undefined) return undefined;
    return unboundClaims(set, pods, (claim) => {
      const found = claims.get(`${namespace}/${claim}`);
      return found?.status.phase === "Lost" || found?.status.phase === "Pending" ? found : undefined;
    });
  }

  /** Those of the namespace: lists of the whole cluster hold what others wrote, also the uids of foreign owners. */
  #of<T extends Cached>(namespace: string, objects: readonly T[]): readonly T[] {
    if (this.#options.scope === "namespaces") return objects;
    return objects.filter(({ metadata }) => metadata.namespace === namespace);
  }

  #watched(which: { readonly namespace?: string; readonly keep?: (object: Cached) => boolean }): Lists {
    const { client, clock, log, watchMetrics, kinds, labelSelector, open = listsOf } = this.#options;
    const limits = { Pod: this.#podLimit };
    const lists = open(kinds, { ...which, client, labelSelector, clock, log, metrics: watchMetrics }, limits);
    for (const kind of kinds) {
      const list = lists[kind] as Informer<Objects[typeof kind]> | undefined;
      list?.onChange((change) => this.#changed(kind, change));
    }
    const history = this.#history;
    lists.Pod?.onChange((change) => history.podChanged(change));
    lists.Job?.onChange((change) => history.jobChanged(change));
    lists.CronJob?.onChange(({ type, object }) => {
      if (type === "deleted") history.cronJobDeleted(object.metadata.uid);
    });
    for (const list of [lists.Deployment, lists.StatefulSet, lists.ReplicaSet]) {
      (list as Informer<ReplicaSet> | undefined)?.onChange((change) => {
        if (change.type !== "updated") return;
        const { object, previous } = change;
        history.scaled(object.metadata.uid, previous.spec.replicas ?? 1, object.spec.replicas ?? 1);
      });
    }
    return lists;
  }

  #changed(kind: ObservedKind, change: Change<Objects[ObservedKind]>): void {
    const { namespace = "" } = change.object.metadata;
    this.#mark(namespace, kind, change.object);
    if (change.type !== "updated") return;
    // Another controller has adopted it, or let it go: what it belonged to has changed as well.
    const { object, previous } = change;
    if (controllerOf(object.metadata)?.uid === controllerOf(previous.metadata)?.uid) return;
    this.#mark(namespace, kind, previous);
  }

  /** Marks what the object is told with: itself, or what it belongs to. */
  #mark(namespace: string, kind: ObservedKind, object: Objects[ObservedKind]): void {
    const { changed } = this.#options;
    if (!hasOwnerIndex(kind) || isBare(kind, object)) changed({ namespace, kind, name: object.metadata.name });
    else if (kind === "Job") this.#markOwner(namespace, "CronJob", object);
    else if (kind === "ReplicaSet") this.#markOwner(namespace, "Deployment", object);
    else this.#markOwnerOfPod(namespace, object as Pod);
  }

  #markOwner(namespace: string, kind: ObservedKind, { metadata }: Objects[ObservedKind]): void {
    const owner = ownerOfKind(metadata, kind);
    if (owner !== undefined) this.#options.changed({ namespace, kind, name: owner.name });
  }

  #markOwnerOfPod(namespace: string, pod: Pod): void {
    this.#markOwner(namespace, "StatefulSet", pod);
    this.#markOwner(namespace, "DaemonSet", pod);
    for (const kind of ["ReplicaSet", "Job"] as const) {
      const owner = ownerOfKind(pod.metadata, kind);
      if (owner === undefined) continue;
      const found = this.#listOf(namespace, kind)?.store.get(`${namespace}/${owner.name}`);
      if (found !== undefined) this.#mark(namespace, kind, found);
    }
    const name = deploymentByName(pod);
    if (name !== undefined && this.#read(namespace, "ReplicaSet") === undefined)
      this.#options.changed({ namespace, kind: "Deployment", name });
  }

  #listOf<K extends ObservedKind>(namespace: string, kind: K): Lists[K] | undefined {
    return this.#lists.get(namespace)?.[kind];
  }

  #read<K extends ObservedKind>(namespace: string, kind: K): Lists[K] | undefined {
    return this.state(namespace, kind) === "read" ? this.#listOf(namespace, kind) : undefined;
  }
}

function hasOwnerIndex(kind: ObservedKind): kind is keyof typeof ownerIndex {
  return Object.hasOwn(ownerIndex, kind);
}
