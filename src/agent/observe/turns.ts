import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";

/** Longest stretch of work before others get the event loop. */
const SLICE_MS = 10;

/**
 * Cuts long work into slices: it is asked after each piece and lets others run once the slice is used up. By time, not by
 * count: an object with a thousand pods costs as much as hundreds without. Without it a full report of a large cluster
 * would hold up leases, probes and watches for a second.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #sinceMs: number;

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    this.#sinceMs = clock.monotonicMs();
  }

  /** Undefined: the slice has room for more. @throws `signal.reason` on abort. */
  next(): Promise<void> | undefined {
    return this.#clock.monotonicMs() - this.#sinceMs < SLICE_MS ? undefined : this.#yield();
  }

  async #yield(): Promise<void> {
    await nextTurn();
    this.#signal.throwIfAborted();
    this.#sinceMs = this.#clock.monotonicMs();
  }
}
