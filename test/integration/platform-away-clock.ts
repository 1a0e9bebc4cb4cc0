import { type Clock, systemClock } from "../../src/base/clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly task: () => void;
  cancel: () => void;
}

/**
 * Real time that can be pushed forward: servers and sockets go on in their own time, and an hour passes in a moment.
 * Both readings move together, as on a machine that was busy elsewhere, not one that was suspended.
 */
export class PushedClock implements Clock {
  #shiftMs = 0;
  readonly #timers = new Set<Timer>();

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#shiftMs;
  }

  wallNow(): Date {
    return new Date(systemClock.wallNow().getTime() + this.#shiftMs);
  }

  after(delayMs: number, task: () => void): () => void {
    const timer: Timer = { dueMs: this.monotonicMs() + delayMs, task, cancel: () => undefined };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => {
      this.#timers.delete(timer);
      timer.cancel();
    };
  }

  /** Timers that are due by then fire soon, in order, each on its own turn. */
  push(ms: number): void {
    this.#shiftMs += ms;
    for (const timer of [...this.#timers].toSorted((a, b) => a.dueMs - b.dueMs)) {
      timer.cancel();
      this.#arm(timer);
    }
  }

  #arm(timer: Timer): void {
    timer.cancel = systemClock.after(timer.dueMs - this.monotonicMs(), () => {
      this.#timers.delete(timer);
      timer.task();
    });
  }
}
