import { readFileSync } from "node:fs";

/** Of USER_HZ, which is 100 on every Linux of today. */
const TICK_MS = 10;

export interface ProcessUsage {
  readonly cpuMs: number;
  readonly rssKib: number;
  /** The highest so far. */
  readonly peakKib: number;
}

/** @throws when the process has ended. */
export function usageOf(pid: number | undefined): ProcessUsage {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kib = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN);
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // After the name, which is in brackets and may have spaces: the state, and utime and stime as the 12th and 13th from it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS, rssKib: kib("VmRSS"), peakKib: kib("VmHWM") };
}
