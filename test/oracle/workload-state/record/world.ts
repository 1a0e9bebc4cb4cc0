import { sleep, systemClock } from "../../../../src/base/clock.ts";
import { silentLogger } from "../../../../src/base/log.ts";
import { Informer } from "../../../../src/kube/cache/informer.ts";
import type { Client } from "../../../../src/kube/client/client.ts";
import { apiVersionOf, type DynamicObject, type Resource, resources } from "../../../../src/kube/objects/resource.ts";
import { jsonProjection } from "../../../../src/kube/projection/projection.ts";

/** What is recorded. */
export const KINDS = {
  Deployment: resources.deployments,
  ReplicaSet: resources.replicaSets,
  StatefulSet: resources.statefulSets,
  DaemonSet: resources.daemonSets,
  Job: resources.jobs,
  CronJob: resources.cronJobs,
  Pod: resources.pods,
  PersistentVolumeClaim: resources.persistentVolumeClaims,
  PodDisruptionBudget: resources.podDisruptionBudgets,
} as const satisfies Record<string, Resource>;
export type RecordedKind = keyof typeof KINDS;

/** An object as far as the recorder reads it. */
export interface Seen extends DynamicObject {
  readonly spec?: { readonly [field: string]: unknown };
  readonly status?: { readonly [field: string]: unknown };
}

/** All objects of the recorded kinds, followed from the API server. */
export class World {
  readonly client: Client;
  readonly #informers: ReadonlyMap<RecordedKind, Informer<Seen>>;
  readonly #signal: AbortSignal;

  constructor(client: Client, signal: AbortSignal) {
    this.client = client;
    this.#signal = signal;
    const options = { client, clock: systemClock, log: silentLogger, projection: jsonProjection<Seen>() };
    this.#informers = new Map(
      Object.entries(KINDS).map(([kind, resource]) => [
        kind as RecordedKind,
        new Informer<Seen>({ ...options, resource }),
      ]),
    );
  }

  /** Starts to follow; `changed` gets every version that the server sends. */
  async start(changed: (object: Seen) => void): Promise<void> {
    for (const [kind, informer] of this.#informers) {
      informer.onChange((change) => {
        if (change.type !== "deleted") changed(named(kind, change.object));
      });
      void informer.run(this.#signal);
    }
    for (const informer of this.#informers.values()) await informer.whenSynced(this.#signal);
  }

  list(kind: RecordedKind, namespace?: string): readonly Seen[] {
    const all = this.#informers.get(kind)?.store.list() ?? [];
    return all
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
      .map((object) => named(kind, object))
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  get(kind: RecordedKind, namespace: string, name: string): Seen | undefined {
    return this.list(kind, namespace).find(({ metadata }) => metadata.name === name);
  }

  /** @throws when it has not come true after four minutes. */
  async until(what: string, isTrue: () => boolean): Promise<void> {
    const deadline = performance.now() + 240_000;
    while (!isTrue()) {
      if (performance.now() > deadline) throw new Error(`after 240 s still not: ${what}`);
      await sleep(systemClock, 50, this.#signal);
    }
  }

  pause(ms: number): Promise<void> {
    return sleep(systemClock, ms, this.#signal);
  }
}

/** With the two fields that a list leaves out of its items. */
function named(kind: RecordedKind, object: Seen): Seen {
  return { ...object, apiVersion: apiVersionOf(KINDS[kind]), kind };
}
