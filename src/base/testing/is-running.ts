import { readFileSync } from "node:fs";

/** Whether a process runs. One that has ended and is not yet reaped does not, although `kill` still finds it. */
export function isRunning(pid: number): boolean {
  // Zero, an empty file's number, is to `kill` the caller's own group.
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before the state stands in brackets and may have any characters.
    return stat.charAt(stat.lastIndexOf(")") + 2) !== "Z";
  } catch {
    return false; // It has ended since.
  }
}
