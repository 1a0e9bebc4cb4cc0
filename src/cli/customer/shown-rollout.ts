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

export function rolloutText({ name, deploymentId, action, version, ...rest }: ShownRollout): string {
  const { plan, state, deadline, approvalLine } = rest;
  const lines = [
    `${name}: ${action} of ${deploymentId}${version === null ? "" : `, version ${version}`}`,
    `  ${state ?? "not looked at by the operator yet"}, to be decided by ${deadline}`,
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
