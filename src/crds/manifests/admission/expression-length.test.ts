import { expect, it } from "vitest";
import { DEFAULT_NAMES } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { installation, openDebugSessions, openMachines, openReleases } from "../installation.ts";
import { admissionPolicies } from "./admission.ts";

/**
 * CEL's type checker copies its table of type variables at each overload that it tries, and the table grows with each call: an
 * expression takes time by the square of its length. One of 16,600 characters took an API server a second of CPU, at each start and twice
 * when it was applied; one of 3,600 takes 0.04 s. A variable has a table of its own: move a part there, or give a name to what is
 * written out again and again, as `sameBut` does.
 */
const MAX_CHARACTERS = 4_000;

const PLUGIN = { plugin: "shop", name: "restart", tier: "mutating", rules: [] } as const;
const EVERYTHING: readonly Manifest[] = [
  ...Object.values(installation()).flat(),
  ...admissionPolicies({ ...DEFAULT_NAMES, plugins: [PLUGIN] }),
  ...openDebugSessions(),
  ...openReleases(DEFAULT_NAMES, { mayExpose: true, secrets: true }),
  ...openMachines(DEFAULT_NAMES, { allowForce: true, signServing: true }),
];

/** What is CEL in a policy and in a CRD. */
const KEYS = ["expression", "valueExpression", "messageExpression", "rule"];

function expressions(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) =>
    typeof below === "string" && KEYS.includes(key) ? [below] : expressions(below),
  );
}

it(`no expression is longer than ${MAX_CHARACTERS} characters, which the API server compiles at each start`, () => {
  const found = EVERYTHING.map((each) => ({ name: `${each.kind} ${each.metadata.name}`, all: expressions(each) }));
  const policies = found.filter(({ name }) => name.includes("AdmissionPolicy "));
  expect(policies.filter(({ all }) => all.length === 0)).toEqual([]);
  const long = found.filter(({ all }) => all.some(({ length }) => length > MAX_CHARACTERS));
  expect(long.map(({ name }) => name)).toEqual([]);
});
