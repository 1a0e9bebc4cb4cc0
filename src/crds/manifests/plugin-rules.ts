import { GROUP } from "../group.ts";
import type { PolicyRule } from "../operations/operation.ts";
import { WORKLOAD_RESOURCES } from "../operations/workload-kinds.ts";
import type { PluginRole } from "../plugin-role.ts";

/** Of our own group, not served: the right by which the policy `sallyport-rollout-restart` knows the account of a plugin. */
export const CHANGED_WORKLOADS = "workloads";
const CHANGE_WORKLOADS: PolicyRule = { apiGroups: [GROUP], resources: [CHANGED_WORKLOADS], verbs: ["change"] };

/** The rules of its role: the customer's, and the right of our own for one that patches workloads. */
export function pluginRoleRules({ rules }: Pick<PluginRole, "rules">): readonly PolicyRule[] {
  const workloads: readonly string[] = WORKLOAD_RESOURCES;
  const patches = rules.some(
    ({ apiGroups, resources, verbs }) =>
      apiGroups.includes("apps") && verbs.includes("patch") && resources.some((each) => workloads.includes(each)),
  );
  return patches ? [...rules, CHANGE_WORKLOADS] : rules;
}
