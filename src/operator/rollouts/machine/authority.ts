import { POLICY_DECISIONS } from "../../../crds/kinds/operation-policy.ts";
import type { Rollout, RolloutAction, RolloutPlan } from "../../../crds/kinds/rollout.ts";
import { BUILT_IN } from "../../../crds/operations/catalog.ts";
import { PRUNE, ROLLBACK } from "../../../crds/released/releases.ts";
import { type CustomerPolicy, decisionOn, type Wanted, wantedOf } from "../../gate/policy.ts";
import type { Said } from "./rollout-step.ts";

/** Letting go of objects needs the same word as deleting them: either way the customer is left without the release. */
const COMMANDS: Readonly<Record<RolloutAction, Wanted>> = {
  install: wantedOf(BUILT_IN, "release/install", undefined),
  update: wantedOf(BUILT_IN, "release/update", undefined),
  delete: wantedOf(BUILT_IN, "release/delete", undefined),
  detach: wantedOf(BUILT_IN, "release/delete", undefined),
};
const PRUNED = wantedOf(BUILT_IN, PRUNE, undefined);
const BACK = wantedOf(BUILT_IN, ROLLBACK, undefined);

type ApprovedSaid = Extract<Said, readonly ["Approved", ...unknown[]]>;

/** Whether the customer's word covers what was planned. */
export interface Authority {
  readonly is: "given" | "awaited" | "denied";
  readonly said: ApprovedSaid;
}

/**
 * Recomputed from what people wrote, each time; what the status says of it counts for nothing.
 *
 * @param hasFormer whether something is installed
 */
export function authorityOver(
  { spec, status }: Pick<Rollout, "spec" | "status">,
  plannedDigest: string | undefined,
  policy: CustomerPolicy,
  hasFormer: boolean,
): Authority {
  if (spec.deniedReason !== undefined) {
    return { is: "denied", said: ["Approved", "False", "DeniedByCustomer", `denied: ${spec.deniedReason}`] };
  }
  const commands = commandsOf(spec.action, hasFormer, status?.plan);
  const { wanted, decision } = strictest(commands, policy, spec.deploymentId);
  if (decision === "deny") {
    const message = `the customer's policy denies ${wanted.command}, approved or not`;
    return { is: "denied", said: ["Approved", "False", "PolicyDenied", message] };
  }
  if (plannedDigest !== undefined && spec.approvedDigest === plannedDigest) {
    // Where the API server writes no names a person may leave theirs out.
    const message = `the plan was approved by its digest${spec.approvedBy === undefined ? ", without a name" : ""}`;
    return { is: "given", said: ["Approved", "True", "ApprovedByCustomer", message] };
  }
  if (decision === "auto" && spec.needsApproval !== true) {
    return { is: "given", said: ["Approved", "True", "PolicyAuto", `the customer's policy allows ${wanted.command}`] };
  }
  if (spec.approvedDigest !== undefined) {
    const message = "another plan is approved: an approval is final, and a new rollout has to be asked for";
    return { is: "awaited", said: ["Approved", "False", "OtherPlanApproved", message] };
  }
  const why =
    decision === "auto" ? "the deployment's updates are approval-required" : `${wanted.command} waits for a person`;
  const message = `${why}: status.plan says what would change, status.approvalLine lets it go on`;
  return { is: "awaited", said: ["Approved", "Unknown", "AwaitingDecision", message] };
}

/**
 * The action is the platform's name for it: what is installed and what the plan deletes decide. An action that fits neither
 * needs both commands, so that no name goes around a rule for what is done.
 */
function commandsOf(action: RolloutAction, hasFormer: boolean, plan: RolloutPlan | undefined): readonly Wanted[] {
  if (action === "delete" || action === "detach") return [COMMANDS[action]];
  const is = hasFormer ? "update" : "install";
  const named = is === action ? [COMMANDS[is]] : [COMMANDS[is], COMMANDS[action]];
  return deletesOf(plan) > 0 ? [...named, PRUNED] : named;
}

/** How many objects an install or update deletes, for good or to make them again: these do not run in between. */
function deletesOf(plan: Pick<RolloutPlan, "prune" | "recreate"> | undefined): number {
  return (plan?.prune ?? 0) + (plan?.recreate ?? []).length;
}

function strictest(commands: readonly Wanted[], policy: CustomerPolicy, deploymentId: string) {
  const judged = commands.map((wanted) => ({ wanted, decision: decisionOn(policy, wanted, deploymentId) }));
  return judged.reduce((one, other) =>
    POLICY_DECISIONS.indexOf(other.decision) > POLICY_DECISIONS.indexOf(one.decision) ? other : one,
  );
}

/** The way back needs no approval of its own, and is taken unless a policy denies it. */
export function mayRollBack({ spec }: Pick<Rollout, "spec">, policy: CustomerPolicy): boolean {
  return decisionOn(policy, BACK, spec.deploymentId) !== "deny";
}
