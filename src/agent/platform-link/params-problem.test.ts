import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { paramsProblem } from "./params-problem.ts";

const deep = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);

describe("params are refused", () => {
  test.each([
    ["that are no object", JSON.parse("[1]"), "params: not an object"],
    [
      "with an integer that JSON readers round",
      JSON.parse('{"a":{"b":[9007199254740993]}}'),
      "params.a.b.0: an integer beyond 2^53 - 1",
    ],
    ["with a negative one", JSON.parse('{"a":-9007199254740993}'), "params.a: an integer beyond 2^53 - 1"],
    ["with a number out of range", JSON.parse('{"a":1e999}'), "params.a: a number out of range"],
    ["with a control character", { a: "x\u0007" }, "params.a: a character that cannot be shown"],
    ["with a bidirectional override", { a: ["\u202egnp"] }, "params.a.0: a character that cannot be shown"],
    ["with half a character", JSON.parse('{"a":"\\ud800"}'), "params.a: a character that cannot be shown"],
    ["with such a key", { "a\u200b": 1 }, "params: a key with a character that cannot be shown"],
    [
      "with too many keys",
      Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`k${n}`, n])),
      "params: more than 32 keys",
    ],
    ["nested too deep", deep(10_000), /nested more than 16 deep/],
    ["too large", { a: "x".repeat(4_096) }, "params: more than 4096 bytes"],
  ])("%s", (_, params, problem) => {
    expect(paramsProblem(params)).toMatch(problem);
  });
});

test("ordinary params pass: line breaks, tabs, nulls, fractions, the largest safe integer", () => {
  expect(
    paramsProblem({ a: "one\n\ttwo", b: null, c: 0.5, d: Number.MAX_SAFE_INTEGER, e: [true, { f: "für" }] }),
  ).toBeUndefined();
  expect(paramsProblem(undefined)).toBeUndefined();
});

test("whatever JSON comes, the answer is words or nothing, and never a throw", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(["string", "undefined"]).toContain(typeof paramsProblem(value));
    }),
  );
});
