import { AUTO_ACCOUNT, type InstallationNames, NAME_SALT_SECRET } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { OBSERVE_ROLE } from "./observe-role.ts";
import { type ExplainedRule, OPTIONAL_REACHES, type Reach, type ShippedRole } from "./shipped-role.ts";
import { shippedRoles } from "./shipped-roles.ts";

const APIS = "rbac.authorization.k8s.io";
const API = `${APIS}/v1`;

/** What opens operations on objects without a namespace: their roles, and the right to lend them. */
export function clusterOperations(names: InstallationNames): readonly Manifest[] {
  return rolesAt("cluster-opened", names);
}

/** What lets the agent read nodes. */
export function nodesAccess(names: InstallationNames): readonly Manifest[] {
  return rolesAt("nodes", names);
}

/** What has agent and operator check who reads their metrics, and the role for a reader. */
export function metricsAuth(names: InstallationNames): readonly Manifest[] {
  return rolesAt("metrics", names);
}

/** The Secret for the salt of names, which the agent fills, and the agent's right to it alone. */
export function nameSalt(names: InstallationNames): readonly Manifest[] {
  const metadata = { name: NAME_SALT_SECRET, namespace: names.systemNamespace };
  return [{ apiVersion: "v1", kind: "Secret", metadata, type: "Opaque" }, ...rolesAt("name-salt", names)];
}

function rolesAt(where: Reach, names: InstallationNames): readonly Manifest[] {
  const roles = shippedRoles(names).filter(({ reach }) => reach === where);
  return roles.flatMap((role) => manifestsOf(role, names));
}

/** Namespaces, accounts, and the roles of `shipped-roles.ts` with the bindings that are always there. */
export function rbac(names: InstallationNames): readonly Manifest[] {
  const always = shippedRoles(names).filter(({ reach }) => !OPTIONAL_REACHES.includes(reach));
  return [...foundations(names), ...always.flatMap((role) => manifestsOf(role, names))];
}

function foundations(names: InstallationNames): Manifest[] {
  const { systemNamespace, grantsNamespace, agentAccount, operatorAccount, lendingMode } = names;
  const ofApprovers = {
    metadata: { name: AUTO_ACCOUNT, namespace: grantsNamespace },
    automountServiceAccountToken: false,
  };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: systemNamespace } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: grantsNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: agentAccount, namespace: systemNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: operatorAccount, namespace: systemNamespace } },
    ...(lendingMode === "approver" ? [{ apiVersion: "v1", kind: "ServiceAccount", ...ofApprovers }] : []),
  ];
}

/** One shipped role in a cluster: the role, and its binding unless the customer has to bind it. */
export function manifestsOf(role: ShippedRole, names: InstallationNames): readonly Manifest[] {
  const { name, reach, labels } = role;
  const rules = role.rules.map(withoutReason);
  const isBound = role.holder === "agent" || role.holder === "operator";
  if (reach === "opened" || reach === "people" || !isBound) {
    return [{ apiVersion: API, kind: "ClusterRole", metadata: { name, ...(labels && { labels }) }, rules }];
  }
  const account = role.holder === "agent" ? names.agentAccount : names.operatorAccount;
  const subjects = [{ kind: "ServiceAccount", name: account, namespace: names.systemNamespace }];
  const clusterWide = reach === "cluster" || (reach !== "name-salt" && OPTIONAL_REACHES.includes(reach));
  const kind = clusterWide ? "ClusterRole" : "Role";
  const namespace = reach === "grants" ? names.grantsNamespace : names.systemNamespace;
  const metadata = { name, ...(!clusterWide && { namespace }) };
  const roleRef = { apiGroup: APIS, kind, name };
  return [
    { apiVersion: API, kind, metadata, rules },
    { apiVersion: API, kind: `${kind}Binding`, metadata, roleRef, subjects },
  ];
}

/**
 * A RoleBinding of a role in an opened namespace. The role it names cannot be changed, so a binding of a Role has another
 * name than one of a ClusterRole: an installation can change from one to the other.
 */
export function targetBinding(
  name: string,
  account: string,
  namespace: string,
  { systemNamespace, roleKind = "ClusterRole" }: InstallationNames,
): Manifest {
  return {
    apiVersion: API,
    kind: "RoleBinding",
    metadata: { name: roleKind === "ClusterRole" ? name : `${name}-${roleKind.toLowerCase()}`, namespace },
    roleRef: { apiGroup: APIS, kind: roleKind, name },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: systemNamespace }],
  };
}

/** One stream a kind needs the agent's role in the whole cluster, in place of a RoleBinding in each opened namespace. */
export function clusterObservation({ agentAccount, systemNamespace }: InstallationNames): Manifest {
  return {
    apiVersion: API,
    kind: "ClusterRoleBinding",
    metadata: { name: OBSERVE_ROLE },
    roleRef: { apiGroup: APIS, kind: "ClusterRole", name: OBSERVE_ROLE },
    subjects: [{ kind: "ServiceAccount", name: agentAccount, namespace: systemNamespace }],
  };
}

function withoutReason({ why: _why, ...rule }: ExplainedRule): object {
  const { nonResourceURLs, verbs } = rule;
  return nonResourceURLs === undefined ? rule : { nonResourceURLs, verbs };
}
