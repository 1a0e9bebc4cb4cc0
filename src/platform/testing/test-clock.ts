import { type Clock, systemClock } from "../clock.ts";

/**
 * Real time plus what a test adds: sockets and SQL go on as they are, and `advance` is the only way to skip a day.
 * Timers that become due by it fire at once.
 */
export class TestClock implements Clock {
  #addedMs = 0;
  readonly #timers = new Map<() => void, number>();

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#addedMs;
  }

  wallNow(): Date {
    return new Date(systemClock.wallNow().getTime() + this.#addedMs);
  }

  after(delayMs: number, task: () => void): () => void {
    const fire = (): void => {
      cancel();
      task();
    };
    const stop = systemClock.after(delayMs, fire);
    const cancel = (): void => {
      stop();
      this.#timers.delete(fire);
    };
    this.#timers.set(fire, this.monotonicMs() + delayMs);
    return cancel;
  }

  advance(ms: number): void {
    this.#addedMs += ms;
    const now = this.monotonicMs();
    for (const [fire, dueMs] of [...this.#timers]) if (dueMs <= now) fire();
  }
}
