import { type Clock, sleep } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";

export interface RepeatedLookOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Between two looks: how late a change is noticed. A function is asked after each look. */
  readonly everyMs: number | (() => number);
  /** After a look that failed; default `everyMs`. */
  readonly retryMs?: number;
  /** Logged when a look fails, once until one succeeds. */
  readonly failed: string;
}

/** Polls until `signal` aborts what cannot be watched. A look that fails ends nothing. */
export async function lookRepeatedly(
  look: (signal: AbortSignal) => Promise<void>,
  { clock, log, everyMs, retryMs, failed }: RepeatedLookOptions,
  signal: AbortSignal,
): Promise<void> {
  const pauseMs = (): number => (typeof everyMs === "number" ? everyMs : everyMs());
  let failing = false;
  while (!signal.aborted) {
    try {
      await look(signal);
      failing = false;
    } catch (error) {
      if (signal.aborted) return;
      log[failing ? "debug" : "warn"]({ err: error }, failed);
      failing = true;
    }
    await sleep(clock, failing ? (retryMs ?? pauseMs()) : pauseMs(), signal).catch(() => undefined);
  }
}
