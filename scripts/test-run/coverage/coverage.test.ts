import fc from "fast-check";
import { expect, it } from "vitest";
import { formatCoverage, hitsOf, makeCoverage, parseNumbers, printNumbers } from "./coverage.ts";

const COVERAGE = makeCoverage([
  { test: "b.test.ts", functions: { "src/one.ts": ["read", "write"], "src/two.ts": ["read"] } },
  { test: "a.test.ts", functions: { "src/one.ts": ["read", "read"] } },
  // A process that the same file has started.
  { test: "a.test.ts", functions: { "src/two.ts": ["toString"] } },
]);

it.each<[string, string, (string | undefined)[], Record<string, number>]>([
  ["both files for a function that both run", "src/one.ts", ["read"], { "a.test.ts": 1, "b.test.ts": 1 }],
  ["one file for a function that it alone runs", "src/one.ts", ["write"], { "b.test.ts": 1 }],
  ["the number of changed functions", "src/one.ts", ["read", "write"], { "a.test.ts": 1, "b.test.ts": 2 }],
  ["a file once for a line outside of each function", "src/one.ts", [undefined], { "a.test.ts": 1, "b.test.ts": 1 }],
  ["no file for a function that is new", "src/one.ts", ["added"], {}],
  ["no file for a source that is new", "src/three.ts", ["read", undefined], {}],
  ["no file for what only objects of JavaScript have", "src/one.ts", ["constructor"], {}],
  ["what a process has run", "src/two.ts", ["toString"], { "a.test.ts": 1 }],
])("finds %s", (_, source, names, hits) => {
  expect(Object.fromEntries(hitsOf(COVERAGE, new Map([[source, new Set(names)]])))).toEqual(hits);
});

it("is the same after it was written and read", () => {
  expect(JSON.parse(formatCoverage(COVERAGE))).toEqual(COVERAGE);
});

it("writes any set of numbers so that it is read the same", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(20), { maxLength: 12, size: "max" }), (numbers) => {
      expect(parseNumbers(printNumbers(numbers))).toEqual(numbers.toSorted((one, other) => one - other));
    }),
  );
  expect(printNumbers([7, 0, 1, 2, 5, 6])).toBe("0-2 5-7");
});
