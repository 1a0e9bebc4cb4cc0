import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DECISIONS, type PolicyRule } from "../../../contract/operations/operations.ts";
import { decide, duplicatePatterns } from "./policy.ts";

const rule = (pattern: string, decision: PolicyRule["decision"]): PolicyRule => ({ pattern, decision });

describe("policy", () => {
  it.each<[string, readonly PolicyRule[], string]>([
    ["no rules", [], "manual"],
    ["everything", [rule("*", "auto")], "auto"],
    ["the plugin over everything", [rule("*", "auto"), rule("kubernetes/*", "manual")], "manual"],
    ["the operation over the plugin", [rule("kubernetes/scale", "auto"), rule("kubernetes/*", "manual")], "auto"],
    ["another operation", [rule("kubernetes/logs", "auto")], "manual"],
    ["another plugin", [rule("shop/*", "auto")], "manual"],
    ["a plugin whose name begins alike", [rule("kube/*", "auto"), rule("kubernetes-x/*", "auto")], "manual"],
  ])("%s", (_, rules, expected) => {
    expect(decide(rules, "kubernetes", "scale")).toBe(expected);
  });

  it("the order of rules has no meaning", () => {
    const rules = fc.uniqueArray(
      fc.record({
        pattern: fc.constantFrom("*", "kubernetes/*", "kubernetes/scale", "shop/*", "shop/scale"),
        decision: fc.constantFrom(...DECISIONS),
      }),
      { selector: ({ pattern }) => pattern },
    );
    fc.assert(
      fc.property(rules, (all) => {
        expect(duplicatePatterns(all)).toEqual([]);
        expect(decide(all.toReversed(), "kubernetes", "scale")).toBe(decide(all, "kubernetes", "scale"));
      }),
    );
  });

  it("names each duplicate once", () => {
    expect(duplicatePatterns([rule("*", "auto"), rule("a/*", "auto"), rule("*", "auto"), rule("*", "manual")])).toEqual(
      ["*"],
    );
  });
});
