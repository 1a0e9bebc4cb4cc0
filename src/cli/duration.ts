import { UsageError } from "./command.ts";

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `15m`, `12h`, `30d` in milliseconds. @throws UsageError naming the flag. */
export function parsedDuration(flag: string, text: string): number {
  const [, amount = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  if (unitMs === undefined || Number(amount) === 0) throw new UsageError(`${flag} is a time such as 15m, 12h or 30d`);
  return Number(amount) * unitMs;
}
