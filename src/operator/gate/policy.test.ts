import fc from "fast-check";
import { expect, test } from "vitest";
import { type OperationPolicySpec, POLICY_DECISIONS } from "../../crds/kinds/operation-policy.ts";
import { TIERS } from "../../crds/plan.ts";
import { decisionFor, decisionOn, mergePolicies } from "./policy.ts";

const policies = (...specs: OperationPolicySpec[]) => mergePolicies(specs.map((spec) => ({ spec })));
const scale = (spec: OperationPolicySpec): string => decisionFor(policies(spec), "kubernetes/scale", "mutating");

test.each([
  ["nothing said, read-only", {}, "read-only", "manual"],
  ["nothing said, mutating", {}, "mutating", "manual"],
  ["nothing said, destructive", {}, "destructive", "manual"],
  ["a tier's default", { defaults: { mutating: "auto" } }, "mutating", "auto"],
  ["another tier's default", { defaults: { "read-only": "deny" } }, "mutating", "manual"],
  ["everything", { rules: [{ pattern: "*", decision: "deny" }] }, "read-only", "deny"],
] as const)("%s: %s", (_, spec, tier, decision) => {
  expect(decisionFor(policies(spec), "kubernetes/scale", tier)).toBe(decision);
});

test("without any policy nothing runs by itself, not even what reads", () => {
  expect(TIERS.map((tier) => decisionFor(policies(), "kubernetes/x", tier))).toEqual(["manual", "manual", "manual"]);
});

test("the most exact pattern decides, in whatever order they are written", () => {
  const all = { pattern: "*", decision: "deny" } as const;
  const plugin = { pattern: "kubernetes/*", decision: "manual" } as const;
  const exact = { pattern: "kubernetes/scale", decision: "auto" } as const;
  expect(scale({ rules: [all, plugin, exact] })).toBe("auto");
  expect(scale({ rules: [exact, plugin, all] })).toBe("auto");
  expect(scale({ rules: [all, plugin] })).toBe("manual");
  expect(scale({ rules: [all, { pattern: "other/scale", decision: "auto" }] })).toBe("deny");
});

test.each([
  ["nothing said", {}, "debug/logs", "read-only", "manual"],
  ["the default of its tier says auto", { defaults: { "read-only": "auto" } }, "debug/logs", "read-only", "manual"],
  ["everything is auto", { rules: [{ pattern: "*", decision: "auto" }] }, "debug/read", "read-only", "manual"],
  ["all of debug is auto", { rules: [{ pattern: "debug/*", decision: "auto" }] }, "debug/read", "read-only", "manual"],
  ["named", { rules: [{ pattern: "debug/read", decision: "auto" }] }, "debug/read", "read-only", "auto"],
  ["exec named", { rules: [{ pattern: "debug/exec", decision: "auto" }] }, "debug/exec", "destructive", "manual"],
  ["an unknown mode named", { rules: [{ pattern: "debug/x", decision: "auto" }] }, "debug/x", "destructive", "manual"],
  ["the tier is denied", { defaults: { destructive: "deny" } }, "debug/exec", "destructive", "deny"],
  ["all of debug is denied", { rules: [{ pattern: "debug/*", decision: "deny" }] }, "debug/logs", "read-only", "deny"],
] as const)("debug sessions, %s: %#", (_, spec, command, tier, decision) => {
  expect(decisionFor(policies(spec), command, tier)).toBe(decision);
});

const AUTO: OperationPolicySpec = { rules: [{ pattern: "*", decision: "auto" }] };
const DENY: OperationPolicySpec = { rules: [{ pattern: "kubernetes/*", decision: "deny" }] };

const Spec = fc.record(
  {
    rules: fc.array(
      fc.record({
        pattern: fc.constantFrom("*", "kubernetes/*", "kubernetes/scale", "kubernetes/logs", "other/*"),
        decision: fc.constantFrom(...POLICY_DECISIONS),
      }),
    ),
    defaults: fc.record(
      {
        "read-only": fc.constantFrom(...POLICY_DECISIONS),
        mutating: fc.constantFrom(...POLICY_DECISIONS),
        destructive: fc.constantFrom(...POLICY_DECISIONS),
      },
      { requiredKeys: [] },
    ),
    maxWindowMinutes: fc.integer({ min: 1, max: 1_000 }),
  },
  { requiredKeys: [] },
);

test("a policy that is added to others never allows more, and never a longer window", () => {
  fc.assert(
    fc.property(fc.array(Spec, { minLength: 1 }), Spec, fc.constantFrom(...TIERS), (before, added, tier) => {
      const strictness = (specs: readonly OperationPolicySpec[]): number =>
        POLICY_DECISIONS.indexOf(decisionFor(policies(...specs), "kubernetes/scale", tier));
      expect(strictness([...before, added])).toBeGreaterThanOrEqual(strictness(before));
      const longest = (specs: readonly OperationPolicySpec[]): number =>
        policies(...specs).maxWindowMinutes ?? Number.POSITIVE_INFINITY;
      expect(longest([...before, added])).toBeLessThanOrEqual(longest(before));
    }),
  );
});

test("the order of policies has no meaning", () => {
  fc.assert(
    fc.property(fc.array(Spec), fc.constantFrom(...TIERS), (specs, tier) => {
      const decide = (list: readonly OperationPolicySpec[]): string =>
        decisionFor(policies(...list), "kubernetes/scale", tier);
      expect(decide(specs)).toBe(decide([...specs].reverse()));
    }),
  );
});

test("the smallest window and all people to be told are taken together", () => {
  const merged = policies(
    { maxWindowMinutes: 60, notify: ["b", "a"] },
    { maxWindowMinutes: 30, notify: ["c", "a"] },
    {},
  );
  expect(merged).toMatchObject({ maxWindowMinutes: 30, notify: ["a", "b", "c"] });
  expect(policies({})).not.toHaveProperty("maxWindowMinutes");
});

const CORDON = { command: "kubernetes/cordon-node", tier: "mutating", params: { name: "node-1" } } as const;
const opened = (more: object = {}): OperationPolicySpec => ({
  clusterOperations: [{ operation: "kubernetes/cordon-node", deployments: ["dep_a"], ...more }],
});

test.each<[string, OperationPolicySpec[], string]>([
  ["no policy", [], "deny"],
  ["a policy that does not name it", [{ rules: [{ pattern: "*", decision: "auto" }] }], "deny"],
  ["a rule that names it, and no deployment", [{ rules: [{ pattern: CORDON.command, decision: "auto" }] }], "deny"],
  ["a policy that names it", [opened()], "manual"],
  ["a policy that names it, and a rule that would let it run by itself", [{ ...opened(), ...AUTO }], "manual"],
  ["a policy that names it, and a rule that denies it", [{ ...opened(), ...DENY }], "deny"],
  ["a policy that names it for another deployment", [opened({ deployments: ["dep_b"] })], "deny"],
  ["a policy that names the node", [opened({ names: ["node-2", "node-1"] })], "manual"],
  ["a policy that names another node", [opened({ names: ["node-2"] })], "deny"],
  ["a policy that names no node", [opened({ names: [] })], "deny"],
  ["a policy that names the other direction", [opened({ operation: "kubernetes/uncordon-node" })], "deny"],
  ["one of two policies", [opened(), {}], "deny"],
  ["both of two policies", [opened(), opened()], "manual"],
])("an operation of cluster scope, with %s: %s", (_, specs, decision) => {
  expect(decisionOn(policies(...specs), CORDON, "dep_a")).toBe(decision);
});
