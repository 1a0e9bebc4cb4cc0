import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import config from "../vitest.config.ts";

const ROOT = join(import.meta.dirname, "..");

/** Files that skip tests on every machine. What a machine cannot run is skipped by `skipIf`, and counted at the end of a run. */
const SKIP: readonly string[] = [
  // Cases that wait for a part of the product, each with what it waits for.
  "test/integration/access-grants/access-grants.test.ts",
];

/** Biome finds `it.only(` and `it.skip(`; these are the other forms, too. */
const LEFT_OUT =
  /\b(it|test|describe|suite)(\.\w+)*(\.|\[["'])(only|skip|todo|fails)\b|\bx(it|test|describe)\(|\b(only|skip|todo|fails): ?true\b/;

test("no test is left out by its source, and none leaves out the others", () => {
  const files = globSync("{src,test,lab,scripts,deploy,examples}/**/*.test.ts", { cwd: ROOT });
  const found = files.filter((file) => LEFT_OUT.test(readFileSync(join(ROOT, file), "utf8")));
  expect(found.filter((file) => file !== "scripts/left-out.test.ts")).toEqual(SKIP);
  // Of a file with one such test the others would not run, and the run would be green.
  expect(config.test?.allowOnly).toBe(false);
});

test.each([
  'it.only("a", run);',
  'describe.only("a", run);',
  'test.concurrent.only("a", run);',
  'it["only"]("a", run);',
  'it.skip.each([1])("a", run);',
  'it.todo("a");',
  'xit("a", run);',
  'it("a", { skip: true }, run);',
])("is left out: %s", (line) => {
  expect(line).toMatch(LEFT_OUT);
});

test.each(['it.skipIf(lacking)("a", run);', 'it.each([1])("skips: true", run);', "const only = true;", "exit(1);"])(
  "is none: %s",
  (line) => {
    expect(line).not.toMatch(LEFT_OUT);
  },
);
