import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { canonicalJson, type Plan, planHash } from "./plan-hash.ts";

const vector: Plan = {
  requestId: "ar_0000000000000000000000000001",
  deploymentId: "dep_0000000000000000000000000001",
  risk: "mutating",
  commands: [
    { command: "kubernetes/restart-pod", params: { namespace: "shop", pod: "api-0" } },
    { command: "kubernetes/get-pods" },
  ],
};

describe("plan hash", () => {
  it("gives the published test vector", () => {
    expect(planHash(vector)).toBe("sha256:bc335e3564f5c51ca26de671ef975568f3c3c3c4225848badfafdd4b176144e8");
  });

  it("counts absent params as empty ones", () => {
    const spelledOut = { ...vector, commands: [vector.commands[0], { command: "kubernetes/get-pods", params: {} }] };
    expect(planHash(spelledOut as Plan)).toBe(planHash(vector));
  });

  it("looks at nothing but the plan", () => {
    const decorated = { ...vector, title: "x", commands: vector.commands.map((line) => ({ ...line, summary: "y" })) };
    expect(planHash(decorated)).toBe(planHash(vector));
  });

  it.each<[string, Partial<Plan>]>([
    ["request", { requestId: "ar_0000000000000000000000000002" }],
    ["deployment", { deploymentId: "dep_0000000000000000000000000002" }],
    ["risk", { risk: "destructive" }],
    ["order of commands", { commands: vector.commands.toReversed() }],
    ["number of commands", { commands: vector.commands.slice(0, 1) }],
  ])("changes with the %s", (_, change) => {
    expect(planHash({ ...vector, ...change })).not.toBe(planHash(vector));
  });
});

describe("canonical JSON", () => {
  it("is the same text after a round trip and in any key order", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
        expect(canonicalJson(reversedKeys(value))).toBe(text);
      }),
      { numRuns: runs(500) },
    );
  });

  it("sorts by UTF-16 code units, as RFC 8785 wants it", () => {
    expect(canonicalJson({ "\u{1F600}": 1, "\uFB33": 2, "1": 3, a: 4 })).toBe('{"1":3,"a":4,"\u{1F600}":1,"\uFB33":2}');
  });

  it.each([
    ["a lone surrogate", "\ud800"],
    ["NaN", Number.NaN],
    ["nothing", undefined],
  ])("refuses %s", (_, value) => {
    expect(() => canonicalJson(value)).toThrow();
  });

  it("does not fall over deep nesting", () => {
    const depth = 200_000;
    expect(canonicalJson(JSON.parse("[".repeat(depth) + "]".repeat(depth)))).toHaveLength(2 * depth);
  });
});

function reversedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversedKeys);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversedKeys(inner)]),
  );
}
