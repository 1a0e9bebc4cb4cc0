import { createHash } from "node:crypto";
import { isReadable } from "../../platform-link/readable.ts";

/** Deeper than any manifest: the recursions over it must end, also over what a hostile platform sends. */
const MAX_DEPTH = 64;
const MAX_PATH = 256;

interface Misfit {
  readonly path: string;
  readonly message: string;
}

/**
 * Why this value would not come back from the API server as it was digested, or would look different to a person than
 * it is; undefined when it is neither. Ends of lines of Windows pass: files in ConfigMaps have them.
 */
export function plainJsonProblem(value: unknown, path: string, depth = 0): Misfit | undefined {
  const misfit = (message: string): Misfit => ({ path: path.slice(0, MAX_PATH), message });
  if (depth > MAX_DEPTH) return misfit(`is nested more than ${MAX_DEPTH} deep`);
  if (typeof value === "string") return isShown(value) ? undefined : misfit("has a character that cannot be shown");
  if (typeof value === "number") return isExact(value) ? undefined : misfit("is a number that JSON readers round");
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, entry] of Object.entries(value)) {
    // The key itself may be what cannot be shown, so it is not quoted.
    if (!isShown(key)) return misfit("has a key with a character that cannot be shown");
    const problem = plainJsonProblem(entry, `${path}.${key}`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isShown(text: string): boolean {
  return isReadable(text.includes("\r") ? text.replaceAll("\r\n", "\n") : text);
}

/** `JSON.parse` has rounded already: what is beyond 2^53 now was beyond it then. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

/** The same with the keys of every map in one order, so that equal values have equal bytes. The depth is bounded above. */
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
