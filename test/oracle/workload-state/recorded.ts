import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Seen } from "./record/world.ts";

/** One line of `recorded.jsonl`. */
export interface Recorded {
  /** When it was seen, by `<scene>/<step>`; the step `~` is a state on the way. */
  readonly at: Readonly<Record<string, string>>;
  readonly object: Seen;
}

/** What `record` wrote. */
export function readRecorded(): readonly Recorded[] {
  const text = readFileSync(join(import.meta.dirname, "recorded.jsonl"), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Recorded);
}
