import { createHash } from "node:crypto";

/** The same with the keys of every map in one order, so that equal values have equal bytes. The depth is bounded by `dataProblems`. */
export function inOrder<T>(value: T): T {
  if (Array.isArray(value)) return value.map(inOrder) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  // `fromEntries`, and not assignment: that would take a key `__proto__` for another thing.
  return Object.fromEntries(entries.sort(byKey).map(([key, entry]) => [key, inOrder(entry)])) as T;
}

export function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : Number(one > other);
}

/** SHA-256 in hex over JSON whose keys are in order. */
export function hashOf(value: object): string {
  return createHash("sha256")
    .update(JSON.stringify(inOrder(value)))
    .digest("hex");
}
