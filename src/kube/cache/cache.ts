import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { keyOf } from "../objects/resource.ts";
import type { ChangeType } from "./codec.ts";
import { type Cached, type IndexFunction, type ReadonlyStore, Store } from "./store.ts";

/** One difference between what the cache held and what it holds. The store already holds `object` when the listeners are called. */
export type Change<T> =
  /** `initial`: part of the first list, not a creation that was seen. */
  | { readonly type: "added"; readonly object: T; readonly initial: boolean }
  | { readonly type: "updated"; readonly object: T; readonly previous: T }
  /** `object` is the last known state: the deletion itself may have happened between two watches. */
  | { readonly type: "deleted"; readonly object: T };

export type Listener<T> = (change: Change<T>) => void;

export interface CacheOptions<T> {
  readonly indexes: Readonly<Record<string, IndexFunction<T>>>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Deep-freeze what is stored. */
  readonly freeze: boolean;
  /** What it says no to is not stored, and no listener hears of it. It must not change its mind on an object. @default all */
  readonly keep?: ((object: T) => boolean) | undefined;
}

/** Longest stretch of calls to listeners before others get the event loop. */
const SLICE_MS = 10;

/** A store and the listeners to its changes. One writer: the loop that reads the server. */
export class Cache<T extends Cached> {
  readonly #options: CacheOptions<T>;
  readonly #store: Store<T>;
  readonly #listeners = new Set<Listener<T>>();
  #filled = false;

  constructor(options: CacheOptions<T>) {
    this.#options = options;
    this.#store = new Store<T>(options.indexes);
  }

  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  onChange(listener: Listener<T>): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** One event of the server. A repeated version changes nothing and calls no listener. */
  apply(type: ChangeType, object: T): void {
    if (type === "DELETED") {
      if (this.#store.delete(keyOf(object)) !== undefined) this.#notify({ type: "deleted", object });
      return;
    }
    if (this.#options.keep?.(object) === false) return;
    if (this.#options.freeze) deepFreeze(object);
    const previous = this.#store.set(object);
    if (previous === undefined) this.#notify({ type: "added", object, initial: false });
    else if (isNewer(object, previous)) this.#notify({ type: "updated", object, previous });
  }

  /** Frees all that it holds. No listener hears of it: the objects are not gone, they are not known any more. */
  clear(): void {
    this.#store.adopt(new Store<T>(this.#options.indexes));
    this.#filled = false;
  }

  /** A set to collect a list in, out of sight. */
  draft(): Draft<T> {
    return new Draft(new Store<T>(this.#options.indexes), this.#options);
  }

  /**
   * Puts `draft` in place of the whole content in one step, then notifies of the differences, letting others have the event
   * loop in between. Deletions that happened unseen come out here.
   */
  async adopt(draft: Draft<T>, signal: AbortSignal): Promise<void> {
    const initial = !this.#filled;
    const previous = this.#store.adopt(draft.store);
    this.#filled = true;
    let sliceStartMs = this.#options.clock.monotonicMs();
    for (const change of differences(previous, this.#store, initial)) {
      this.#notify(change);
      if (this.#options.clock.monotonicMs() - sliceStartMs < SLICE_MS) continue;
      await nextTurn();
      signal.throwIfAborted();
      sliceStartMs = this.#options.clock.monotonicMs();
    }
  }

  #notify(change: Change<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (err) {
        this.#options.log.error({ key: keyOf(change.object), change: change.type, err }, "change listener threw");
      }
    }
  }
}

/** A list being received. */
export class Draft<T extends Cached> {
  readonly store: Store<T>;
  readonly #options: Pick<CacheOptions<T>, "freeze" | "keep">;

  constructor(store: Store<T>, options: Pick<CacheOptions<T>, "freeze" | "keep">) {
    this.store = store;
    this.#options = options;
  }

  apply(type: ChangeType, object: T): void {
    if (type === "DELETED") this.store.delete(keyOf(object));
    else if (this.#options.keep?.(object) !== false) this.store.set(this.#options.freeze ? deepFreeze(object) : object);
  }
}

function* differences<T extends Cached>(
  previous: ReadonlyMap<string, T>,
  store: ReadonlyStore<T>,
  initial: boolean,
): Generator<Change<T>> {
  for (const object of store.values()) {
    const before = previous.get(keyOf(object));
    if (before === undefined) yield { type: "added", object, initial };
    else if (isNewer(object, before)) yield { type: "updated", object, previous: before };
  }
  for (const [key, object] of previous) {
    if (store.get(key) === undefined) yield { type: "deleted", object };
  }
}

/** Versions are opaque: different is all that can be said. A repeat is what a resumed watch or a new list brings. */
function isNewer(object: Cached, previous: Cached): boolean {
  return object.metadata.resourceVersion !== previous.metadata.resourceVersion;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) deepFreeze(each);
  return Object.freeze(value);
}
