import { type Clock, systemClock } from "../../src/base/clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly task: () => void;
  cancel: () => void;
}

/**
 * Real time that a test can push forward: an hour passes at once, while servers and sockets go on in real time. Wall
 * and monotonic time move together, as on a machine that was busy, not on one that was suspended.
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

  /** Timers that are due by then fire soon after, in order, each in its own turn of the event loop. */
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
