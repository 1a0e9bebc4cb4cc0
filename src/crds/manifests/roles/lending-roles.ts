import { type InstallationNames, operationRole } from "../../group.ts";
import { OPERATIONS } from "../../operations/catalog.ts";
import { type ExplainedRule, rule, type ShippedRole } from "./shipped-role.ts";

const RBAC = "rbac.authorization.k8s.io";

/** Every role that may be handed out, by name: `bind` cannot be limited by prefix. */
function bindOperations({ roleKind = "ClusterRole" }: InstallationNames, why: string): ExplainedRule {
  const resource = roleKind === "ClusterRole" ? "clusterroles" : "roles";
  return {
    ...rule(RBAC, [resource], ["bind"], why),
    resourceNames: OPERATIONS.map(({ plugin, name }) => operationRole(plugin, name)),
  };
}

/** What the operator needs in an opened namespace. */
export function operatorTarget(names: InstallationNames): ShippedRole {
  if (names.lendingMode === "approver") return operatorTidy();
  return {
    name: "sallyport-operator-target",
    holder: "operator",
    reach: "opened",
    about: "Lends shipped operation roles to grant accounts in an opened namespace, never cluster-wide.",
    rules: [
      rule(
        RBAC,
        ["rolebindings"],
        ["create", "get", "list", "delete"],
        "Lends an operation's role for the length of a window and takes it back. An admission policy narrows it to labelled bindings with an end.",
      ),
      bindOperations(
        names,
        "It may lend these roles, which it does not hold itself, and no others. `bind` knows no prefixes, so each is named.",
      ),
    ],
  };
}

/** Where approvers lend: it sees what they have lent, and takes it back. */
function operatorTidy(): ShippedRole {
  return {
    name: "sallyport-operator-target",
    holder: "operator",
    reach: "opened",
    about: "Sees which operation roles approvers have lent to grant accounts, and takes them back. It lends nothing.",
    rules: [
      rule(
        RBAC,
        ["rolebindings"],
        ["get", "list", "delete"],
        "Waits for an approver's binding, and removes it when the grant is over. An admission policy narrows it to bindings of operation roles to grant accounts.",
      ),
    ],
  };
}

/** Where approvers lend: theirs instead of the operator's. */
export function lender(names: InstallationNames): readonly ShippedRole[] {
  if (names.lendingMode !== "approver") return [];
  return [
    {
      name: "sallyport-lender",
      holder: "person",
      reach: "opened",
      about:
        "Lends operation roles in an opened namespace, for approvers; you bind it there. A person may lend to a grant what they may approve, and to what runs by itself only with the right to write policies.",
      rules: [
        rule(
          RBAC,
          ["rolebindings"],
          ["create", "get", "list", "delete"],
          "Makes the binding that an approved plan needs, and takes it back.",
        ),
        bindOperations(names, "May lend these roles and no others."),
      ],
    },
  ];
}
