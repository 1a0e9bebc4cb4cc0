import { expect, test } from "vitest";
import type { OperationPolicySpec } from "../../crds/kinds/operation-policy.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { policyVerdict, verdictText } from "./policy-verdict.ts";

const NODE = { operation: "kubernetes/cordon-node", deployments: ["dep_1"] } as const;

test.each<readonly [string, OperationPolicySpec, string]>([
  [
    "kubernetes/scale",
    {},
    "(mutating): manual, it waits for an approval\n  a: manual (no rule names it, and no default mutating)",
  ],
  [
    "kubernetes/logs",
    { defaults: { "read-only": "auto" } },
    "auto, it runs by itself, without an approval\n  a: auto (defaults.read-only: auto)",
  ],
  [
    "kubernetes/scale",
    { rules: [{ pattern: "kubernetes/*", decision: "deny" }] },
    "never runs, approved or not\n  a: deny (rule kubernetes/*: deny)",
  ],
  [
    "debug/exec",
    { rules: [{ pattern: "*", decision: "auto" }] },
    "a: manual (rule *: auto, which does not count for debug/exec)",
  ],
  [
    "kubernetes/cordon-node",
    { defaults: { mutating: "auto" } },
    "a: deny (defaults.mutating: auto, but clusterOperations does not name it",
  ],
  ["kubernetes/cordon-node", { clusterOperations: [NODE] }, "a: manual (no rule names it"],
  ["kubernetes/scal", {}, "(destructive): manual, it never runs: this version of Sallyport has no such command"],
])("%s with %j", (command, spec, words) => {
  const policy = { metadata: { name: "a" } as never, spec };
  expect(verdictText(policyVerdict([policy], command, { name: "node-1" }, "dep_1", BUILT_IN))).toContain(words);
});

test("of several policies each is named, and the strictest counts", () => {
  const policies = [
    { metadata: { name: "a" } as never, spec: { rules: [{ pattern: "kubernetes/scale", decision: "auto" as const }] } },
    { metadata: { name: "b" } as never, spec: { defaults: { mutating: "deny" as const } } },
  ];
  expect(verdictText(policyVerdict(policies, "kubernetes/scale", {}, "", BUILT_IN))).toBe(
    "kubernetes/scale (mutating): deny, it never runs, approved or not\n" +
      "  a: auto (rule kubernetes/scale: auto)\n  b: deny (defaults.mutating: deny)\n",
  );
});

test("without any policy it says so", () => {
  expect(verdictText(policyVerdict([], "kubernetes/get-pods", {}, "", BUILT_IN))).toContain(
    "manual, it waits for an approval\n  there is no OperationPolicy",
  );
});
