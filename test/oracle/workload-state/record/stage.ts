import { apiVersionOf, type DynamicObject, type NewObject, resources } from "../../../../src/kube/objects/resource.ts";
import type { Kubelets } from "./kubelet.ts";
import { KINDS, type RecordedKind, type Seen, type World } from "./world.ts";

/** An object as it was seen once. */
export interface Sight {
  /** `<scene>/<step>`; the step `~` is a state on the way. */
  readonly step: string;
  /** When it was seen. */
  readonly at: string;
  readonly object: Seen;
}

export interface Scene {
  readonly name: string;
  play(stage: Stage): Promise<void>;
}

type Fields = object;

/** Kinds whose status says which version of the spec it is of. */
const OBSERVING: ReadonlySet<RecordedKind> = new Set(["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"]);

/** One scene's namespace, and the lines that it gave. */
export class Stage {
  readonly namespace: string;
  readonly lines: Sight[] = [];
  readonly #world: World;
  readonly #kubelets: Kubelets;
  readonly #signal: AbortSignal;

  constructor(namespace: string, world: World, kubelets: Kubelets, signal: AbortSignal) {
    this.namespace = namespace;
    this.#world = world;
    this.#kubelets = kubelets;
    this.#signal = signal;
  }

  async open(): Promise<void> {
    const { client } = this.#world;
    await client.create(
      resources.namespaces,
      { apiVersion: "v1", kind: "Namespace", metadata: { name: this.namespace } },
      this.#signal,
    );
  }

  async make(kind: RecordedKind, name: string, fields: Fields, metadata: Fields = {}): Promise<void> {
    const object = {
      ...fields,
      apiVersion: apiVersionOf(KINDS[kind]),
      kind,
      metadata: {
        ...("metadata" in fields ? (fields.metadata as object) : {}),
        ...metadata,
        name,
        namespace: this.namespace,
      },
    };
    await this.#world.client.create(KINDS[kind], object as NewObject<DynamicObject>, this.#signal);
  }

  /** Resolves once the object's controller has seen the change. */
  async change(kind: RecordedKind, name: string, body: Fields): Promise<void> {
    const key = { name, namespace: this.namespace };
    const { metadata } = await this.#world.client.patch(KINDS[kind], key, { type: "merge", body }, {}, this.#signal);
    if (!OBSERVING.has(kind)) return;
    await this.until(kind, name, ({ status }) => Number(status?.observedGeneration) >= (metadata.generation ?? 0));
  }

  async remove(kind: RecordedKind, name: string, gracePeriodSeconds?: number): Promise<void> {
    const key = { name, namespace: this.namespace };
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    await this.#world.client.delete(KINDS[kind], key, options, this.#signal);
  }

  /** Waits until the object is as said. */
  until(kind: RecordedKind, name: string, isTrue: (object: Seen) => boolean): Promise<void> {
    return this.#world.until(`${this.namespace}: ${kind} ${name}`, () => {
      const object = this.#world.get(kind, this.namespace, name);
      return object !== undefined && isTrue(object);
    });
  }

  /** Waits until all pods are as said. */
  untilPods(count: number, isTrue: (pod: Seen) => boolean = () => true): Promise<void> {
    return this.#world.until(`${this.namespace}: ${count} Pods`, () => this.pods.filter(isTrue).length === count);
  }

  get pods(): readonly Seen[] {
    return this.#world.list("Pod", this.namespace);
  }

  /** The first that is not being deleted. */
  get standing(): Seen | undefined {
    return this.pods.find(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== "Failed",
    );
  }

  list(kind: RecordedKind): readonly Seen[] {
    return this.#world.list(kind, this.namespace);
  }

  /** One pod's kubelet says something else now. */
  report(pod: Seen | undefined, word: string): Promise<void> {
    if (pod === undefined) throw new Error(`${this.namespace}: no such Pod`);
    return this.#kubelets.report(pod, word);
  }

  addNode(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    return this.#kubelets.addNode(name, labels);
  }

  async labelNode(name: string, labels: Readonly<Record<string, string | null>>): Promise<void> {
    const body = { metadata: { labels } };
    await this.#world.client.patch(resources.nodes, { name }, { type: "merge", body }, {}, this.#signal);
  }

  /** No more Pods than this in the namespace. */
  quota(pods: number): Promise<void> {
    return this.extra(
      { group: "", version: "v1", kind: "ResourceQuota", plural: "resourcequotas", namespaced: true },
      {
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "few", namespace: this.namespace },
        spec: { hard: { pods: String(pods) } },
      },
    );
  }

  /** Other objects that a scene needs: quotas, volumes. */
  async extra(
    resource: (typeof KINDS)[RecordedKind] | Parameters<World["client"]["create"]>[0],
    object: DynamicObject | Fields,
  ) {
    await this.#world.client.create(resource, object as unknown as NewObject<DynamicObject>, this.#signal);
  }

  async drop(resource: Parameters<World["client"]["delete"]>[0], name: string): Promise<void> {
    await this.#world.client.delete(resource, { name }, {}, this.#signal);
  }

  /** Takes its finalizers away. */
  async free(resource: Parameters<World["client"]["delete"]>[0], name: string): Promise<void> {
    const body = { metadata: { finalizers: null } };
    await this.#world.client
      .patch(resource, { name }, { type: "merge", body }, {}, this.#signal)
      .catch(() => undefined);
  }

  pause(ms: number): Promise<void> {
    return this.#world.pause(ms);
  }

  /** Records all of the namespace, once the controllers had a moment to write. */
  async mark(step: string): Promise<void> {
    await this.#world.pause(600);
    const at = new Date().toISOString();
    for (const kind of Object.keys(KINDS) as RecordedKind[]) {
      for (const object of this.#world.list(kind, this.namespace)) {
        this.lines.push({ step: `${this.namespace}/${step}`, at, object });
      }
    }
  }
}
