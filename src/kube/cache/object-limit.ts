/** A cache that counts against a limit. */
export interface Limited {
  /** Objects in memory: what it holds, or what it receives in place of that, if that is more. */
  readonly size: number;
  /** Called when there are too many, and this cache has the most: it frees all that it holds. */
  giveWay(): void;
}

/**
 * The most objects that several caches hold together. Beyond it the largest is dropped as a whole, and the others go on:
 * half a list would be taken for all of it, and a process without memory ends with all lists.
 */
export class ObjectLimit {
  readonly #most: number;
  readonly #caches = new Set<Limited>();

  constructor(most: number) {
    this.#most = most;
  }

  join(cache: Limited): void {
    this.#caches.add(cache);
  }

  /** To be called whenever a cache may have grown. */
  check(): void {
    let total = 0;
    let largest: Limited | undefined;
    for (const cache of this.#caches) {
      total += cache.size;
      if (largest === undefined || cache.size > largest.size) largest = cache;
    }
    if (total > this.#most) largest?.giveWay();
  }
}
