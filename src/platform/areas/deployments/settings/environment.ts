import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { EnvironmentVariable, EnvironmentVariables } from "../../../../contract/deployments/deployment-state.ts";
import type { SealedVariables } from "../../../database/tables/deployments.ts";
import { invalid } from "../../../kernel/errors.ts";
import { open, seal } from "../../../kernel/sealed.ts";

/**
 * SHA-256 over RFC 8785 of the whole set, sorted by name. It includes secrets, so that a changed secret changes the
 * hash.
 */
function hashOf(variables: readonly EnvironmentVariable[]): string {
  return createHash("sha256")
    .update(canonicalize(variables) ?? "")
    .digest("hex");
}

export function sealVariables(
  variables: readonly EnvironmentVariable[],
  key: Uint8Array,
  createdAt: Date,
): SealedVariables {
  const sorted = [...variables].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    variables: sorted.map((each) => (each.type === "secret" ? { ...each, value: seal(key, each.value) } : each)),
    hash: hashOf(sorted),
    createdAt: createdAt.toISOString(),
  };
}

/** With secret values, for managers only. */
export function openVariables(sealed: SealedVariables, key: Uint8Array): EnvironmentVariables {
  const variables = sealed.variables.map((each) =>
    targeted(each.type === "secret" ? { ...each, value: open(key, each.value) } : each),
  );
  return { ...sealed, variables };
}

/** With empty secret values, for all other callers. */
export function redactVariables(sealed: SealedVariables): EnvironmentVariables {
  const variables = sealed.variables.map((each) => targeted(each.type === "secret" ? { ...each, value: "" } : each));
  return { ...sealed, variables };
}

/** Names that were added or removed, or whose value, type or target changed. */
export function changedNames(
  before: readonly EnvironmentVariable[],
  after: readonly EnvironmentVariable[],
): readonly string[] {
  const print = (all: readonly EnvironmentVariable[]): Map<string, string> =>
    new Map(all.map((each) => [each.name, JSON.stringify([each.type, each.value, each.targetResources ?? null])]));
  const [was, is] = [print(before), print(after)];
  const names = new Set([...was.keys(), ...is.keys()]);
  return [...names].filter((name) => was.get(name) !== is.get(name)).sort();
}

/** The form for answers: null means that the variable goes to all resources. */
export function targeted<V extends Pick<EnvironmentVariable, "targetResources">>(variable: V) {
  return { ...variable, targetResources: variable.targetResources ?? null };
}

export function refuseRepeats(variables: readonly EnvironmentVariable[], path: string): void {
  const seen = new Set<string>();
  const issues = variables.flatMap(({ name }, index) => {
    const again = seen.has(name);
    seen.add(name);
    return again ? [{ path: `${path}.${index}.name`, message: "is given twice" }] : [];
  });
  if (issues.length > 0) throw invalid(...issues);
}
