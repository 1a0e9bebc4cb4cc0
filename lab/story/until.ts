import { type Clock, sleep } from "../../src/base/clock.ts";
import { StepFailed } from "./narrator.ts";

export interface Waiting {
  /** Completes "there was no …" in the error when the time is over. */
  readonly what: string;
  /** @default 30_000; Infinity when a person decides */
  readonly timeoutMs?: number;
  /** @default 100 */
  readonly everyMs?: number;
}

/** Repeats the question until the answer is not undefined. @throws StepFailed when the time is over. */
export async function until<T>(
  clock: Clock,
  { what, timeoutMs = 30_000, everyMs = 100 }: Waiting,
  probe: () => Promise<T | undefined>,
  signal: AbortSignal,
): Promise<T> {
  const deadline = clock.monotonicMs() + timeoutMs;
  for (;;) {
    signal.throwIfAborted();
    const found = await probe();
    if (found !== undefined) return found;
    if (clock.monotonicMs() >= deadline)
      throw new StepFailed(`There was no ${what} after ${Math.round(timeoutMs / 1000)} s.`);
    await sleep(clock, everyMs, signal);
  }
}

/** @throws StepFailed with both values when they differ. Every check of the story goes through it. */
export function verify(what: string, found: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new StepFailed(`Expected ${what} to be ${b}, found ${a}.`);
}
