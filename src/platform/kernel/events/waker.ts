import type { Clock } from "../../../base/clock.ts";

/** Wakes long-polls by manager id, within this process. */
export class Waker {
  readonly #clock: Clock;
  readonly #ears = new Map<string, Set<Ear>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(managerId: string): void {
    for (const ear of this.#ears.get(managerId) ?? []) ear.ring();
  }

  /** Returns a function that gives the milliseconds left of `waitMs` from now; the result may be negative. */
  timer(waitMs: number): () => number {
    const endsMs = this.#clock.monotonicMs() + waitMs;
    return () => endsMs - this.#clock.monotonicMs();
  }

  get sleeping(): number {
    return this.#ears.size;
  }

  /**
   * Records every wake from now on. Call it first, then read the table, then wait: a wake between reading and waiting
   * is not lost.
   */
  hear(managerId: string): Ear {
    const ears = this.#ears.get(managerId) ?? new Set();
    this.#ears.set(managerId, ears);
    const ear = new Ear(this.#clock, () => {
      ears.delete(ear);
      if (ears.size === 0) this.#ears.delete(managerId);
    });
    ears.add(ear);
    return ear;
  }

  /** Subscribes now and resolves at the first wake, after `timeoutMs`, or on abort; never rejects. */
  async sleep(managerId: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    using ear = this.hear(managerId);
    await ear.next(timeoutMs, signal);
  }
}

/** One subscriber: remembers whether it was woken since it last waited. */
export class Ear {
  readonly #clock: Clock;
  readonly #close: () => void;
  #rung = false;
  #resume: (() => void) | undefined;

  constructor(clock: Clock, close: () => void) {
    this.#clock = clock;
    this.#close = close;
  }

  ring(): void {
    this.#rung = true;
    this.#resume?.();
  }

  /** True once there was a wake since the last call; false after `timeoutMs` or on abort. Never rejects. */
  next(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener("abort", end);
        this.#resume = undefined;
        const rung = this.#rung;
        this.#rung = false;
        resolve(rung);
      };
      const cancel = this.#clock.after(timeoutMs, end);
      signal.addEventListener("abort", end, { once: true });
      this.#resume = end;
      if (this.#rung || signal.aborted) end();
    });
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}
