import { isReadable } from "./readable.ts";

/** Deeper than params written by hand: the recursion below must end whatever a platform sends. */
const MAX_DEPTH = 16;
/** Bytes of one line's params as JSON (§2.4); an admission policy of the cluster has a bound of its own. */
const MAX_BYTES = 4_096;

/**
 * Why these params must not reach a cluster, as `path: what is wrong`; undefined when they may.
 *
 * What the API server stores must be what was hashed and what a person reads: integers that JSON readers round, text
 * that displays as something else, and half characters are refused, never repaired.
 */
export function paramsProblem(params: unknown, path = "params"): string | undefined {
  if (params === undefined) return undefined;
  if (typeof params !== "object" || params === null || Array.isArray(params)) return `${path}: not an object`;
  if (Object.keys(params).length > 32) return `${path}: more than 32 keys`;
  const problem = valueProblem(params, path, 0);
  if (problem !== undefined) return problem;
  return Buffer.byteLength(JSON.stringify(params)) > MAX_BYTES ? `${path}: more than ${MAX_BYTES} bytes` : undefined;
}

function valueProblem(value: unknown, path: string, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return `${path.slice(0, 200)}: nested more than ${MAX_DEPTH} deep`;
  if (typeof value === "number") return numberProblem(value, path);
  if (typeof value === "string") return isReadable(value) ? undefined : `${path}: a character that cannot be shown`;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, entry] of Object.entries(value)) {
    // The key itself may be what cannot be shown, so it is not quoted.
    if (!isReadable(key)) return `${path}: a key with a character that cannot be shown`;
    const problem = valueProblem(entry, `${path}.${key}`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** `JSON.parse` has rounded already: what is beyond 2^53 now was beyond it then. */
function numberProblem(value: number, path: string): string | undefined {
  if (!Number.isFinite(value)) return `${path}: a number out of range`;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? `${path}: an integer beyond 2^53 - 1` : undefined;
}
