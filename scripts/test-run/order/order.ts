import { readFileSync } from "node:fs";
import type { OrderedFile } from "./order-files.ts";

/** What a run of vitest is asked for: which files, in which order, and until when. */
export interface Order {
  readonly files: readonly OrderedFile[];
  /** In ms since 1970. A test that has begun by then runs to its end, the others do not begin. */
  readonly deadline?: number;
}

/** From the file that SALLYPORT_TEST_ORDER names; undefined for a run of all files, in any order. */
export function readOrder(): Order | undefined {
  const path = process.env.SALLYPORT_TEST_ORDER;
  return path === undefined ? undefined : JSON.parse(readFileSync(path, "utf8"));
}
