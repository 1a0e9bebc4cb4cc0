/** Lets a bounded number of processes run at a time; the others wait in order. */
export class Turns {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.#taken >= this.#most;
  }

  /** @returns how to give it back, once. @throws `signal.reason` when it aborts before it is its turn */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.isFull) await this.#turn(signal);
    else this.#taken += 1;
    return () => {
      // Handed on to the next one, or given back.
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    };
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(next), 1);
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(next);
    });
  }
}
