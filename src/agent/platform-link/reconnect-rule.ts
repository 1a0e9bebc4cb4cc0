import type { Clock, Random } from "../../base/clock.ts";
import { PEER_NUMBERS } from "../../base/peer-numbers.ts";

/** First ceiling of the random delay; doubled with each failure. */
const BASE_MS = 1_000;
/** Highest ceiling: the longest time until a platform that is back is found again. */
export const CAP_MS = 300_000;
/**
 * Default spread after the server ended a connection: all that were connected to the replica that restarts come at
 * once.
 */
export const CLOSED_SPREAD_MS = 30_000;
/** Longest `Retry-After` that is believed. */
export const RETRY_AFTER_CAP_MS = PEER_NUMBERS.platformRetryAfterMs.most;
/** A connection must last this long before failures are forgotten: one that flaps keeps backing off. */
export const STABLE_MS = 60_000;

/**
 * When to try the platform again: `random(0, min(cap, base·2^n))`, so that a thousand agents that lost it together do
 * not come back together.
 */
export class ReconnectRule {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #closedSpreadMs: number;
  #failures = 0;
  #connectedAtMs: number | undefined;

  constructor(clock: Clock, random: Random, closedSpreadMs = CLOSED_SPREAD_MS) {
    this.#clock = clock;
    this.#random = random;
    this.#closedSpreadMs = closedSpreadMs;
  }

  /** A call went well. Only the first one after a failure matters. */
  connected(): void {
    this.#connectedAtMs ??= this.#clock.monotonicMs();
  }

  /** Milliseconds to wait after a failed call. */
  failed(retryAfterMs = 0): number {
    this.#lost();
    const ceilingMs = Math.min(CAP_MS, BASE_MS * 2 ** this.#failures);
    // The cap rules long before this bound, which keeps the power from becoming Infinity in a year-long outage.
    this.#failures = Math.min(this.#failures + 1, 20);
    return Math.max(this.#random() * ceilingMs, Math.min(retryAfterMs, RETRY_AFTER_CAP_MS));
  }

  /** Milliseconds to wait after the server ended a connection that had worked. */
  closed(): number {
    this.#lost();
    return this.#random() * this.#closedSpreadMs;
  }

  #lost(): void {
    if (this.#connectedAtMs !== undefined && this.#clock.monotonicMs() - this.#connectedAtMs >= STABLE_MS)
      this.#failures = 0;
    this.#connectedAtMs = undefined;
  }
}
