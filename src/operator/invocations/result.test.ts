import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { boundedResult, MAX_RESULT_CHARS } from "./result.ts";

const plain = (text: string): string => text;

/** How the admission policy counts: `'%s'.format([result])`, with quoted strings and `%f` numbers. */
function printedChars(value: unknown): number {
  if (typeof value === "string") return JSON.stringify(value).length;
  if (typeof value === "number") return Number.isInteger(value) ? String(value).length : value.toFixed(6).length;
  if (Array.isArray(value)) return value.reduce((sum: number, entry) => sum + printedChars(entry) + 2, 2);
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).reduce(
      (sum, [key, entry]) => sum + JSON.stringify(key).length + printedChars(entry) + 4,
      2,
    );
  }
  return 5;
}

test("a small result passes as it is", () => {
  const result = { a: 1, b: "two", c: [{ d: true, e: null }], f: 1.5 };
  expect(boundedResult(result, plain)).toEqual(result);
});

test("undefined fields are left out, and other things than JSON are null", () => {
  expect(boundedResult({ a: undefined, b: Symbol("x"), c: () => 1 }, plain)).toEqual({ b: null, c: null });
});

test("a long list is cut from its end, and it is said", () => {
  const cut = boundedResult({ pods: Array.from({ length: 10_000 }, (_, index) => ({ name: `pod-${index}` })) }, plain);
  expect(cut.truncated).toBe(true);
  expect((cut.pods as unknown[]).length).toBeGreaterThan(1_000);
  expect(printedChars(cut)).toBeLessThanOrEqual(MAX_RESULT_CHARS);
});

test("every text goes through redaction, however deep", () => {
  const clean = boundedResult({ a: [{ b: { c: "password" } }] }, (text) => text.replace("password", "***"));
  expect(clean).toEqual({ a: [{ b: { c: "***" } }] });
});

test("whatever an operation returns, the API server can store it", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })),
      fc.integer({ min: 1, max: 400 }),
      (part, times) => {
        const grown = { ...part, copies: Array.from({ length: times }, () => part), log: '"\n\\'.repeat(times * 200) };
        const bounded = boundedResult(grown, plain);
        expect(printedChars(bounded)).toBeLessThanOrEqual(MAX_RESULT_CHARS);
        expect(Object.keys(bounded).length).toBeLessThanOrEqual(64);
        expect(JSON.parse(JSON.stringify(bounded))).toEqual(bounded);
      },
    ),
    { numRuns: runs(200) },
  );
});
