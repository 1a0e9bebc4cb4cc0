import {
  AUTO_ACCOUNT,
  GRANT_ACCOUNT,
  GROUP,
  type InstallationNames,
  OPERATION_ROLE_PREFIX,
  operationRole,
} from "../../group.ts";
import { OPERATIONS } from "../../operations/catalog.ts";
import type { Manifest } from "../manifest.ts";
import { forbid, MACHINE, type Named, validatingPolicy } from "./admission-policy.ts";
import { clusterWide, operatorOnly, outsideSystem } from "./operator-admission.ts";

/** CEL: true where approvers lend. A template of the chart has the release's word in place of the mode. */
export function approversLend({ lendingMode = "operator" }: InstallationNames): string {
  return `'${lendingMode}' == 'approver'`;
}

/**
 * Lending by anybody but the operator in its own mode: an operation's role goes to one account of a grant, by a person
 * who may approve the tier of that operation; or to the account of what runs by itself, by a person who may write
 * policies. Without it, the right to lend in a namespace would be the right to approve everything there. A binding with a
 * finalizer would outlive its deletion by the operator, and lend on.
 */
export function lending(names: InstallationNames): readonly Manifest[] {
  const { grantsNamespace } = names;
  const tiers = OPERATIONS.map(({ plugin, name, tier }) => `'${operationRole(plugin, name)}': '${tier}'`);
  const may = (resource: string): string =>
    `authorizer.group('${GROUP}').resource('${resource}').namespace('${grantsNamespace}')`;
  const [operator] = operatorOnly(names);
  return validatingPolicy(
    "sallyport-lending",
    {
      apiGroups: ["rbac.authorization.k8s.io"],
      operations: ["CREATE", "UPDATE"],
      resources: ["rolebindings", "clusterrolebindings"],
    },
    {
      matchConditions: [
        { name: "of-an-operations-role", expression: `object.roleRef.name.startsWith('${OPERATION_ROLE_PREFIX}')` },
        {
          name: "not-by-the-operator-in-its-own-mode",
          expression: `${approversLend(names)} || !(${operator.expression})`,
        },
      ],
      variables: [
        { name: "machine", expression: MACHINE },
        ...whatIsLent(grantsNamespace),
        { name: "tiers", expression: `{${tiers.join(", ")}}` },
        {
          name: "tier",
          expression: "object.roleRef.name in variables.tiers ? variables.tiers[object.roleRef.name] : 'destructive'",
        },
      ],
      validations: [
        forbid(
          `request.resource.resource == 'rolebindings' || (${clusterWide("object")})`,
          "an operation's role is lent in one namespace at a time, but for operations on objects without a namespace",
        ),
        forbid(
          `request.resource.resource == 'rolebindings' || variables.account != '${AUTO_ACCOUNT}'`,
          "an operation of cluster scope never runs by itself",
        ),
        forbid(
          "!variables.lends || !variables.machine",
          "a service account or node cannot lend an operation's role: a person does",
        ),
        forbid(
          `${nothingAdded("finalizers")} && ${nothingAdded("ownerReferences")}`,
          "a binding of an operation's role takes no finalizer, which keeps it in force after it is deleted, and no owner",
        ),
        forbid(
          `variables.account == '${AUTO_ACCOUNT}' || variables.account.matches('${GRANT_ACCOUNT.source}')`,
          `an operation's role is lent to exactly one ServiceAccount of namespace ${grantsNamespace}: grant-<first 12 hex digits of the grant uid>, or ${AUTO_ACCOUNT}`,
        ),
        forbid(outsideSystem(names), "an operation's role is not lent in a system namespace"),
        {
          expression: `!variables.lends || variables.account == '${AUTO_ACCOUNT}' || ${may("risks")}.name(variables.tier).check('approve').allowed()`,
          messageExpression:
            "'lending ' + object.roleRef.name + ' needs the right to approve ' + variables.tier + ' access grants (verb approve on sallyport.dev risks/' + variables.tier + ')'",
          reason: "Forbidden",
        },
        forbid(
          `!variables.lends || variables.account != '${AUTO_ACCOUNT}' || ${may("operationpolicies")}.check('create').allowed()`,
          `lending to ${AUTO_ACCOUNT} lets operations run by themselves: it needs the right to create operationpolicies`,
        ),
      ],
    },
  );
}

/** CEL: whether this write lends something, and the one account that it lends to, or nothing. */
function whatIsLent(grantsNamespace: string): readonly Named[] {
  return [
    {
      // The garbage collector, a service account, takes its finalizer off a binding that is being deleted.
      name: "lends",
      expression:
        "request.operation == 'CREATE' || has(object.subjects) != has(oldObject.subjects) || " +
        "(has(object.subjects) && object.subjects != oldObject.subjects)",
    },
    {
      name: "account",
      expression:
        "has(object.subjects) && object.subjects.size() == 1 && object.subjects.all(s, s.kind == 'ServiceAccount' && " +
        `has(s.namespace) && s.namespace == '${grantsNamespace}') ? object.subjects[0].name : ''`,
    },
  ];
}

/** CEL: this list of the metadata has no entry that it had not before this write. */
function nothingAdded(list: "finalizers" | "ownerReferences"): string {
  const [now, was] = [`object.metadata.${list}`, `oldObject.metadata.${list}`];
  return `(!has(${now}) || ${now}.all(e, oldObject != null && has(${was}) && e in ${was}))`;
}

/** Accounts the operator may remove: those of grants, and no other of their namespace. */
export function operatorAccounts(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-operator-accounts",
    { apiGroups: [""], operations: ["DELETE"], resources: ["serviceaccounts"] },
    {
      matchConditions: operatorOnly(names),
      validations: [
        forbid(
          `request.name.matches('${GRANT_ACCOUNT.source}')`,
          "the operator may only remove the accounts of grants",
        ),
      ],
    },
  );
}
