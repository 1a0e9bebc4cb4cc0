import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxTier, planHash, sameParams, unsafeNumber } from "./plan.ts";

const plan = {
  requestId: "ar_0000000000000000000000000001",
  deploymentId: "dep_0000000000000000000000000001",
  risk: "mutating",
  commands: [
    { command: "kubernetes/restart-pod", params: { namespace: "shop", pod: "api-0" } },
    { command: "kubernetes/get-pods", params: {} },
  ],
};

describe("planHash", () => {
  test("gives the contract's test vector", () => {
    expect(planHash(plan)).toBe("sha256:bc335e3564f5c51ca26de671ef975568f3c3c3c4225848badfafdd4b176144e8");
  });

  test("absent params count as none", () => {
    const [first] = plan.commands;
    const absent = {
      ...plan,
      commands: [first, { command: "kubernetes/get-pods" }].filter((line) => line !== undefined),
    };
    expect(planHash(absent)).toBe(planHash(plan));
  });

  test("the order of keys does not matter, the order of lines does", () => {
    const [first, second] = plan.commands;
    if (!first || !second) throw new Error("the plan has two lines");
    const reordered = { command: first.command, params: { pod: "api-0", namespace: "shop" } };
    expect(planHash({ ...plan, commands: [reordered, second] })).toBe(planHash(plan));
    expect(planHash({ ...plan, commands: [second, first] })).not.toBe(planHash(plan));
  });

  test.each([
    ["requestId", { ...plan, requestId: "ar_0000000000000000000000000002" }],
    ["deploymentId", { ...plan, deploymentId: "dep_0000000000000000000000000002" }],
    ["risk", { ...plan, risk: "read-only" }],
    [
      "a param",
      { ...plan, commands: [{ command: "kubernetes/restart-pod", params: { namespace: "shop", pod: "api-1" } }] },
    ],
  ])("another %s is another plan", (_name, other) => {
    expect(planHash(other)).not.toBe(planHash(plan));
  });
});

test("params are the same value whatever the order of their keys, at every depth", () => {
  const params = fc.dictionary(fc.string(), fc.jsonValue());
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, entry]) => [key, shuffled(entry)]),
    );
  };
  fc.assert(
    fc.property(params, (value) => {
      expect(sameParams(value, shuffled(value) as Record<string, unknown>)).toBe(true);
      expect(sameParams(value, { ...value, "one more": 1 })).toBe(false);
    }),
  );
  expect(sameParams(undefined, {})).toBe(true);
});

test.each([
  [{ a: [1, { b: Number("9007199254740993") }] }, "params.a.1.b"],
  [{ a: 9_007_199_254_740_991, b: 0.1, c: -0, d: "9007199254740993" }, undefined],
  [{ huge: 1e300 }, "params.huge"],
  [JSON.parse('{"over": 1e999}'), "params.over"],
])("finds the number that JSON readers round: %j", (params, path) => {
  expect(unsafeNumber(params, "params")).toBe(path);
});

test("a plan's risk is its highest tier", () => {
  expect(maxTier(["read-only", "destructive", "mutating"])).toBe("destructive");
  expect(maxTier([])).toBe("read-only");
});
