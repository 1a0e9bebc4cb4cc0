import { GROUP, type InstallationNames, operationRole, TIER_LABEL } from "../group.ts";
import { MUTATING_POLICIES, VALIDATING_POLICIES } from "./admission.ts";
import type { Manifest } from "./manifest.ts";
import { OPERATION_ROLES, type PolicyRule } from "./operation-roles.ts";

const API = "rbac.authorization.k8s.io/v1";
const APIS = "rbac.authorization.k8s.io";

/**
 * Who may do what. Nothing here holds escalate, impersonate, Secrets or a wildcard. The agent is the vendor's ear: it
 * creates requests and reads. The operator is the customer's hand: it reports, and hands out shipped roles for a while.
 */
export function rbac(names: InstallationNames): readonly Manifest[] {
  return [
    ...foundations(names),
    ...agent(names),
    ...operator(names),
    ...operatorTarget(),
    ...people(),
    ...operations(),
  ];
}

function foundations({
  systemNamespace,
  grantsNamespace,
  agentAccount,
  operatorAccount,
}: InstallationNames): Manifest[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: systemNamespace } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: grantsNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: agentAccount, namespace: systemNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: operatorAccount, namespace: systemNamespace } },
  ];
}

/** Asks and reads. Never patches or deletes a grant: a deleted grant is a lost record, a patched one a stolen decision. */
function agent(names: InstallationNames): Manifest[] {
  const { systemNamespace, grantsNamespace, agentAccount } = names;
  return [
    ...granted(names, agentAccount, grantsNamespace, [
      rule(GROUP, ["accessgrants", "operationinvocations"], ["create", "get", "list", "watch"]),
      rule(GROUP, ["manageddeployments"], ["create", "get", "list", "watch", "patch", "delete"]),
      rule(GROUP, ["manageddeployments/status"], ["get", "patch"]),
      rule("events.k8s.io", ["events"], ["create", "patch"]),
    ]),
    ...granted(names, agentAccount, systemNamespace, leaderElection(agentAccount)),
    // Bind it with a RoleBinding in each namespace that the customer opens: what is reported as resource health.
    role("sallyport-agent-observe", [
      rule("apps", ["deployments", "statefulsets", "daemonsets"], ["get", "list", "watch"]),
      rule("", ["pods"], ["get", "list", "watch"]),
    ]),
  ];
}

/** Reads grants, writes only their status, makes and removes per-grant accounts. */
function operator(names: InstallationNames): Manifest[] {
  const { systemNamespace, grantsNamespace, operatorAccount } = names;
  const selfCheck = `${operatorAccount}-self-check`;
  return [
    ...granted(names, operatorAccount, grantsNamespace, [
      rule(
        GROUP,
        ["accessgrants", "operationinvocations", "operationpolicies", "manageddeployments"],
        ["get", "list", "watch"],
      ),
      rule(GROUP, ["accessgrants/status", "operationinvocations/status"], ["get", "patch"]),
      rule("", ["serviceaccounts"], ["create", "get", "list", "delete"]),
      rule("", ["serviceaccounts/token"], ["create"]),
      rule("events.k8s.io", ["events"], ["create", "patch"]),
    ]),
    ...granted(names, operatorAccount, systemNamespace, leaderElection(operatorAccount)),
    // It must notice a missing admission policy, and nothing more.
    role(selfCheck, [
      {
        apiGroups: ["admissionregistration.k8s.io"],
        resources: ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
        resourceNames: VALIDATING_POLICIES,
        verbs: ["get"],
      },
      {
        apiGroups: ["admissionregistration.k8s.io"],
        resources: ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"],
        resourceNames: MUTATING_POLICIES,
        verbs: ["get"],
      },
    ]),
    {
      apiVersion: API,
      kind: "ClusterRoleBinding",
      metadata: { name: selfCheck },
      roleRef: { apiGroup: APIS, kind: "ClusterRole", name: selfCheck },
      subjects: [{ kind: "ServiceAccount", name: operatorAccount, namespace: systemNamespace }],
    },
  ];
}

/** Bind it with a RoleBinding in each namespace that the customer opens to operations, never cluster-wide. */
function operatorTarget(): Manifest[] {
  return [
    role("sallyport-operator-target", [
      rule(APIS, ["rolebindings"], ["create", "get", "list", "delete"]),
      // `bind` cannot be limited by prefix: every role that may be handed out is listed.
      {
        apiGroups: [APIS],
        resources: ["clusterroles"],
        resourceNames: OPERATION_ROLES.map(({ plugin, operation }) => operationRole(plugin, operation)),
        verbs: ["bind"],
      },
    ]),
  ];
}

/** Bind these in the grants namespace. */
function people(): Manifest[] {
  const read = rule(
    GROUP,
    ["accessgrants", "operationinvocations", "operationpolicies", "manageddeployments"],
    ["get", "list", "watch"],
  );
  return [
    role("sallyport-viewer", [read]),
    role("sallyport-approver", [
      read,
      rule(GROUP, ["accessgrants"], ["patch", "revoke"]),
      rule(GROUP, ["risks"], ["approve"]),
    ]),
    role("sallyport-approver-read-only", [
      read,
      rule(GROUP, ["accessgrants"], ["patch"]),
      { ...rule(GROUP, ["risks"], ["approve"]), resourceNames: ["read-only"] },
    ]),
    role("sallyport-oncall", [read, rule(GROUP, ["accessgrants"], ["patch", "revoke"])]),
    role("sallyport-policy-admin", [read, rule(GROUP, ["operationpolicies"], ["create", "update", "patch", "delete"])]),
  ];
}

function operations(): Manifest[] {
  return OPERATION_ROLES.map(({ plugin, operation, tier, rules }) =>
    role(operationRole(plugin, operation), rules, { [TIER_LABEL]: tier }),
  );
}

function rule(apiGroup: string, resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: [apiGroup], resources, verbs };
}

function role(name: string, rules: readonly PolicyRule[], labels?: Readonly<Record<string, string>>): Manifest {
  return { apiVersion: API, kind: "ClusterRole", metadata: { name, ...(labels && { labels }) }, rules };
}

function leaderElection(lease: string): readonly PolicyRule[] {
  return [
    rule("coordination.k8s.io", ["leases"], ["create"]),
    { ...rule("coordination.k8s.io", ["leases"], ["get", "update", "patch"]), resourceNames: [lease] },
  ];
}

/** A Role of the account's own name in `namespace`, and its binding to the account. */
function granted(
  { systemNamespace }: InstallationNames,
  account: string,
  namespace: string,
  rules: readonly PolicyRule[],
): Manifest[] {
  return [
    { apiVersion: API, kind: "Role", metadata: { name: account, namespace }, rules },
    {
      apiVersion: API,
      kind: "RoleBinding",
      metadata: { name: account, namespace },
      roleRef: { apiGroup: APIS, kind: "Role", name: account },
      subjects: [{ kind: "ServiceAccount", name: account, namespace: systemNamespace }],
    },
  ];
}
