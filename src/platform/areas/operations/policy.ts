import type { Decision, PolicyRule } from "../../../contract/operations/operations.ts";

/** What no rule speaks of waits for a person; not settable (§2.2). */
export const DEFAULT_DECISION = "manual" satisfies Decision;

/** The most exact pattern wins; the order of rules has no meaning. */
export function decide(rules: readonly PolicyRule[], plugin: string, operation: string): Decision {
  const patterns = [`${plugin}/${operation}`, `${plugin}/*`, "*"];
  const hits = patterns.flatMap((wanted) => rules.filter(({ pattern }) => pattern === wanted));
  return hits[0]?.decision ?? DEFAULT_DECISION;
}

/** Patterns that more than one rule names. */
export function duplicatePatterns(rules: readonly PolicyRule[]): readonly string[] {
  const patterns = rules.map(({ pattern }) => pattern);
  return [...new Set(patterns.filter((pattern, index) => patterns.indexOf(pattern) !== index))];
}
