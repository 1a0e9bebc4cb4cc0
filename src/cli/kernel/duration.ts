import { durationMs } from "../../base/settings.ts";
import { UsageError } from "./command.ts";

/** The milliseconds of a flag such as `--timeout 15m`; never 0. @throws UsageError naming the flag. */
export function parsedDuration(flag: string, text: string): number {
  const ms = durationMs(text);
  if (ms === undefined || ms === 0) throw new UsageError(`${flag} is a time such as 15m, 12h or 30d`);
  return ms;
}
