import { keyOf } from "../objects/resource.ts";

/** What a cached object must have; projections and whole objects both do. */
export interface Cached {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly resourceVersion: string;
  };
}

/** Values of an index for one object, e.g. `(pod) => [pod.spec.nodeName]`. Pure; `""` is a value like any other. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** What readers of a cache see. Objects are shared: never change them. */
export interface ReadonlyStore<T> {
  get(key: string): T | undefined;
  /** A new array each time: use {@link values} to look at all. */
  list(): readonly T[];
  values(): Iterable<T>;
  /** Objects whose index function named `value`. @throws Error when there is no such index: a programmer's mistake. */
  byIndex(index: string, value: string): readonly T[];
  readonly size: number;
}

/** Objects of one kind by key, with indexes kept in step. */
export class Store<T extends Cached> implements ReadonlyStore<T> {
  #objects = new Map<string, T>();
  #indexes: ReadonlyMap<string, Index<T>>;

  constructor(indexes: Readonly<Record<string, IndexFunction<T>>> = {}) {
    this.#indexes = new Map(Object.entries(indexes).map(([name, of]) => [name, { of, keys: new Map() }]));
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`no index ${name}`);
    const found: T[] = [];
    for (const key of index.keys.get(value) ?? []) {
      const object = this.#objects.get(key);
      if (object !== undefined) found.push(object);
    }
    return found;
  }

  /** Stores `object`; returns what it replaces. */
  set(object: T): T | undefined {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) {
      if (previous !== undefined) removeFrom(index, key, previous);
      addTo(index, key, object);
    }
    return previous;
  }

  /** Forgets the object under `key`; returns it. */
  delete(key: string): T | undefined {
    const previous = this.#objects.get(key);
    if (previous === undefined) return undefined;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) removeFrom(index, key, previous);
    return previous;
  }

  /**
   * Takes over the content and indexes of `other`, in one step: no reader ever sees half a list. Returns the old
   * content.
   */
  adopt(other: Store<T>): ReadonlyMap<string, T> {
    const previous = this.#objects;
    this.#objects = other.#objects;
    this.#indexes = other.#indexes;
    return previous;
  }
}

interface Index<T> {
  readonly of: IndexFunction<T>;
  /** Value → keys. Empty sets are removed, so values that come and go (node names) do not pile up. */
  readonly keys: Map<string, Set<string>>;
}

function addTo<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.of(object)) {
    const keys = index.keys.get(value);
    if (keys === undefined) index.keys.set(value, new Set([key]));
    else keys.add(key);
  }
}

function removeFrom<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.of(object)) {
    const keys = index.keys.get(value);
    keys?.delete(key);
    if (keys?.size === 0) index.keys.delete(value);
  }
}
