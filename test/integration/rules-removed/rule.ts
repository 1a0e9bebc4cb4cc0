import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import {
  type ExplainedRule,
  OPTIONAL_REACHES,
  type ShippedRole,
} from "../../../src/crds/manifests/roles/shipped-role.ts";
import { shippedRoles } from "../../../src/crds/manifests/roles/shipped-roles.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import type { KubeObject, Resource } from "../../../src/kube/objects/resource.ts";
import { signal } from "../../world/wait.ts";

/** One rule in docs/permissions.md of the agent or the operator. */
export interface Rule {
  /** `agent: list, watch pods (opened)`, for a test's name. */
  readonly title: string;
  readonly role: ShippedRole;
  readonly rule: ExplainedRule;
}

export const RULES: readonly Rule[] = shippedRoles(DEFAULT_NAMES)
  .filter(({ holder, reach }) => !OPTIONAL_REACHES.includes(reach) && (holder === "agent" || holder === "operator"))
  .flatMap((role) =>
    role.rules.map((rule) => {
      const what = `${rule.verbs.join(", ")} ${rule.resources.join(", ")}${rule.resourceNames ? " by name" : ""}`;
      return { title: `${role.holder}: ${what} (${role.reach})`, role, rule };
    }),
  );

const rbac = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind,
  plural,
  namespaced,
});

interface RoleObject extends KubeObject {
  readonly rules: readonly { readonly resources?: readonly string[]; readonly verbs: readonly string[] }[];
}

/** Removes the rule from the role in the cluster. Returns what puts it back. Works on every cluster with our roles. */
export async function removeRule(admin: Client, { role, rule }: Rule): Promise<() => Promise<void>> {
  const { systemNamespace, grantsNamespace } = DEFAULT_NAMES;
  const namespace = { system: systemNamespace, grants: grantsNamespace }[String(role.reach)];
  const resource = namespace === undefined ? rbac("ClusterRole", "clusterroles", false) : rbac("Role", "roles", true);
  const key = { name: role.name, ...(namespace !== undefined && { namespace }) };
  const found = await admin.get<RoleObject>(resource, key, signal());
  const isIt = (each: RoleObject["rules"][number]): boolean =>
    each.resources?.join() === rule.resources.join() && each.verbs.join() === rule.verbs.join();
  const rest = found?.rules.filter((each) => !isIt(each)) ?? [];
  if (found === undefined || rest.length !== found.rules.length - 1) throw new Error(`no such rule in ${role.name}`);
  const write = async (rules: RoleObject["rules"]): Promise<void> => {
    await admin.patch(resource, key, { type: "merge", body: { rules } }, {}, signal());
  };
  await write(rest);
  return () => write(found.rules);
}
