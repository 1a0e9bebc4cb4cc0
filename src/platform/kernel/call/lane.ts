/**
 * Runs work one at a time for each key, in order of arrival. Work under other keys is not delayed. A key with no work
 * takes no memory.
 */
export class Lane {
  readonly #lines = new Map<string, { last: Promise<void>; length: number }>();

  /** Number of keys with work that runs or waits. */
  get size(): number {
    return this.#lines.size;
  }

  /** Number of works that run or wait under that key. */
  lengthOf(key: string): number {
    return this.#lines.get(key)?.length ?? 0;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(key) ?? { last: Promise.resolve(), length: 0 };
    this.#lines.set(key, line);
    const before = line.last;
    const { promise: mine, resolve } = Promise.withResolvers<void>();
    line.last = mine;
    line.length += 1;
    try {
      await before;
      return await work();
    } finally {
      line.length -= 1;
      if (line.length === 0) this.#lines.delete(key);
      resolve();
    }
  }
}
