import type { InstallationNames } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { deploymentAcceptance } from "./deployment-admission.ts";
import { nodeScheduling, podDeletion, rolloutRestart, scaleBounds } from "./grant-account-admission.ts";
import { grantDecisions, namedDecisions, stampers } from "./grant-admission.ts";
import { lending, operatorAccounts } from "./lending-admission.ts";
import { operatorObjects } from "./made-objects-admission.ts";
import { noCommands } from "./no-commands-admission.ts";
import { operatorBindings, operatorTokens } from "./operator-admission.ts";
import { ownNames } from "./own-name-admission.ts";
import { planHygiene, resultSize } from "./plan-admission.ts";

/** Names of all policies; the operator looks for each of them. */
export const VALIDATING_POLICIES = [
  "sallyport-grant-decisions",
  "sallyport-plan-hygiene",
  "sallyport-result-size",
  "sallyport-operator-bindings",
  "sallyport-operator-tokens",
  "sallyport-operator-accounts",
  "sallyport-operator-objects",
  "sallyport-lending",
  "sallyport-rollout-restart",
  "sallyport-scale-bounds",
  "sallyport-pod-deletion",
  "sallyport-node-scheduling",
  "sallyport-own-events",
  "sallyport-own-leases",
  "sallyport-named-decisions",
  "sallyport-deployment-acceptance",
  "sallyport-no-commands-in-status",
  "sallyport-no-commands-in-events",
] as const;
export const MUTATING_POLICIES = ["sallyport-stamp-decider", "sallyport-stamp-revoker"] as const;
/** Without a stamp it would refuse every decision that has no name. */
export const NEEDS_STAMPING = "sallyport-named-decisions";
/** Left out together where names are not stamped: by choice, or because the API server cannot (before 1.36). */
export const STAMPING_POLICIES: readonly string[] = [...MUTATING_POLICIES, NEEDS_STAMPING];
/**
 * Policies that see access grants. The operator trusts the name on a decision only when all of them are older than it.
 */
export const DECISION_POLICIES: readonly string[] = [
  "sallyport-grant-decisions",
  "sallyport-plan-hygiene",
  "sallyport-named-decisions",
  ...MUTATING_POLICIES,
];

/** Who may write which field of a decision, what a plan may contain, and what the operator may lend. */
export function admissionPolicies(names: InstallationNames): readonly Manifest[] {
  return [
    ...grantDecisions(),
    ...planHygiene(names),
    ...resultSize(),
    ...operatorBindings(names),
    ...operatorTokens(names),
    ...operatorAccounts(names),
    ...operatorObjects(names),
    ...lending(names),
    ...rolloutRestart(names),
    ...scaleBounds(names),
    ...podDeletion(names),
    ...nodeScheduling(names),
    ...ownNames(names),
    ...stampers(),
    ...namedDecisions(),
    ...deploymentAcceptance(names),
    ...noCommands(names),
  ];
}
