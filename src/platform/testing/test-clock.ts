import { type Clock, systemClock } from "../../base/clock.ts";

/**
 * Real time plus what a test adds: sockets and SQL go on as they are, and `advance` is the only way to skip a day.
 * Timers that become due by it fire at once.
 */
export class TestClock implements Clock {
  #addedMs = 0;
  #held: { readonly monotonicMs: number; readonly wallMs: number } | undefined;
  readonly #timers = new Map<() => void, number>();

  monotonicMs(): number {
    return (this.#held?.monotonicMs ?? systemClock.monotonicMs()) + this.#addedMs;
  }

  wallNow(): Date {
    return new Date((this.#held?.wallMs ?? systemClock.wallNow().getTime()) + this.#addedMs);
  }

  /** From now on time goes on by `advance` alone: for what is counted by time, however slow the machine is. */
  hold(): void {
    this.#held = { monotonicMs: systemClock.monotonicMs(), wallMs: systemClock.wallNow().getTime() };
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
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
