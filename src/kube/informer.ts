import type { Client } from "./client.ts";
import type { Clock, Random } from "./clock.ts";
import type { Logger } from "./log.ts";
import type { Projection } from "./projection.ts";
import type { Resource } from "./resource.ts";
import { type Cached, type IndexFunction, type ReadonlyStore, Store } from "./store.ts";
import type { WatchMetrics } from "./wire-metrics.ts";

export interface InformerOptions<T extends Cached> {
  readonly client: Client;
  readonly resource: Resource;
  /** Which fields are kept: a shape of `shapes.ts` or of your own, or `jsonProjection()` for custom resources. */
  readonly projection: Projection<T>;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: WatchMetrics;
  readonly random?: Random;
}

/** One difference between what the cache held and what it holds. The store already holds `object` when it is told. */
export type Change<T> =
  /** `initial`: part of the first list, not a creation that was seen. */
  | { readonly type: "added"; readonly object: T; readonly initial: boolean }
  /** `previous` may be the same version as `object` after the server was listed again. */
  | { readonly type: "updated"; readonly object: T; readonly previous: T }
  /** `object` is the last known state: the deletion itself may have happened while nobody watched. */
  | { readonly type: "deleted"; readonly object: T };

/** The cache of one kind: a store that follows the server, and whoever wants to know of changes. */
export class Informer<T extends Cached> {
  readonly resource: Resource;
  readonly #store: Store<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #options: InformerOptions<T>;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.resource = options.resource;
    this.#store = new Store<T>(options.indexes);
  }

  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  /** True from the end of the first list on; a broken watch does not take it back. */
  get synced(): boolean {
    return false;
  }

  /** Resolves at the end of the first list; rejects with `signal.reason`. */
  whenSynced(_signal: AbortSignal): Promise<void> {
    return Promise.reject(new Error(`not built yet: ${this.#options.resource.plural}`));
  }

  /**
   * Called for each change, in order, within the loop that reads the stream: enqueue a key and return. A listener
   * that throws is logged and goes on being called. Returns the function that removes it.
   */
  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Follows the server until `signal` aborts; then resolves. Never gives up, never throws. */
  run(_signal: AbortSignal): Promise<void> {
    return Promise.reject(new Error("not built yet"));
  }
}
