import fc from "fast-check";
import { expect, test } from "vitest";
import { type OperationPolicySpec, POLICY_DECISIONS } from "../../crds/kinds/operation-policy.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { TIERS } from "../../crds/plan.ts";
import { RELEASE_OPERATIONS } from "../../crds/released/releases.ts";
import { decisionFor, decisionOn, mergePolicies, wantedOf } from "./policy.ts";

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

const ANY_AUTO = { pattern: "*", decision: "auto" } as const;
const RELEASES_DENIED = { pattern: "release/*", decision: "deny" } as const;
const DELETING_DENIED = [{ pattern: "release/delete", decision: "deny" }] as const;
const RELEASES_MANUAL = { pattern: "release/*", decision: "manual" } as const;

test.each([
  ["nothing said", {}, "release/install", "manual"],
  ["nothing said of going back", {}, "release/rollback", "auto"],
  ["the tier says auto", { defaults: { mutating: "auto", destructive: "auto" } }, "release/update", "manual"],
  ["everything is auto", { rules: [ANY_AUTO] }, "release/update", "manual"],
  ["all of releases is auto", { rules: [{ pattern: "release/*", decision: "auto" }] }, "release/update", "manual"],
  ["named", { rules: [{ pattern: "release/update", decision: "auto" }] }, "release/update", "auto"],
  ["another is named", { rules: [{ pattern: "release/update", decision: "auto" }] }, "release/install", "manual"],
  ["deleting named", { rules: [{ pattern: "release/delete", decision: "auto" }] }, "release/delete", "auto"],
  ["deleting named, of pruning", { rules: [{ pattern: "release/delete", decision: "auto" }] }, "release/prune", "auto"],
  [
    "deleting denied, of pruning",
    { rules: [{ pattern: "release/delete", decision: "deny" }] },
    "release/prune",
    "deny",
  ],
  [
    "an update named, of pruning",
    { rules: [{ pattern: "release/update", decision: "auto" }] },
    "release/prune",
    "manual",
  ],
  [
    "pruning named beside deleting",
    { rules: [...DELETING_DENIED, { pattern: "release/prune", decision: "auto" }] },
    "release/prune",
    "auto",
  ],
  [
    "pruning named, of deleting",
    { rules: [{ pattern: "release/prune", decision: "auto" }] },
    "release/delete",
    "manual",
  ],
  ["an act that is none", { rules: [{ pattern: "release/x", decision: "auto" }] }, "release/x", "manual"],
  ["the tier is denied", { defaults: { mutating: "deny" } }, "release/install", "deny"],
  ["all of releases is denied", { rules: [{ pattern: "release/*", decision: "deny" }] }, "release/update", "deny"],
  ["the tier asks, of going back", { defaults: { mutating: "manual" } }, "release/rollback", "auto"],
  ["everything asks, of going back", { rules: [{ pattern: "*", decision: "manual" }] }, "release/rollback", "auto"],
  ["releases ask, of going back", { rules: [RELEASES_MANUAL] }, "release/rollback", "auto"],
  ["going back is denied", { rules: [{ pattern: "release/rollback", decision: "deny" }] }, "release/rollback", "deny"],
  [
    "all is denied but going back",
    { rules: [RELEASES_DENIED, { pattern: "release/rollback", decision: "auto" }] },
    "release/rollback",
    "auto",
  ],
  ["the tier is denied, of going back", { defaults: { mutating: "deny" } }, "release/rollback", "deny"],
  ["everything is denied, of going back", { rules: [{ pattern: "*", decision: "deny" }] }, "release/rollback", "deny"],
] as const)("releases, %s: %#", (_, spec, command, decision) => {
  expect(decisionFor(policies(spec), command, BUILT_IN.tierOf(command))).toBe(decision);
});

test("without any policy a release waits for a person, and goes back by itself", () => {
  const decisions = RELEASE_OPERATIONS.map(({ command, tier }) => [command, decisionFor(policies(), command, tier)]);
  expect(Object.fromEntries(decisions)).toEqual({
    "release/install": "manual",
    "release/update": "manual",
    "release/prune": "manual",
    "release/delete": "manual",
    "release/rollback": "auto",
  });
});

const AUTO: OperationPolicySpec = { rules: [{ pattern: "*", decision: "auto" }] };
const DENY: OperationPolicySpec = { rules: [{ pattern: "kubernetes/*", decision: "deny" }] };

const Spec = fc.record(
  {
    rules: fc.array(
      fc.record({
        pattern: fc.constantFrom(
          ...["*", "kubernetes/*", "kubernetes/scale", "release/*", "release/update", "other/*"],
          ...["release/prune", "release/delete"],
        ),
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

const Command = fc.constantFrom("kubernetes/scale", "release/update", "release/prune", "release/rollback");

test("a policy that is added to others never allows more, and never a longer window", () => {
  fc.assert(
    fc.property(
      fc.array(Spec, { minLength: 1 }),
      Spec,
      Command,
      fc.constantFrom(...TIERS),
      (before, added, command, tier) => {
        const strictness = (specs: readonly OperationPolicySpec[]): number =>
          POLICY_DECISIONS.indexOf(decisionFor(policies(...specs), command, tier));
        expect(strictness([...before, added])).toBeGreaterThanOrEqual(strictness(before));
        const longest = (specs: readonly OperationPolicySpec[]): number =>
          policies(...specs).maxWindowMinutes ?? Number.POSITIVE_INFINITY;
        expect(longest([...before, added])).toBeLessThanOrEqual(longest(before));
      },
    ),
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

const CORDON = wantedOf(BUILT_IN, "kubernetes/cordon-node", { name: "node-1" });
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
