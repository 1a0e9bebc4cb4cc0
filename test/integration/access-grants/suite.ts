import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Suite } from "./replay.ts";

export function readSuite(): Suite {
  return JSON.parse(readFileSync(join(import.meta.dirname, "cases.json"), "utf8")) as Suite;
}
