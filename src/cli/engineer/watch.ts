import { sleep } from "../../base/clock.ts";
import type { Surroundings } from "./calling.ts";

/** Fast enough to feel live, and 30 calls a minute, of 600 that a key has. */
export const WATCH_EVERY_MS = 2_000;

/** Shows what `read` answers whenever it differs, until the signal: on a terminal in place, else one after the other. */
export async function watch(
  read: () => Promise<string>,
  { out, clock, isTTY }: Pick<Surroundings, "out" | "clock" | "isTTY">,
  signal: AbortSignal,
): Promise<never> {
  let before: string | undefined;
  for (;;) {
    const now = await read();
    if (now !== before) out(isTTY ? `\u001b[H\u001b[2J${now}` : now);
    before = now;
    await sleep(clock, WATCH_EVERY_MS, signal);
  }
}
