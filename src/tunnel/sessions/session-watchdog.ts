import type { Clock } from "../../base/clock.ts";
import type { CloseReason } from "../../contract/debug-sessions/debug-sessions.ts";

export interface WatchdogOptions {
  readonly clock: Clock;
  readonly leftMs: number;
  readonly idleMs: number;
  /** Monotonic. */
  readonly lastClientByteMs: () => number;
  /** When the API server was last heard, monotonic; undefined: its silence ends no session. */
  readonly heardMs: (() => number | undefined) | undefined;
  readonly onEnd: (reason: CloseReason) => void;
}

/** A customer's word that is older than this may have been missed. */
const STALE_MS = 30_000;
const LOOK_MS = 1_000;

/** Ends a session by the clock. All times are monotonic: a wall clock that is set does not lengthen it. */
export class SessionWatchdog {
  readonly #options: WatchdogOptions;
  #untilMs: number;
  #cancel: () => void;

  constructor(options: WatchdogOptions) {
    const { clock, leftMs } = options;
    this.#options = options;
    // No time at all is an end at once: with NaN the session would never end.
    this.#untilMs = clock.monotonicMs() + (Number.isNaN(leftMs) ? 0 : leftMs);
    this.#cancel = clock.after(LOOK_MS, this.#look);
  }

  get leftMs(): number {
    return Math.max(0, this.#untilMs - this.#options.clock.monotonicMs());
  }

  /** Only ever sooner. */
  shorten(leftMs: number): void {
    if (Number.isNaN(leftMs)) return;
    this.#untilMs = Math.min(this.#untilMs, this.#options.clock.monotonicMs() + leftMs);
  }

  stop(): void {
    this.#cancel();
  }

  readonly #look = (): void => {
    const reason = this.#reason();
    if (reason === undefined) this.#cancel = this.#options.clock.after(LOOK_MS, this.#look);
    else this.#options.onEnd(reason);
  };

  #reason(): CloseReason | undefined {
    const { clock, idleMs, lastClientByteMs, heardMs } = this.#options;
    const nowMs = clock.monotonicMs();
    // Written so that an end which cannot be read has come.
    if (!(nowMs < this.#untilMs)) return "expired";
    if (nowMs - lastClientByteMs() >= idleMs) return "idle";
    if (heardMs !== undefined && nowMs - (heardMs() ?? Number.NEGATIVE_INFINITY) >= STALE_MS) return "policy-stale";
    return undefined;
  }
}
