import type { Rollout, RolloutPlan } from "../../crds/kinds/rollout.ts";
import { textOf } from "../kernel/output.ts";

/** A release as an approver reads it. */
export interface ShownRollout {
  readonly name: string;
  readonly deploymentId: string;
  readonly action: string;
  readonly version: string | null;
  readonly state: string | null;
  readonly deadline: string;
  /** Who has approved it; null while no person has, or where no name is known. */
  readonly approvedBy: string | null;
  /** What keeps it from going on, or has ended it, in the operator's words. */
  readonly held: readonly string[];
  readonly plan: RolloutPlan | null;
  /** While it waits for a person: what lets it go on. */
  readonly approvalLine: string | null;
}

export function shownRollout(rollout: Rollout): ShownRollout {
  const { metadata, spec, status } = rollout;
  return {
    name: metadata.name,
    deploymentId: spec.deploymentId,
    action: spec.action,
    version: spec.version ?? null,
    state: status?.state ?? null,
    deadline: spec.deadline,
    approvedBy: spec.approvedBy ?? null,
    held: heldBy(rollout),
    plan: status?.plan ?? null,
    approvalLine: approvalLineOf(rollout),
  };
}

/** Made here: the operator's own could be a line that does something else. Null: the operator does not wait for a person. */
function approvalLineOf({ metadata: { name, namespace }, status }: Rollout): string | null {
  if (status?.approvalLine === undefined || status.plannedDigest === undefined) return null;
  const patch = JSON.stringify({ spec: { approvedDigest: status.plannedDigest } });
  return `kubectl patch rout ${name} -n ${namespace} --type=merge -p '${patch}'`;
}

/** Conditions that are True hold nothing up. What waits for a person is said by its line, and what is refused by lines of the plan. */
const MAY_HOLD: ReadonlySet<string> = new Set(["Planned", "Permitted", "Approved", "Applied", "Healthy", "Pruned"]);
const OTHERWISE_SAID: ReadonlySet<string> = new Set(["AwaitingDecision", "Refused"]);

function heldBy({ status }: Rollout): readonly string[] {
  const held = (status?.conditions ?? []).filter(
    (each) => MAY_HOLD.has(each.type) && each.status !== "True" && !OTHERWISE_SAID.has(each.reason),
  );
  return held.map(({ type, reason, message }) => `${type}: ${reason}: ${message}`);
}

export function rolloutText({ name, deploymentId, action, version, ...rest }: ShownRollout): string {
  const { plan, state, deadline, approvalLine, approvedBy, held } = rest;
  const decided = approvedBy === null ? "" : `, approved by ${approvedBy}`;
  const lines = [
    `${name}: ${action} of ${deploymentId}${version === null ? "" : `, version ${version}`}`,
    `  ${state ?? "not looked at by the operator yet"}${approvalLine === null ? decided : `, to be decided by ${deadline}`}`,
    ...held.map((each) => `  ${each}`),
    ...(plan === null ? ["There is no plan yet."] : planLines(plan)),
    ...(approvalLine === null ? [] : ["It is approved with:", `  ${approvalLine}`]),
  ];
  return textOf(lines);
}

function planLines(plan: RolloutPlan): readonly string[] {
  const { changes = [], overrides = [], refused = [] } = plan;
  return [
    `The plan: ${plan.create} created, ${plan.change} changed, ${plan.prune} deleted, ${plan.unchanged} left as they are`,
    ...changes.map((change) => `  ${change}`),
    ...overrides.map(({ ref, field, manager }) => `  stays as ${manager} has it: ${ref} ${field}`),
    ...refused.map(({ ref, message }) => `  refused: ${ref}: ${message}`),
  ];
}
