import fc from "fast-check";
import { expect, it, test } from "vitest";
import { fieldDifferences } from "./field-differences.ts";

const CANARY = "canary-of-a-secret";

it.each<[string, unknown, unknown, readonly object[]]>([
  ["nothing", { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
  ["a field", { a: { b: 1 } }, { a: { b: 2 } }, [{ path: "a.b", before: 1, after: 2 }]],
  [
    "what came and went",
    { a: 1 },
    { b: { c: 1 } },
    [
      { path: "a", before: 1 },
      { path: "b", after: { c: 1 } },
    ],
  ],
  ["a key with a dot", { "a.b/c": 1 }, { "a.b/c": 2 }, [{ path: '["a.b/c"]', before: 1, after: 2 }]],
  [
    "an entry with a name, wherever it is",
    { c: [{ name: "a", v: 1 }, { name: "b" }] },
    { c: [{ name: "b" }, { name: "a", v: 2 }] },
    [{ path: "c[a].v", before: 1, after: 2 }],
  ],
  [
    "an entry without one",
    [1, 2],
    [1, 3, 4],
    [
      { path: "[1]", before: 2, after: 3 },
      { path: "[2]", after: 4 },
    ],
  ],
  ["two of one name", [{ name: "a" }, { name: "a" }], [{ name: "a" }], [{ path: "[1]", before: { name: "a" } }]],
  [
    "a secret value, by name alone",
    [{ name: "KEY", type: "secret", value: CANARY }],
    [{ name: "KEY", type: "secret", value: "other" }],
    [{ path: "[KEY].value", before: "(secret)", after: "(secret)" }],
  ],
  [
    "a secret that came, with its default",
    {},
    { inputs: [{ kind: "secret", default: { value: CANARY } }] },
    [{ path: "inputs", after: [{ kind: "secret", default: "(secret)" }] }],
  ],
  [
    "a value that was plain and is secret",
    { type: "plain", value: "old" },
    { type: "secret", value: CANARY },
    [
      { path: "type", before: "plain", after: "secret" },
      { path: "value", before: "(secret)", after: "(secret)" },
    ],
  ],
])("tells %s", (_, before, after, told) => {
  const found = fieldDifferences(before, after);
  expect(found).toEqual(told);
  expect(JSON.stringify(found)).not.toContain(CANARY);
});

it("ends where a platform nests without an end, also in what is secret", () => {
  for (const wrap of [(inner: unknown) => [inner], (inner: unknown) => ({ type: "secret", value: inner })]) {
    const deep = (leaf: unknown) => Array.from({ length: 20_000 }).reduce<unknown>(wrap, leaf);
    expect(fieldDifferences(deep(1), deep(2))).toHaveLength(1);
    expect(fieldDifferences(1, deep(2))).toHaveLength(1);
  }
});

test("property: there is a difference exactly between values that are not equal", () => {
  const json = fc.jsonValue({ maxDepth: 4 }).map((value): unknown => JSON.parse(JSON.stringify(value)));
  fc.assert(
    fc.property(json, json, (one, other) => {
      expect(fieldDifferences(one, one)).toEqual([]);
      expect(fieldDifferences(one, other).length === 0).toBe(isEqual(one, other));
    }),
  );
});

/** In any order of keys. */
function isEqual(one: unknown, other: unknown): boolean {
  try {
    expect(one).toEqual(other);
    return true;
  } catch {
    return false;
  }
}
