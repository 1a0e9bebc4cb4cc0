import fc from "fast-check";
import { expect, test } from "vitest";
import { flag, integer, label, objectName, oneOf, parseParams, required, withDefault } from "./params.ts";

const spec = {
  namespace: required(label),
  name: objectName,
  kind: oneOf(["a", "b"]),
  limit: withDefault(integer(1, 9), 5),
  all: flag,
};

test("what is right passes, with defaults in place", () => {
  expect(parseParams(spec, { namespace: "shop" })).toEqual({ ok: true, params: { namespace: "shop", limit: 5 } });
  const full = { namespace: "shop", name: "a.b", kind: "b", limit: 9, all: false };
  expect(parseParams(spec, full)).toEqual({ ok: true, params: full });
});

test("every problem is told at once", () => {
  const parsed = parseParams(spec, { name: "A", kind: "c", limit: 10, all: "yes", extra: 1 });
  expect(parsed.ok ? [] : parsed.problems).toEqual([
    "extra is not a parameter of this operation",
    "namespace is required",
    "name must be the name of an object",
    "kind must be one of a, b",
    "limit must be a whole number from 1 to 9",
    "all must be true or false",
  ]);
});

test.each([
  ["a/b"],
  [".."],
  ["a..b/../c"],
  ["A"],
  [""],
  ["a\n"],
  ["-a"],
  ["a".repeat(254)],
  [5],
  [null],
  [["a"]],
  [{}],
])("%j is no name", (name) => {
  expect(parseParams(spec, { namespace: "shop", name }).ok).toBe(false);
});

test.each([[1.5], [0], [10], ["5"], [Number.NaN], [null]])("%j is no limit", (limit) => {
  expect(parseParams(spec, { namespace: "shop", limit }).ok).toBe(false);
});

test("names of JavaScript's own are not parameters, and nothing inherited is", () => {
  expect(parseParams(spec, JSON.parse('{"namespace":"shop","__proto__":{"limit":7}}')).ok).toBe(false);
  expect(parseParams(spec, Object.create({ namespace: "shop" })).ok).toBe(false);
  expect(parseParams(spec, { namespace: "shop", constructor: 1 }).ok).toBe(false);
});

test("no name that is accepted can leave its place in a path", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 8 }), (name) => {
      const parsed = parseParams(spec, { namespace: name });
      if (parsed.ok) expect(encodeURIComponent(name)).toBe(name);
    }),
  );
});
