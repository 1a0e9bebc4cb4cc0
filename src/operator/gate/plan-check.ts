import type { AccessGrantSpec } from "../../crds/kinds/access-grant.ts";
import { maxTier, PLAN_HASH_VERSION, planHash, TIERS, type Tier } from "../../crds/plan.ts";

export interface PlanFault {
  readonly reason: "PlanHashMismatch" | "RiskUnderstated";
  readonly message: string;
}

/**
 * What is untrue in a plan. `planHash` and `risk` are the agent's claims: people have approved by them, so nothing may
 * run under a plan whose claims do not hold when recomputed here.
 */
export function planFault(spec: AccessGrantSpec, tierOf: (command: string) => Tier): PlanFault | undefined {
  if (spec.planHashVersion !== PLAN_HASH_VERSION) {
    return mismatch(`plan hash version ${spec.planHashVersion} is not known here`);
  }
  if (planHash(spec) !== spec.planHash) return mismatch("spec.planHash is not the hash of this plan");
  if (spec.approvedPlanHash !== undefined && spec.approvedPlanHash !== spec.planHash) {
    return mismatch("spec.approvedPlanHash is not the hash of this plan");
  }
  const risk = maxTier(spec.commands.map(({ command }) => tierOf(command)));
  if (TIERS.indexOf(spec.risk) < TIERS.indexOf(risk)) {
    const worst = spec.commands.find(({ command }) => tierOf(command) === risk)?.command;
    return { reason: "RiskUnderstated", message: `the plan claims ${spec.risk}, but ${worst} counts as ${risk} here` };
  }
  // The API server demands it too; recomputed because authority never rests on one place.
  if (spec.risk === "destructive" && spec.approvedForMinutes !== undefined && spec.approvedPlanHash === undefined) {
    return mismatch("a destructive plan is approved only with spec.approvedPlanHash");
  }
  return undefined;
}

function mismatch(message: string): PlanFault {
  return { reason: "PlanHashMismatch", message };
}
