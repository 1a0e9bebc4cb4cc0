import {
  AUTO_ACCOUNT,
  DEBUG_ACCOUNT,
  DEBUG_NAMESPACE,
  GRANT_ACCOUNT,
  GROUP,
  type InstallationNames,
  OPERATION_ROLE_PREFIX,
  operationRole,
  RELEASE_ROLE,
} from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { OPERATIONS } from "../../operations/catalog.ts";
import { forbid, MACHINE, type Named, quoted, validatingPolicy } from "./admission-policy.ts";
import { clusterWide, LENT_ACCOUNTS, operatorOnly, outsideSystem } from "./operator-admission.ts";

/** CEL: true where approvers lend. The chart's template has the release's setting in place of the mode. */
function approversLend({ lendingMode = "operator" }: InstallationNames): string {
  return `'${lendingMode}' == 'approver'`;
}

/**
 * Lending by any account but the operator in its own mode: a person lends an operation's role to one account of a grant
 * if they may approve that operation's tier, and to the account of what runs by itself if they may write policies.
 * Without it, the right to lend in a namespace would be the right to approve everything there. A finalizer would keep a
 * binding in force after the operator has deleted it.
 */
export function lending(names: InstallationNames): readonly Manifest[] {
  const { grantsNamespace, releaseRole = RELEASE_ROLE, plugins = [] } = names;
  const tiers = [...OPERATIONS, ...plugins].map(
    ({ plugin, name, tier }) => `'${operationRole(plugin, name)}': '${tier}'`,
  );
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
        {
          name: "of-an-operations-role",
          expression: `object.roleRef.name.startsWith('${OPERATION_ROLE_PREFIX}') || (${lendsReleaseRole(names)})`,
        },
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
          // An account of a grant would be held by no policy for releases.
          `!variables.lends || !(object.roleRef.name in ['${RELEASE_ROLE}', '${releaseRole}'])`,
          "the role of releases is lent by the operator alone, to the accounts of one rollout",
        ),
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

/** CEL: what is bound to whom is new, or another one. The garbage collector writes bindings, too: it removes finalizers. */
const LENDS =
  "request.operation == 'CREATE' || has(object.subjects) != has(oldObject.subjects) || " +
  "(has(object.subjects) && object.subjects != oldObject.subjects)";

/**
 * CEL: the role that the customer has made for releases comes to an account among the grants. Bound to anybody else it
 * is the customer's own business.
 */
function lendsReleaseRole({ grantsNamespace, releaseRole = RELEASE_ROLE }: InstallationNames): string {
  const groups = ["system:authenticated", "system:serviceaccounts", `system:serviceaccounts:${grantsNamespace}`];
  return (
    `object.roleRef.name == '${releaseRole}' && (${LENDS}) && has(object.subjects) && object.subjects.exists(s, ` +
    `s.kind == 'ServiceAccount' ? has(s.namespace) && s.namespace == '${grantsNamespace}' : ` +
    `s.kind == 'User' ? s.name.startsWith('system:serviceaccount:${grantsNamespace}:') : s.name in [${quoted(groups)}])`
  );
}

/** CEL: whether this write lends something, and the one account that it lends to, or none. */
function whatIsLent(grantsNamespace: string): readonly Named[] {
  return [
    { name: "lends", expression: LENDS },
    {
      name: "account",
      expression:
        "has(object.subjects) && object.subjects.size() == 1 && object.subjects.all(s, s.kind == 'ServiceAccount' && " +
        `has(s.namespace) && s.namespace == '${grantsNamespace}') ? object.subjects[0].name : ''`,
    },
  ];
}

/** CEL: the write adds no entry to this list of the metadata. */
function nothingAdded(list: "finalizers" | "ownerReferences"): string {
  const [now, was] = [`object.metadata.${list}`, `oldObject.metadata.${list}`];
  return `(!has(${now}) || ${now}.all(e, oldObject != null && has(${was}) && e in ${was}))`;
}

/** The operator may delete accounts of grants, rollouts and debug sessions, and no other account of their namespaces. */
export function operatorAccounts(names: InstallationNames): readonly Manifest[] {
  const { debugNamespace = DEBUG_NAMESPACE } = names;
  return validatingPolicy(
    "sallyport-operator-accounts",
    { apiGroups: [""], operations: ["DELETE"], resources: ["serviceaccounts"] },
    {
      matchConditions: operatorOnly(names),
      validations: [
        forbid(
          `request.name.matches(request.namespace == '${debugNamespace}' ? '${DEBUG_ACCOUNT.source}' : '${LENT_ACCOUNTS}')`,
          "the operator may only remove the accounts of grants and debug sessions, and those of rollouts",
        ),
      ],
    },
  );
}
