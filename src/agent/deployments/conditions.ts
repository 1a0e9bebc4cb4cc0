import type { ManagedDeploymentConditionType, ManagedDeploymentReason } from "../../crds/conditions.ts";
import type { ManagedDeployment, ManagedDeploymentStatus } from "../../crds/kinds/managed-deployment.ts";
import { type RequiredRight, rightsText } from "../../crds/manifests/roles/required-rights.ts";
import { withoutCommands } from "../../crds/without-commands.ts";
import { withCondition } from "../../kube/objects/conditions.ts";
import type { Trouble } from "../platform-link/platform-trouble.ts";

/** One condition of a ManagedDeployment, before it has a time. */
export interface DeploymentCondition {
  readonly type: ManagedDeploymentConditionType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: ManagedDeploymentReason;
  readonly message: string;
}

/** Why the platform does not answer. Undefined: it does. `unknown`: it was not asked yet. */
export type ConnectionTrouble = Trouble | "unknown" | undefined;

/** The conditions that are the same on each deployment: the agent's rights, and its connection to the platform. */
export function agentConditions(
  missing: readonly RequiredRight[],
  trouble: ConnectionTrouble,
): readonly DeploymentCondition[] {
  const permitted: DeploymentCondition =
    missing.length === 0
      ? { type: "Permitted", status: "True", reason: "RightsComplete", message: "the agent has all of its rights" }
      : {
          type: "Permitted",
          status: "False",
          reason: "RuleMissing",
          message: `the agent may not ${rightsText(missing)}`,
        };
  if (trouble === "unknown") return [permitted];
  if (trouble !== undefined) return [permitted, { type: "Connected", status: "False", ...trouble }];
  return [permitted, { type: "Connected", status: "True", reason: "Connected", message: "the platform answers" }];
}

/** Those that differ from the conditions of `managed`. A True one that it never had is no difference. */
export function changedConditions(
  { status }: ManagedDeployment,
  said: readonly DeploymentCondition[],
): readonly DeploymentCondition[] {
  return said.filter((each) => {
    const before = status?.conditions?.find(({ type }) => type === each.type);
    if (before === undefined) return each.status === "False";
    return before.status !== each.status || before.message !== withoutCommands(each.message);
  });
}

/** The conditions of `managed`, with these in place of those of their types. */
export function mergedConditions(
  { metadata, status }: ManagedDeployment,
  said: readonly DeploymentCondition[],
  now: Date,
): NonNullable<ManagedDeploymentStatus["conditions"]> {
  const observedGeneration = metadata.generation ?? 0;
  let conditions: Parameters<typeof withCondition>[0] = (status?.conditions ?? []).map((each) => ({
    observedGeneration,
    ...each,
  }));
  for (const each of said) {
    const message = withoutCommands(each.message);
    conditions = withCondition(conditions, { ...each, message, observedGeneration }, now);
  }
  return [...conditions];
}
