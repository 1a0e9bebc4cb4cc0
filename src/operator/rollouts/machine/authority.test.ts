import { expect, test } from "vitest";
import type { OperationPolicySpec } from "../../../crds/kinds/operation-policy.ts";
import type { Rollout, RolloutPlan } from "../../../crds/kinds/rollout.ts";
import { mergePolicies } from "../../gate/policy.ts";
import { authorityOver } from "./authority.ts";

const rule = (pattern: string, decision: "auto" | "deny") => ({ pattern, decision });
const DIGEST = `sha256:${"a".repeat(64)}`;
const plan = (more: Partial<RolloutPlan> = {}): RolloutPlan => ({
  create: 0,
  change: 1,
  prune: 0,
  unchanged: 0,
  ...more,
});

function said(shown: RolloutPlan, policy: OperationPolicySpec, approvedDigest?: string): string {
  const spec = {
    action: "update",
    deploymentId: "dep_1",
    ...(approvedDigest && { approvedDigest }),
  } as Rollout["spec"];
  const policies = mergePolicies([{ spec: policy }]);
  const { is, said: word } = authorityOver({ spec, status: { plan: shown } }, DIGEST, policies, true);
  return `${is} ${word[2]}`;
}

const UPDATES = [rule("release/update", "auto")];
test.each<[string, RolloutPlan, OperationPolicySpec, string]>([
  ["changes alone", plan(), { rules: UPDATES }, "given PolicyAuto"],
  ["none that is made anew", plan({ recreate: [] }), { rules: UPDATES }, "given PolicyAuto"],
  [
    "one that is made anew",
    plan({ recreate: ["Deployment.apps/shop/api"] }),
    { rules: UPDATES },
    "awaited AwaitingDecision",
  ],
  [
    "one that is made anew",
    plan({ recreate: ["Deployment.apps/shop/api"] }),
    { rules: [...UPDATES, rule("release/delete", "auto")] },
    "given PolicyAuto",
  ],
  [
    "one that is made anew",
    plan({ recreate: ["Deployment.apps/shop/api"] }),
    { rules: [...UPDATES, rule("release/delete", "deny")] },
    "denied PolicyDenied",
  ],
  ["what it lacks is deleted", plan({ prune: 1 }), { rules: UPDATES }, "awaited AwaitingDecision"],
  [
    "what it lacks is deleted",
    plan({ prune: 1 }),
    { rules: [...UPDATES, rule("release/delete", "deny")] },
    "denied PolicyDenied",
  ],
  [
    "what it lacks is deleted",
    plan({ prune: 1 }),
    { rules: [...UPDATES, rule("release/delete", "deny"), rule("release/prune", "auto")] },
    "given PolicyAuto",
  ],
])("an update of %s is judged as a deletion too: %#", (_, shown, policy, expected) => {
  expect(said(shown, policy)).toBe(expected);
});

test("a person's digest does not go around a denied deletion", () => {
  expect(said(plan({ prune: 1 }), { rules: [rule("release/delete", "deny")] }, DIGEST)).toBe("denied PolicyDenied");
});

test("a deployment whose updates are approval-required waits for a person, also where a policy would let it run", () => {
  const decide = (decision: "auto" | "deny", approvedDigest?: string): string => {
    const spec = {
      action: "update",
      deploymentId: "dep_1",
      needsApproval: true,
      ...(approvedDigest && { approvedDigest }),
    };
    const policies = mergePolicies([{ spec: { rules: [rule("release/update", decision)] } }]);
    const rollout = { spec: spec as Rollout["spec"], status: { plan: plan() } };
    const { is, said: words } = authorityOver(rollout, DIGEST, policies, true);
    return `${is} ${words[2]} ${words[3].split(":")[0]}`;
  };
  expect(decide("auto")).toBe("awaited AwaitingDecision the deployment's updates are approval-required");
  expect(decide("auto", DIGEST)).toMatch(/^given ApprovedByCustomer/);
  expect(decide("deny", DIGEST)).toMatch(/^denied PolicyDenied/);
});

test("a person allows both with one word", () => {
  expect(said(plan({ recreate: ["Deployment.apps/shop/api"] }), {}, DIGEST)).toBe("given ApprovedByCustomer");
});
