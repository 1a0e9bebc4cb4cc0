import type { Clock } from "../../base/clock.ts";

/** What kubectl asks for at its start, and several of them at once, is far below. */
const A_SECOND = 50;
const AT_ONCE = 500;

/** How many requests one session may make: each is a record, which takes room and time of the disk that all share. */
export class RequestBudget {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #left = AT_ONCE;
  #atMs: number;
  #refused = 0;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.#atMs = clock.monotonicMs();
  }

  /** Undefined: it may go on. Otherwise whole seconds until it is worth another try. */
  take(): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    this.#left = Math.min(AT_ONCE, this.#left + ((nowMs - this.#atMs) * A_SECOND) / 1_000);
    this.#atMs = nowMs;
    if (this.#left >= 1) {
      this.#left -= 1;
      return undefined;
    }
    this.#refused += 1;
    return Math.ceil((1 - this.#left) / A_SECOND);
  }

  /** How many were refused since this was asked last: one record stands for all of them. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }
}
