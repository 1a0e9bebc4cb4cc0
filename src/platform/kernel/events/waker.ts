import type { Clock } from "../../../base/clock.ts";

/** Wakes sleepers by name, within this process: the long-polls of a manager by its id, a builder by its own name. */
export class Waker {
  readonly #clock: Clock;
  readonly #subscriptions = new Map<string, Set<Subscription>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(sleeper: string): void {
    for (const subscription of this.#subscriptions.get(sleeper) ?? []) subscription.notify();
  }

  /** Returns a function that gives the milliseconds left of `waitMs` from now; the result may be negative. */
  timer(waitMs: number): () => number {
    const endsMs = this.#clock.monotonicMs() + waitMs;
    return () => endsMs - this.#clock.monotonicMs();
  }

  get sleeping(): number {
    return this.#subscriptions.size;
  }

  /**
   * Records every wake from now on. Call it first, then read the table, then wait: a wake between reading and waiting
   * is not lost.
   */
  subscribe(sleeper: string): Subscription {
    const subscriptions = this.#subscriptions.get(sleeper) ?? new Set();
    this.#subscriptions.set(sleeper, subscriptions);
    const subscription = new Subscription(this.#clock, () => {
      subscriptions.delete(subscription);
      if (subscriptions.size === 0) this.#subscriptions.delete(sleeper);
    });
    subscriptions.add(subscription);
    return subscription;
  }

  /** Subscribes now and resolves at the first wake, after `timeoutMs`, or on abort; never rejects. */
  async sleep(sleeper: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    using subscription = this.subscribe(sleeper);
    await subscription.next(timeoutMs, signal);
  }
}

/** One subscriber: remembers whether it was woken since it last waited. */
export class Subscription {
  readonly #clock: Clock;
  readonly #close: () => void;
  #notified = false;
  #resume: (() => void) | undefined;

  constructor(clock: Clock, close: () => void) {
    this.#clock = clock;
    this.#close = close;
  }

  notify(): void {
    this.#notified = true;
    this.#resume?.();
  }

  /** True once there was a wake since the last call; false after `timeoutMs` or on abort. Never rejects. */
  next(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener("abort", end);
        this.#resume = undefined;
        const notified = this.#notified;
        this.#notified = false;
        resolve(notified);
      };
      const cancel = this.#clock.after(timeoutMs, end);
      signal.addEventListener("abort", end, { once: true });
      this.#resume = end;
      if (this.#notified || signal.aborted) end();
    });
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}
