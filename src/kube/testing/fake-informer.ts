import { orAborted } from "../../base/or-aborted.ts";
import type { Change } from "../cache/cache.ts";
import type { HasMeta } from "../controller/predicates.ts";
import type { Watched } from "../controller/sources.ts";
import { keyOf } from "../objects/resource.ts";

/** An informer whose server is the test: `set` and `delete` are the events. */
export class FakeInformer<T extends HasMeta> implements Watched<T> {
  readonly resource: { readonly kind: string; readonly plural: string };
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #synced = Promise.withResolvers<void>();

  constructor(kind = "Thing") {
    this.resource = { kind, plural: `${kind.toLowerCase()}s` };
  }

  readonly store: Watched<T>["store"] = { values: () => this.#objects.values() };

  /** Listeners now: 0 at the end of a test, or one was not removed. */
  get listeners(): number {
    return this.#listeners.size;
  }

  set(object: T): void {
    const previous = this.#objects.get(keyOf(object));
    this.#objects.set(keyOf(object), object);
    this.#tell(previous ? { type: "updated", object, previous } : { type: "added", object, initial: false });
  }

  delete(key: string): void {
    const object = this.#objects.get(key);
    if (!object) return;
    this.#objects.delete(key);
    this.#tell({ type: "deleted", object });
  }

  sync(): void {
    this.#synced.resolve();
  }

  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  whenSynced(signal: AbortSignal): Promise<void> {
    return orAborted(this.#synced.promise, signal);
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) listener(change);
  }
}
