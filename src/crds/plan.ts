import { canonicalDigest, canonicalJson } from "./canonical-digest.ts";

/** How much an operation can do, least first. */
export const TIERS = ["read-only", "mutating", "destructive"] as const;
export type Tier = (typeof TIERS)[number];

/** The highest tier of a plan's lines is the plan's risk. */
export function maxTier(tiers: readonly Tier[]): Tier {
  return TIERS[Math.max(0, ...tiers.map((tier) => TIERS.indexOf(tier)))] ?? "destructive";
}

export interface PlanLine {
  /** `plugin/operation`. */
  readonly command: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

export interface Plan {
  readonly requestId: string;
  readonly deploymentId: string;
  readonly risk: string;
  readonly commands: readonly PlanLine[];
}

export const PLAN_HASH_VERSION = "v1";

/**
 * What an approver approves, in 64 hex digits: `sha256:` over the RFC 8785 form of the plan. Absent params count as
 * `{}`.
 *
 * The platform has its own copy of these lines on purpose: both follow a written contract and its test vector and share
 * no code, so that neither has to trust the other.
 */
export function planHash({ requestId, deploymentId, risk, commands }: Plan): string {
  const lines = commands.map(({ command, params = {} }) => ({ command, params }));
  return canonicalDigest({ version: 1, requestId, deploymentId, risk, commands: lines });
}

/** Whether two params are the same value, whatever the order of their keys; absent counts as `{}`. */
export function sameParams(a: PlanLine["params"], b: PlanLine["params"]): boolean {
  return canonicalJson(a ?? {}) === canonicalJson(b ?? {});
}

/**
 * Where `value` holds a number that JSON readers disagree on (beyond 2^53 - 1, or `1e999`), as a path such as
 * `params.a.0`. The API server stores such a number as it is, and other readers round it, so hashes would differ.
 */
export function unsafeNumber(value: unknown, path: string): string | undefined {
  if (typeof value === "number") {
    const isExact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
    return isExact ? undefined : path;
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, entry] of Object.entries(value)) {
    const found = unsafeNumber(entry, `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
