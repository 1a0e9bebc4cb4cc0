import type { Decision, PolicyRule } from "../../../contract/operations/operations.ts";

/** The decision where no rule matches: a person must approve. It cannot be configured (§2.2). */
export const DEFAULT_DECISION = "manual" satisfies Decision;

/** The most specific pattern decides; the order of the rules does not matter. */
export function decide(rules: readonly PolicyRule[], plugin: string, operation: string): Decision {
  const patterns = [`${plugin}/${operation}`, `${plugin}/*`, "*"];
  const hits = patterns.flatMap((wanted) => rules.filter(({ pattern }) => pattern === wanted));
  return hits[0]?.decision ?? DEFAULT_DECISION;
}

/** Patterns that occur in more than one rule. */
export function duplicatePatterns(rules: readonly PolicyRule[]): readonly string[] {
  const patterns = rules.map(({ pattern }) => pattern);
  return [...new Set(patterns.filter((pattern, index) => patterns.indexOf(pattern) !== index))];
}
