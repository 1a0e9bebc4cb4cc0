import {
  AUTO_ACCOUNT,
  EXPIRES_AT_ANNOTATION,
  GRANT_ACCOUNT,
  GRANT_UID_LABEL,
  type InstallationNames,
  OPERATION_ROLE_PREFIX,
} from "../../group.ts";
import { CLUSTER_ROLES } from "../../kinds/lending.ts";
import type { Manifest } from "../../manifest.ts";
import { forbid, type Named, validatingPolicy } from "./admission-policy.ts";

export function operatorOnly({ systemNamespace, operatorAccount }: InstallationNames): readonly [Named] {
  const username = `system:serviceaccount:${systemNamespace}:${operatorAccount}`;
  return [{ name: "made-by-the-operator", expression: `request.userInfo.username == '${username}'` }];
}

/** CEL: the role of this binding is an operation's of cluster scope. */
export function clusterWide(binding: string): string {
  return `${binding}.roleRef.name in [${CLUSTER_ROLES.map((name) => `'${name}'`).join(", ")}]`;
}

/**
 * CEL: not a namespace in which no operation's role is ever lent. A request on a ClusterRoleBinding has no namespace.
 */
export function outsideSystem({ systemNamespace, grantsNamespace }: InstallationNames): string {
  const names = ["kube-system", "kube-public", "kube-node-lease", systemNamespace, grantsNamespace];
  return `!has(request.namespace) || !(request.namespace in [${names.map((name) => `'${name}'`).join(", ")}])`;
}

/**
 * What the operator may lend: only labelled RoleBindings, and ClusterRoleBindings for operations of cluster scope
 * only; only shipped operation roles; only to the grant's own ServiceAccount; never into a system namespace. It may
 * remove only what was lent to a grant, by itself or by an approver.
 */
export function operatorBindings(names: InstallationNames): readonly Manifest[] {
  const removing = "request.operation == 'DELETE'";
  const { roleKind = "ClusterRole" } = names;
  return validatingPolicy(
    "sallyport-operator-bindings",
    {
      apiGroups: ["rbac.authorization.k8s.io"],
      operations: ["CREATE", "UPDATE", "DELETE"],
      resources: ["rolebindings", "clusterrolebindings"],
    },
    {
      matchConditions: operatorOnly(names),
      variables: [
        { name: "target", expression: `${removing} ? oldObject : object` },
        {
          name: "grantUid",
          expression: `has(variables.target.metadata.labels) && '${GRANT_UID_LABEL}' in variables.target.metadata.labels ? variables.target.metadata.labels['${GRANT_UID_LABEL}'] : ''`,
        },
        {
          name: "grantAccount",
          expression:
            "'grant-' + (variables.grantUid.size() == 36 ? variables.grantUid.replace('-', '').substring(0, 12) : '')",
        },
        {
          // An approver's plain `kubectl create rolebinding` sets no label: role and subject show that it was lent.
          name: "lent",
          expression:
            `variables.target.roleRef.name.startsWith('${OPERATION_ROLE_PREFIX}') && has(variables.target.subjects) && ` +
            "variables.target.subjects.size() == 1 && variables.target.subjects.all(s, s.kind == 'ServiceAccount' && has(s.namespace) && " +
            `s.namespace == '${names.grantsNamespace}' && s.name.matches('${GRANT_ACCOUNT.source}'))`,
        },
      ],
      validations: [
        forbid(
          `request.resource.resource == 'rolebindings' || (${clusterWide("variables.target")})`,
          "the operator may not touch ClusterRoleBindings, but those of operations on objects without a namespace",
        ),
        forbid(
          `${removing} ? variables.lent : variables.grantUid.matches('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')`,
          `the operator may only make RoleBindings labelled ${GRANT_UID_LABEL}, and only remove those of ${OPERATION_ROLE_PREFIX}* roles to grant accounts`,
        ),
        forbid(
          `${removing} || (has(object.metadata.annotations) && '${EXPIRES_AT_ANNOTATION}' in object.metadata.annotations && ` +
            `object.metadata.annotations['${EXPIRES_AT_ANNOTATION}'].matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$'))`,
          `a RoleBinding of the operator must carry annotation ${EXPIRES_AT_ANNOTATION} (UTC, seconds)`,
        ),
        forbid(
          `${removing} || ((request.resource.resource == 'clusterrolebindings' || object.roleRef.kind == '${roleKind}') && object.roleRef.name.startsWith('${OPERATION_ROLE_PREFIX}'))`,
          `the operator may only bind ${roleKind}s named ${OPERATION_ROLE_PREFIX}*`,
        ),
        forbid(
          `${removing} || (has(object.subjects) && object.subjects.size() == 1 && object.subjects.all(s, ` +
            `s.kind == 'ServiceAccount' && has(s.namespace) && s.namespace == '${names.grantsNamespace}' && s.name == variables.grantAccount))`,
          `the operator may only bind the grant's own ServiceAccount (grant-<first 12 hex digits of the grant uid>) of namespace ${names.grantsNamespace}`,
        ),
        forbid(outsideSystem(names), "the operator may not bind roles in a system namespace"),
      ],
    },
  );
}

/** Tokens the operator mints: short, and only for grant accounts. */
export function operatorTokens(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-operator-tokens",
    { apiGroups: [""], operations: ["CREATE"], resources: ["serviceaccounts/token"] },
    {
      matchConditions: operatorOnly(names),
      validations: [
        forbid(
          `request.namespace == '${names.grantsNamespace}' && (request.name.startsWith('grant-') || ` +
            `('${names.lendingMode ?? "operator"}' == 'approver' && request.name == '${AUTO_ACCOUNT}'))`,
          "the operator may only mint tokens for grant accounts",
        ),
        forbid(
          "has(object.spec.expirationSeconds) && object.spec.expirationSeconds <= 3600",
          "a grant token may not live longer than 3600 seconds",
        ),
        forbid(
          "dyn(object).spec[?'boundObjectRef'].orValue(null) == null",
          "a grant token is bound to no other object",
        ),
        forbid(
          // The API server adds its own audience before admission; the field's owner shows whether the operator set
          // one.
          "dyn(object).metadata[?'managedFields'].orValue([]).all(m, !('f:audiences' in m[?'fieldsV1'][?'f:spec'].orValue({})))",
          "a grant token is for the API server only (audiences)",
        ),
      ],
    },
  );
}
