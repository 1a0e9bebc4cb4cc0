import type { OperationPolicy, PolicyDecision } from "../../crds/kinds/operation-policy.ts";
import { tierOf } from "../../crds/operations/catalog.ts";
import type { Tier } from "../../crds/plan.ts";
import { decisionOn, mergePolicies } from "../../operator/gate/policy.ts";

/** What the customer's policies would say of a command, and why. */
export interface PolicyVerdict {
  readonly command: string;
  readonly tier: Tier;
  readonly decision: PolicyDecision;
  /** What that means for a request. */
  readonly means: string;
  /** Of each policy what it says alone, and by which of its words. */
  readonly because: readonly { readonly policy: string; readonly decision: PolicyDecision; readonly by: string }[];
}

const MEANS: Readonly<Record<PolicyDecision, string>> = {
  auto: "it runs by itself, without an approval",
  manual: "it waits for an approval",
  deny: "it never runs, approved or not",
};

/** By the operator's own decision, so that the two cannot differ. */
export function policyVerdict(
  policies: readonly OperationPolicy[],
  command: string,
  params: Readonly<Record<string, unknown>>,
  deploymentId: string,
): PolicyVerdict {
  const tier = tierOf(command);
  const wanted = { command, tier, params };
  const decision = decisionOn(mergePolicies(policies), wanted, deploymentId);
  const because = policies.map((policy) => ({
    policy: policy.metadata.name,
    decision: decisionOn(mergePolicies([policy]), wanted, deploymentId),
    by: wordsOf(policy, command, tier),
  }));
  return { command, tier, decision, means: MEANS[decision], because };
}

/** The most exact pattern of the policy, else its default of the tier. */
function wordsOf({ spec }: OperationPolicy, command: string, tier: Tier): string {
  const plugin = command.slice(0, command.indexOf("/"));
  for (const pattern of [command, `${plugin}/*`, "*"]) {
    const rule = spec.rules?.find((each) => each.pattern === pattern);
    if (rule !== undefined) return `rule ${pattern}: ${rule.decision}`;
  }
  const byDefault = spec.defaults?.[tier];
  return byDefault === undefined ? "no rule and no default names it" : `default of ${tier}: ${byDefault}`;
}
