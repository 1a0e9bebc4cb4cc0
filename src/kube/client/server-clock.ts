import type { Clock } from "../../base/clock.ts";
import { httpDateMs } from "../../base/peer-numbers.ts";

/** The header has whole seconds: an answer that is behind the last one by less says nothing new. */
const RESOLUTION_MS = 2_000;

/**
 * A clock whose calendar is the API server's, by the `Date` of its answers: times that the server stamped are compared
 * with it. Its other readings are those of the clock beneath. Before the first answer it is the machine's calendar.
 */
export class ServerClock implements Clock {
  readonly #clock: Clock;
  /** The server's time less our monotonic one. */
  #offsetMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An answer has come: the server wrote it before now, within the second that it names. */
  heard(date: string | string[] | undefined): void {
    const serverMs = httpDateMs(typeof date === "string" ? date : undefined);
    if (serverMs === undefined) return;
    const offsetMs = serverMs - this.#clock.monotonicMs();
    // Each answer is late by its way and its cut-off fraction: the largest of those that agree is nearest.
    const isBehind = this.#offsetMs !== undefined && Math.abs(offsetMs - this.#offsetMs) < RESOLUTION_MS;
    this.#offsetMs = isBehind ? Math.max(offsetMs, this.#offsetMs ?? offsetMs) : offsetMs;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  wallNow(): Date {
    if (this.#offsetMs === undefined) return this.#clock.wallNow();
    return new Date(this.#offsetMs + this.#clock.monotonicMs());
  }

  after(delayMs: number, task: () => void): () => void {
    return this.#clock.after(delayMs, task);
  }
}
