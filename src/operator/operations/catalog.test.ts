import { expect, test } from "vitest";
import { BUILTIN_PLUGINS } from "../../contract/operations/builtin-plugins.ts";
import { findOperation, tierOf } from "./catalog.ts";

test("every operation that the platform builds in has the same tier here, so that an honest plan is never understated", () => {
  const theirs = BUILTIN_PLUGINS.flatMap(({ name: plugin, operations }) =>
    operations.map(({ name, tier }) => [`${plugin}/${name}`, tier] as const),
  );
  expect(theirs.length).toBeGreaterThan(10);
  expect(theirs.map(([command]) => [command, tierOf(command)])).toEqual(theirs);
});

test("a debug mode has a tier and is no operation, and what nobody knows is the worst", () => {
  expect(findOperation("debug/exec")).toBeUndefined();
  expect(tierOf("debug/anything")).toBe("destructive");
});
