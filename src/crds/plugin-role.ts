import { GROUP, operationRole } from "./group.ts";
import type { PolicyRule } from "./operations/operation.ts";
import { WORKLOAD_RESOURCES } from "./operations/workload-kinds.ts";
import type { Tier } from "./plan.ts";

/** An operation of a plugin, as the customer's install values enable it. Its code is the image's. */
export interface PluginRole {
  readonly plugin: string;
  readonly name: string;
  readonly tier: Tier;
  readonly rules: readonly PolicyRule[];
}

/** Of our own group, not served: the right by which the policy `sallyport-rollout-restart` knows the account of a plugin. */
export const CHANGED_WORKLOADS = "workloads";
export const CHANGE_WORKLOADS: PolicyRule = { apiGroups: [GROUP], resources: [CHANGED_WORKLOADS], verbs: ["change"] };

export function pluginRoleName({ plugin, name }: Pick<PluginRole, "plugin" | "name">): string {
  return operationRole(plugin, name);
}

/** The rules of its role: the customer's, and the right of our own for one that patches workloads. */
export function pluginRoleRules({ rules }: Pick<PluginRole, "rules">): readonly PolicyRule[] {
  const patches = rules.some(
    ({ apiGroups, resources, verbs }) =>
      apiGroups.includes("apps") &&
      verbs.includes("patch") &&
      resources.some((each) => (WORKLOAD_RESOURCES as readonly string[]).includes(each)),
  );
  return patches ? [...rules, CHANGE_WORKLOADS] : rules;
}
