import { expect, test } from "vitest";
import { BUILTIN_PLUGINS } from "../../contract/operations/builtin-plugins.ts";
import { isRelease } from "../released/releases.ts";
import { BUILT_IN, OPERATIONS } from "./catalog.ts";
import { DEBUG_OPERATIONS } from "./debug.ts";
import { MACHINE_OPERATIONS } from "./machines.ts";

const THEIRS = BUILTIN_PLUGINS.flatMap(({ name: plugin, operations }) =>
  operations.map((operation) => ({ ...operation, plugin, command: `${plugin}/${operation.name}` })),
);

test("every operation and debug mode that the platform builds in has the same tier here, so that an honest plan is never understated", () => {
  expect(THEIRS.length).toBeGreaterThan(OPERATIONS.length);
  expect(THEIRS.map(({ command }) => [command, BUILT_IN.tierOf(command)])).toEqual(
    THEIRS.map((each) => [each.command, each.tier]),
  );
});

test("the platform builds in exactly the operations that are declared here, each of the same scope", () => {
  const theirs = THEIRS.filter(({ plugin }) => plugin !== "debug" && plugin !== "machines");
  expect(theirs.map(({ command, scope = "namespaced" }) => ({ command, scope }))).toEqual(
    OPERATIONS.map(({ command, scope }) => ({ command, scope })),
  );
});

test("the platform builds in exactly the debug modes that are declared here", () => {
  const theirs = THEIRS.filter(({ plugin }) => plugin === "debug");
  expect(theirs.map(({ command }) => command).sort()).toEqual(DEBUG_OPERATIONS.map(({ command }) => command).sort());
});

test("the platform builds in exactly the lines for machines that are declared here", () => {
  const theirs = THEIRS.filter(({ plugin }) => plugin === "machines");
  expect(theirs.map(({ command, tier, scope }) => ({ command, tier, scope }))).toEqual(
    MACHINE_OPERATIONS.map(({ command, tier }) => ({ command, tier, scope: "cluster" })),
  );
});

test("no operation and no plugin of the platform is named as an act of a release", () => {
  expect([...OPERATIONS, ...THEIRS].filter(({ command }) => isRelease(command))).toEqual([]);
});

test("an unknown command counts as the worst", () => {
  expect(["debug/anything", "machines/anything", "kubernetes/exec", "toString"].map(BUILT_IN.tierOf)).toEqual([
    "destructive",
    "destructive",
    "destructive",
    "destructive",
  ]);
});

test("a namespaced operation names its namespace in a param that must be there, and one of cluster scope names none", () => {
  for (const { command, scope, params } of OPERATIONS) {
    expect(Boolean(params.namespace?.required), command).toBe(scope === "namespaced");
  }
});
