import { type Clock, sleep } from "../../base/clock.ts";
import type { Format } from "./output.ts";

export interface Watcher {
  readonly clock: Clock;
  out(text: string): void;
  /** Standard output is a terminal: what is shown again stands in the same place. */
  readonly isTTY: boolean;
  /** Other than a table it is for a program, which wants no escapes of a terminal between its documents. */
  readonly format: Format;
}

/** Looks live, and makes 30 calls a minute; a key may make 600. */
const WATCH_EVERY_MS = 2_000;

/**
 * Prints what `read` answers each time it changes, until the signal: on a terminal in place, else one below the other.
 */
export async function watch(
  read: () => Promise<string>,
  { out, clock, isTTY, format }: Watcher,
  signal: AbortSignal,
): Promise<never> {
  const isInPlace = isTTY && format === "table";
  let before: string | undefined;
  for (;;) {
    const now = await read();
    if (now !== before) out(isInPlace ? `\u001b[H\u001b[2J${now}` : now);
    before = now;
    await sleep(clock, WATCH_EVERY_MS, signal);
  }
}
