import { list, NAMESPACE, OBJECT_NAME } from "./chart-value.ts";

const ROLES = ["viewer", "approver", "approver-read-only", "oncall", "policy-admin"];

/** Who holds a role for people, in the grants namespace. */
export const PEOPLE_BINDINGS = list(
  "Who holds them in the grants namespace, as `{role: approver, kind: Group, name: platform-team}`. Kinds: User, Group, ServiceAccount (with its `namespace`). Roles: viewer, approver, approver-read-only, oncall, policy-admin.",
  [],
  {
    type: "object",
    required: ["role", "kind", "name"],
    additionalProperties: false,
    properties: {
      role: { enum: ROLES },
      kind: { enum: ["User", "Group", "ServiceAccount"] },
      name: { type: "string", minLength: 1 },
      namespace: NAMESPACE,
    },
  },
);

/** The customer's own OperationPolicies, so that Git holds them with the installation. */
export const POLICIES = list(
  "Your OperationPolicies, as `{name: shop, spec: {…}}`: made with the first install, changed and removed with upgrades. `default` is operationPolicy's.",
  [],
  {
    type: "object",
    required: ["name", "spec"],
    additionalProperties: false,
    properties: { name: OBJECT_NAME, spec: { type: "object" } },
  },
);
