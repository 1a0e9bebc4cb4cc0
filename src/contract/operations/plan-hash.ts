import { createHash } from "node:crypto";
import canonicalize from "canonicalize";

/** Exactly what the approver sees and the operator runs. */
export interface Plan {
  readonly requestId: string;
  readonly deploymentId: string;
  /** The highest tier among the commands when the request was made. */
  readonly risk: string;
  readonly commands: readonly { readonly command: string; readonly params?: Readonly<Record<string, unknown>> }[];
}

/**
 * The JSON text of RFC 8785: every program writes the same text for the same value.
 *
 * @throws Error on what JSON cannot carry unharmed: a lone surrogate, NaN, infinity, `undefined` at the top.
 */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("not a JSON value");
  return text;
}

/**
 * `sha256:` and 64 hex digits over plan hash version 1 (§2.4). Params left out count as `{}`. The operator
 * has its own copy of this rule (src/crds/plan.ts) on purpose: it must not believe the platform's.
 */
export function planHash({ requestId, deploymentId, risk, commands }: Plan): string {
  const lines = commands.map(({ command, params = {} }) => ({ command, params }));
  const text = canonicalJson({ version: 1, requestId, deploymentId, risk, commands: lines });
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
