import type { ManagedDeploymentConditionType, ManagedDeploymentReason } from "../../crds/conditions.ts";
import type { ManagedDeployment, ManagedDeploymentStatus } from "../../crds/kinds/managed-deployment.ts";
import { type RequiredRight, rightsText } from "../../crds/manifests/roles/required-rights.ts";
import { toldWords } from "../../crds/told-words.ts";
import { withCondition } from "../../kube/objects/conditions.ts";
import type { Trouble } from "../platform-link/platform-trouble.ts";

/** One condition of a ManagedDeployment, before it has a time. */
export interface Said {
  readonly type: ManagedDeploymentConditionType;
  readonly status: "True" | "False";
  readonly reason: ManagedDeploymentReason;
  readonly message: string;
}

/** What keeps us from the platform; undefined: it answers. `unknown`: it was not asked yet. */
export type Connectedness = Trouble | "unknown" | undefined;

/** How the agent itself stands, whatever the deployment: its rights here, and its way to the platform. */
export function standing(missing: readonly RequiredRight[], trouble: Connectedness): readonly Said[] {
  const permitted: Said =
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

/** Of these, what `managed` does not say yet. Of what was never reported and lacks nothing there is nothing to say. */
export function newsFor({ status }: ManagedDeployment, said: readonly Said[]): readonly Said[] {
  return said.filter((each) => {
    const before = status?.conditions?.find(({ type }) => type === each.type);
    if (before === undefined) return each.status === "False";
    return before.status !== each.status || before.message !== toldWords(each.message);
  });
}

/** The conditions of `managed`, with these as said now. */
export function saying(
  { metadata, status }: ManagedDeployment,
  said: readonly Said[],
  now: Date,
): NonNullable<ManagedDeploymentStatus["conditions"]> {
  const observedGeneration = metadata.generation ?? 0;
  let conditions: Parameters<typeof withCondition>[0] = (status?.conditions ?? []).map((each) => ({
    observedGeneration,
    ...each,
  }));
  for (const each of said) {
    const message = toldWords(each.message);
    conditions = withCondition(conditions, { ...each, message, observedGeneration }, now);
  }
  return [...conditions];
}
