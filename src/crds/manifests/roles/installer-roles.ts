import { DEFAULT_NAMES } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import type { PolicyRule } from "../../operations/operation.ts";
import type { Reach, ShippedRole } from "./shipped-role.ts";
import { shippedRoles } from "./shipped-roles.ts";

/**
 * What a person needs beside the built-in role `admin` to install the chart into namespaces. The API server lets a
 * person make a Role only of rules that the person holds, so each of these holds the rules of the Roles that the chart
 * makes in one kind of place. None holds `escalate`: the person can hand out these rules and no others.
 */
export function installerRoles(): readonly Manifest[] {
  const roles = (["operator", "approver"] as const).flatMap((lendingMode) =>
    shippedRoles({ ...DEFAULT_NAMES, roleKind: "Role", lendingMode }),
  );
  return [
    clusterRole("sallyport-installer-grants", roles, "grants"),
    clusterRole("sallyport-installer-opened", roles, "opened"),
    clusterRole("sallyport-installer-people", roles, "people"),
  ];
}

function clusterRole(name: string, roles: readonly ShippedRole[], reach: Reach): Manifest {
  const rules = roles.filter((role) => role.reach === reach).flatMap((role) => role.rules);
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name },
    rules: united(rules),
  };
}

/** A rule for each resource, with the verbs of all its rules. */
function united(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const found = new Map<string, PolicyRule>();
  for (const { apiGroups, resources, resourceNames, verbs } of rules) {
    for (const resource of resources) {
      const key = JSON.stringify([apiGroups, resource, resourceNames]);
      const before = found.get(key)?.verbs ?? [];
      const all = [...new Set([...before, ...verbs])];
      found.set(key, { apiGroups, resources: [resource], verbs: all, ...(resourceNames && { resourceNames }) });
    }
  }
  return [...found.values()];
}
