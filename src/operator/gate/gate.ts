import { createHash } from "node:crypto";
import type { InvocationReason } from "../../crds/conditions.ts";
import { acceptedOf, type NamedDeployments } from "../../crds/kinds/accepted-namespaces.ts";
import type { AccessGrant, GrantLine } from "../../crds/kinds/access-grant.ts";
import { FINAL_GRANT_STATES } from "../../crds/kinds/access-grant.ts";
import type { Place } from "../../crds/kinds/lending.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import type { PolicyDecision } from "../../crds/kinds/operation-policy.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { sameParams, TIERS } from "../../crds/plan.ts";
import type { BoundOperation, Operation } from "../operations/operation.ts";
import { openedWindow } from "./grant-window.ts";
import { planFault } from "./plan-check.ts";
import { type CustomerPolicy, decisionOn, wantedOf } from "./policy.ts";

/** Everything that the gate looks at. It does no I/O. */
export interface GateInput {
  readonly invocation: Pick<OperationInvocation, "metadata" | "spec">;
  /** The grant that the invocation names, if it names one and there is one. */
  readonly grant: AccessGrant | undefined;
  readonly policy: CustomerPolicy;
  readonly deployments: readonly Pick<ManagedDeployment, "spec" | "status">[];
  /** What the install values name for each deployment. */
  readonly named: NamedDeployments;
  readonly findOperation: (command: string) => Operation | undefined;
  readonly commands: CommandTable;
  /** Why an operation of a plugin cannot run here. Default: no plugin has one. */
  readonly problemOf?: (command: string) => CommandProblem | undefined;
  readonly now: Date;
}

/** Why not; each is a reason of the condition Authorized, a label of a metric, and final. */
export type Refusal = Exclude<
  InvocationReason<"Authorized">,
  "GrantMatched" | "PolicyAuto" | "DeadlinePassed" | "AwaitingBinding" | "TooManyOpen"
>;

/** What keeps an operation of a plugin from running here: values and image do not fit together. */
export interface CommandProblem {
  readonly reason: Extract<Refusal, "UnknownOperation" | "RuleMissing">;
  readonly message: string;
}

export const REFUSALS = [
  "PolicyDenied",
  "NoGrant",
  "GrantClosed",
  "PlanHashMismatch",
  "RiskUnderstated",
  "ParamsMismatch",
  "LineUsed",
  "UnknownOperation",
  "RuleMissing",
  "InvalidParams",
  "TierMismatch",
  "DeploymentNotServed",
  "DeploymentNotAccepted",
  "NamespaceNotOpen",
] as const satisfies readonly Refusal[];

export interface ClaimableLine {
  readonly index: number;
  /** Already claimed by this very invocation: we crashed between the claim and the start. */
  readonly claimed: boolean;
}

export interface GrantedLine extends ClaimableLine {
  readonly grantUid: string;
  /** The window's end: what runs is stopped then. */
  readonly until: Date;
}

export type Verdict =
  | {
      readonly do: "run";
      readonly reason: "GrantMatched" | "PolicyAuto";
      readonly operation: Operation;
      readonly bound: BoundOperation;
      /** Absent when the policy alone lets it run. */
      readonly granted?: GrantedLine;
    }
  | {
      readonly do: "wait";
      readonly reason?: "RuleMissing" | "AwaitingBinding" | "TooManyOpen";
      readonly message: string;
      readonly againMs?: number;
    }
  | { readonly do: "expire"; readonly message: string }
  | { readonly do: "refuse"; readonly reason: Refusal; readonly message: string };

/**
 * May this command run now? Every rule of the contract, in order, the first that applies wins. Authority is recomputed
 * from what people wrote (`spec`) and the clock; `status` can only narrow it. A fact that is missing or makes no sense leads to a refusal.
 */
export function gate(input: GateInput): Verdict {
  const { spec } = input.invocation;
  const { now, policy } = input;
  if (spec.deadline !== undefined && !(now.getTime() < Date.parse(spec.deadline))) {
    return { do: "expire", message: `the deadline ${spec.deadline} passed before it could start` };
  }
  const command = `${spec.plugin}/${spec.operation}`;
  const operation = input.findOperation(command);
  if (operation === undefined) {
    const problem = input.problemOf?.(command);
    return refuse(
      problem?.reason ?? "UnknownOperation",
      problem?.message ?? `this operator has no operation ${command}`,
    );
  }
  if (TIERS.indexOf(spec.tier) < TIERS.indexOf(operation.tier)) {
    return refuse("TierMismatch", `${command} is ${operation.tier}, the request claims ${spec.tier}`);
  }
  const bound = operation.bind(spec.params ?? {});
  if (!bound.ok) return refuse("InvalidParams", bound.problems.slice(0, 8).join("; "));
  const fixed = { operation, bound: bound.params };
  const unserved = placeRefusal(input, spec.deploymentId, bound.params.namespace);
  if (unserved !== undefined) return unserved;
  const decision = decisionOn(policy, wantedOf(input.commands, command, spec.params), spec.deploymentId);
  if (decision === "deny") return refuse("PolicyDenied", deniedBecause(command, bound.params, spec.deploymentId));
  // A command that names a grant stands or falls with it, even where the policy would let it run by itself:
  // a revocation stops the whole plan.
  if (spec.grantName === undefined) return withoutGrant(decision, command, fixed);
  return withGrant(input, command, fixed);
}

type Fixed = Pick<Extract<Verdict, { do: "run" }>, "operation" | "bound">;

function deniedBecause(command: string, { object }: BoundOperation, deploymentId: string): string {
  if (object === undefined) return `the customer's policy denies ${command}, approved or not`;
  return `the customer's policies do not open ${command} on ${object} to deployment ${deploymentId} (clusterOperations)`;
}

/** Why a deployment may not do anything in a place. */
interface Unserved {
  readonly do: "refuse";
  readonly reason: "DeploymentNotServed" | "DeploymentNotAccepted" | "NamespaceNotOpen";
  readonly message: string;
}

/**
 * Only in a namespace that the customer named for this very deployment. For an operation of cluster scope, any such
 * namespace: the deployment is accepted; what it may do beyond its namespaces, the policies say.
 */
export function placeRefusal(
  { deployments, named }: Pick<GateInput, "deployments" | "named">,
  deploymentId: string,
  namespace: Place,
): Unserved | undefined {
  const unserved = (reason: Unserved["reason"], why: string): Unserved => {
    return { do: "refuse", reason, message: `deployment ${deploymentId} ${why}` };
  };
  const accepted = acceptedOf(deploymentId, deployments, named);
  if (accepted === undefined) return unserved("DeploymentNotServed", "is not served by this cluster");
  if (namespace === undefined ? accepted.length > 0 : accepted.includes(namespace)) return undefined;
  if (accepted.length > 0) return unserved("NamespaceNotOpen", `is not accepted for namespace ${namespace}`);
  return unserved("DeploymentNotAccepted", "waits until the customer accepts it");
}

function withoutGrant(decision: PolicyDecision, command: string, fixed: Fixed): Verdict {
  if (decision === "auto") return { do: "run", reason: "PolicyAuto", ...fixed };
  return refuse("NoGrant", `${command} needs an approved access grant`);
}

function withGrant(input: GateInput, command: string, fixed: Fixed): Verdict {
  const { invocation, grant, now } = input;
  const { grantName, deploymentId } = invocation.spec;
  if (grant === undefined) return refuse("NoGrant", `there is no access grant ${grantName}`);
  if (grant.spec.deploymentId !== deploymentId) {
    return refuse("ParamsMismatch", `grant ${grantName} is for deployment ${grant.spec.deploymentId}`);
  }
  const closed = closedBecause(grant);
  if (closed !== undefined) return refuse("GrantClosed", closed);
  const fault = planFault(grant.spec, input.commands.tierOf);
  if (fault !== undefined) return { do: "refuse", ...fault };
  const window = openedWindow(grant);
  if (window === undefined) {
    if (grant.status?.approvedAt === undefined) return { do: "wait", message: "the approval is being recorded" };
    return refuse("GrantClosed", "the recorded window does not follow from the approval");
  }
  if (now < window.from) {
    return { do: "wait", message: "the window has not begun", againMs: window.from.getTime() - now.getTime() };
  }
  if (now >= window.until) return refuse("GrantClosed", `the window ended at ${window.until.toISOString()}`);
  const line = lineFor(invocation, grant, command);
  if ("do" in line) return line;
  const granted = { ...line, grantUid: grant.metadata.uid, until: window.until };
  return { do: "run", reason: "GrantMatched", granted, ...fixed };
}

/** From people's words first, then from a final state that we reported ourselves. */
export function closedBecause({ metadata, spec, status }: AccessGrant): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return "the grant is being deleted";
  if (spec.revokedReason !== undefined) return "the grant was revoked";
  if (spec.deniedReason !== undefined) return "the request was denied";
  if (spec.approvedForMinutes === undefined) return "the request is not approved";
  const { state } = status ?? {};
  return isFinal(state) ? `the grant is ${state}` : undefined;
}

function isFinal(state: string | undefined): boolean {
  return FINAL_GRANT_STATES.some((final) => final === state);
}

/** The first line that is exactly this command with exactly these params, and that is unused. */
function lineFor(
  { metadata, spec }: GateInput["invocation"],
  { spec: plan, status }: AccessGrant,
  command: string,
): ClaimableLine | Verdict {
  const lines = status?.commands ?? [];
  const stateOf = (index: number): GrantLine | undefined => lines.find((line) => line.index === index);
  const mine = lines.find(({ commandId }) => commandId === spec.commandId);
  const matching = plan.commands.flatMap((line, index) =>
    line.command === command && sameParams(line.params, spec.params) ? [index] : [],
  );
  if (matching.length === 0) return refuse("ParamsMismatch", `no line of the plan is ${command} with these params`);
  if (mine !== undefined) {
    const resumable = mine.state === "Starting" && mine.digest === claimDigest(metadata.uid);
    if (resumable && matching.includes(mine.index)) return { index: mine.index, claimed: true };
    return refuse("LineUsed", `command ${spec.commandId} has used line ${mine.index + 1} of the plan`);
  }
  const free = matching.find((index) => stateOf(index)?.commandId === undefined);
  if (free !== undefined) return { index: free, claimed: false };
  return refuse("LineUsed", `every line of the plan that is ${command} with these params has been used`);
}

/**
 * Ties a claimed line to one invocation object, not to its name: an invocation that was deleted and written again is
 * another one, and finds the line used.
 */
export function claimDigest(invocationUid: string): string {
  return `sha256:${createHash("sha256").update(`claim v1 ${invocationUid}`).digest("hex")}`;
}

function refuse(reason: Refusal, message: string): Verdict {
  return { do: "refuse", reason, message };
}
