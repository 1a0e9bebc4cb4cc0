import type { Clock } from "../clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly task: () => void;
}

/**
 * Test clock: time moves only in `advance`, and never waits for promises.
 *
 * Preferred over `vi.useFakeTimers()` for our own code: it reaches only what was injected, so an
 * undici or PGlite timer in the same test keeps running.
 */
export class FakeClock implements Clock {
  #nowMs = 0;
  readonly #startedAt: number;
  readonly #timers = new Set<Timer>();

  constructor(wallStart = "2026-01-01T00:00:00Z") {
    this.#startedAt = Date.parse(wallStart);
  }

  /** Timers armed and not fired. Assert it is 0 at the end of a test: that is the leak check. */
  get pending(): number {
    return this.#timers.size;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallNow(): Date {
    return new Date(this.#startedAt + this.#nowMs);
  }

  after(delayMs: number, task: () => void): () => void {
    const timer: Timer = { dueMs: this.#nowMs + Math.max(delayMs, 0), task };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Moves time by `ms`, firing due timers in order; a timer armed by a task fires too if due. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (let timer = this.#nextDue(untilMs); timer; timer = this.#nextDue(untilMs)) {
      this.#timers.delete(timer);
      this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
      timer.task();
    }
    this.#nowMs = untilMs;
  }

  #nextDue(untilMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs <= untilMs && (!first || timer.dueMs < first.dueMs)) first = timer;
    }
    return first;
  }
}
