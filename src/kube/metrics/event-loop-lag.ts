import type { Clock } from "../../base/clock.ts";

const BEAT_MS = 1000;
/** Above this the process is not alive in any useful sense: leases run out, watches die. */
const MAX_LAG_MS = 10_000;

/**
 * How late timers fire. A probe that is answered after a stall sees the stall: until the next beat, the lag is that of
 * the last one. One long stall fails one probe and is over; a loop that is always late fails each.
 */
export class EventLoopLag {
  readonly #clock: Clock;
  readonly #maxLagMs: number;
  #dueMs: number | undefined;
  #lastLagMs = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, maxLagMs = MAX_LAG_MS) {
    this.#clock = clock;
    this.#maxLagMs = maxLagMs;
  }

  start(): void {
    this.#dueMs = this.#clock.monotonicMs() + BEAT_MS;
    this.#cancel = this.#clock.after(BEAT_MS, () => {
      this.#lastLagMs = this.lagMs;
      this.start();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#dueMs = undefined;
    this.#lastLagMs = 0;
  }

  /** Of the beat that is due, when it is late. */
  get lagMs(): number {
    return this.#dueMs === undefined ? 0 : Math.max(0, this.#clock.monotonicMs() - this.#dueMs);
  }

  check(): string | undefined {
    const lagMs = Math.max(this.lagMs, this.#lastLagMs);
    return lagMs > this.#maxLagMs ? `event loop late by ${Math.round(lagMs)} ms` : undefined;
  }
}
