import type { Clock } from "../../base/clock.ts";

/** How many at once, and how many a second after that. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Lets through at most what its rate says. */
export class Budget {
  readonly #clock: Clock;
  readonly #rate: Rate;
  #left: number;
  #filledAt: number;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#left = rate.burst;
    this.#filledAt = clock.monotonicMs();
  }

  take(): boolean {
    const now = this.#clock.monotonicMs();
    const earned = ((now - this.#filledAt) / 1000) * this.#rate.perSecond;
    this.#left = Math.min(this.#rate.burst, this.#left + earned);
    this.#filledAt = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/** A map that forgets what was not used for longest, once it holds `max`. */
export class RecentMap<V> {
  readonly #max: number;
  readonly #entries = new Map<string, V>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#max && oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
