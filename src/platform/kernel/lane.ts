/**
 * One at a time a key, in order of arrival; other keys are not held up. Holds nothing for a key that nobody uses.
 */
export class Lane {
  readonly #last = new Map<string, Promise<void>>();

  get size(): number {
    return this.#last.size;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: mine, resolve } = Promise.withResolvers<void>();
    this.#last.set(key, mine);
    try {
      await before;
      return await work();
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
      resolve();
    }
  }
}
