import { type InstallationNames, operationRole } from "../../group.ts";
import { CLUSTER_ROLES } from "../../kinds/lending.ts";
import { inScope } from "../../operations/catalog.ts";
import { type ExplainedRule, rule, type ShippedRole } from "./shipped-role.ts";

const RBAC = "rbac.authorization.k8s.io";
const roleOf = ({ plugin, name }: { readonly plugin: string; readonly name: string }): string =>
  operationRole(plugin, name);
const NAMESPACED_ROLES = inScope("namespaced").map(roleOf);

/** Every role that may be handed out, by name: `bind` cannot be limited by prefix. */
function bindRoles(resource: "clusterroles" | "roles", names: readonly string[], why: string): ExplainedRule {
  return { ...rule(RBAC, [resource], ["bind"], why), resourceNames: names };
}

function bindOperations({ roleKind = "ClusterRole", plugins = [] }: InstallationNames, why: string): ExplainedRule {
  const all = [...NAMESPACED_ROLES, ...plugins.map(roleOf)];
  return bindRoles(roleKind === "ClusterRole" ? "clusterroles" : "roles", all, why);
}

const BY_NAME =
  "It may lend these roles, which it does not hold itself, and no others. `bind` knows no prefixes, so each is named.";

/** What the operator needs in an opened namespace, and where operations of cluster scope are opened. */
export function operatorTargets(names: InstallationNames): readonly ShippedRole[] {
  if (names.lendingMode === "approver") return operatorTidies();
  const lends = ["create", "get", "list", "delete"];
  return [
    {
      name: "sallyport-operator-target",
      holder: "operator",
      reach: "opened",
      about: "Lends shipped operation roles to grant accounts in an opened namespace, never cluster-wide.",
      rules: [
        rule(
          RBAC,
          ["rolebindings"],
          lends,
          "Lends an operation's role for the length of a window and takes it back. An admission policy narrows it to labelled bindings with an end.",
        ),
        bindOperations(names, BY_NAME),
      ],
    },
    {
      name: "sallyport-operator-cluster-target",
      holder: "operator",
      reach: "cluster-opened",
      about: "Lends the roles of operations on objects without a namespace, such as nodes, to grant accounts.",
      rules: [
        rule(
          RBAC,
          ["clusterrolebindings"],
          lends,
          "Lends such a role for the length of a window and takes it back. An admission policy narrows it to the roles below, to grant accounts, and to labelled bindings with an end.",
        ),
        bindRoles("clusterroles", CLUSTER_ROLES, BY_NAME),
      ],
    },
  ];
}

/** Where approvers lend: the operator sees what they have lent, and deletes it. */
function operatorTidies(): readonly ShippedRole[] {
  const tidies = ["get", "list", "delete"];
  const why =
    "Waits for an approver's binding, and removes it when the grant is over. An admission policy narrows it to bindings of operation roles to grant accounts.";
  return [
    {
      name: "sallyport-operator-target",
      holder: "operator",
      reach: "opened",
      about: "Sees which operation roles approvers have lent to grant accounts, and takes them back. It lends nothing.",
      rules: [rule(RBAC, ["rolebindings"], tidies, why)],
    },
    {
      name: "sallyport-operator-cluster-target",
      holder: "operator",
      reach: "cluster-opened",
      about: "Sees which roles of operations on objects without a namespace approvers have lent, and takes them back.",
      rules: [rule(RBAC, ["clusterrolebindings"], tidies, why)],
    },
  ];
}

/** Where approvers lend: the approvers' roles in place of the operator's. */
export function lenders(names: InstallationNames): readonly ShippedRole[] {
  if (names.lendingMode !== "approver") return [];
  const lends = ["create", "get", "list", "delete"];
  return [
    {
      name: "sallyport-lender",
      holder: "person",
      reach: "opened",
      about:
        "Lends operation roles in an opened namespace, for approvers; you bind it there. A person may lend to a grant what they may approve, and to what runs by itself only with the right to write policies.",
      rules: [
        rule(RBAC, ["rolebindings"], lends, "Makes the binding that an approved plan needs, and takes it back."),
        bindOperations(names, "May lend these roles and no others."),
      ],
    },
    {
      name: "sallyport-cluster-lender",
      holder: "person",
      reach: "cluster-opened",
      about:
        "Lends the roles of operations on objects without a namespace, for approvers; you bind it cluster-wide. An admission policy holds each to what they may approve.",
      rules: [
        rule(RBAC, ["clusterrolebindings"], lends, "Makes the binding that an approved plan needs, and takes it back."),
        bindRoles("clusterroles", CLUSTER_ROLES, "May lend these roles and no others."),
      ],
    },
  ];
}
