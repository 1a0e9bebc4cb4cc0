import {
  AUTO_ACCOUNT,
  DEBUG_ACCOUNT,
  DEBUG_NAMESPACE,
  DEBUG_SESSION_LABEL,
  EXPIRES_AT_ANNOTATION,
  GRANT_ACCOUNT,
  GRANT_UID_LABEL,
  type InstallationNames,
  OPERATION_ROLE_PREFIX,
  operationRole,
  RELEASES_NAMESPACE,
} from "../../group.ts";
import { CLUSTER_ROLES } from "../../kinds/lending.ts";
import type { Manifest } from "../../manifest.ts";
import { PLAN_ACCOUNT, ROLLOUT_ACCOUNT, ROLLOUT_UID_LABEL } from "../../release-names.ts";
import { forbid, type Named, validatingPolicy } from "./admission-policy.ts";

const REMOVING = "request.operation == 'DELETE'";
const DEBUG_ROLE_PREFIX = `${OPERATION_ROLE_PREFIX}debug-`;
/** What a rollout is lent, and nothing else is. */
export const RELEASE_ROLE: string = operationRole("release", "apply");
/** The names of the two accounts of a rollout. */
export const RELEASE_ACCOUNTS: string = `${PLAN_ACCOUNT.source}|${ROLLOUT_ACCOUNT.source}`;
/** The names of the accounts that the operator makes among grants. */
export const LENT_ACCOUNTS: string = `${GRANT_ACCOUNT.source}|${RELEASE_ACCOUNTS}`;

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
export function outsideSystem(names: InstallationNames): string {
  const { systemNamespace, grantsNamespace, debugNamespace = DEBUG_NAMESPACE } = names;
  const { releasesNamespace = RELEASES_NAMESPACE } = names;
  const ours = [systemNamespace, grantsNamespace, debugNamespace, releasesNamespace];
  const system = ["kube-system", "kube-public", "kube-node-lease", ...ours];
  return `!has(request.namespace) || !(request.namespace in [${system.map((name) => `'${name}'`).join(", ")}])`;
}

/**
 * What the operator may lend: only labelled RoleBindings, and ClusterRoleBindings for operations of cluster scope
 * only; only shipped operation roles; only to the own ServiceAccount of the grant, the debug session or the rollout that
 * the label names; never into a system namespace. It may remove only what was lent so, by itself or by an approver.
 */
export function operatorBindings(names: InstallationNames): readonly Manifest[] {
  const { roleKind = "ClusterRole", debugNamespace = DEBUG_NAMESPACE } = names;
  return validatingPolicy(
    "sallyport-operator-bindings",
    {
      apiGroups: ["rbac.authorization.k8s.io"],
      operations: ["CREATE", "UPDATE", "DELETE"],
      resources: ["rolebindings", "clusterrolebindings"],
    },
    {
      matchConditions: operatorOnly(names),
      variables: bindingVariables(names),
      validations: [
        forbid(
          `request.resource.resource == 'rolebindings' || (${clusterWide("variables.target")})`,
          "the operator may not touch ClusterRoleBindings, but those of operations on objects without a namespace",
        ),
        forbid(
          `${REMOVING} ? variables.lent : variables.uid.matches('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') && ` +
            "(variables.debugUid != '') == (variables.form == 'debug') && (variables.rolloutUid != '') == (variables.form == 'release')",
          `the operator may only make RoleBindings labelled ${GRANT_UID_LABEL} (those of debug sessions ${DEBUG_SESSION_LABEL}, of rollouts ${ROLLOUT_UID_LABEL}), and only remove those of ${OPERATION_ROLE_PREFIX}* roles to accounts of grants, debug sessions and rollouts`,
        ),
        forbid(
          `${REMOVING} || (has(object.metadata.annotations) && '${EXPIRES_AT_ANNOTATION}' in object.metadata.annotations && ` +
            `object.metadata.annotations['${EXPIRES_AT_ANNOTATION}'].matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$'))`,
          `a RoleBinding of the operator must carry annotation ${EXPIRES_AT_ANNOTATION} (UTC, seconds)`,
        ),
        forbid(
          // Five minutes for clocks that differ.
          `${REMOVING} || variables.form != 'release' || timestamp(object.metadata.annotations['${EXPIRES_AT_ANNOTATION}']) <= ` +
            "timestamp(object.metadata.creationTimestamp) + duration('2h5m')",
          `a rollout is lent its role for two hours at most (${EXPIRES_AT_ANNOTATION})`,
        ),
        forbid(
          `${REMOVING} || ((request.resource.resource == 'clusterrolebindings' || object.roleRef.kind == '${roleKind}') && object.roleRef.name.startsWith('${OPERATION_ROLE_PREFIX}'))`,
          `the operator may only bind ${roleKind}s named ${OPERATION_ROLE_PREFIX}*`,
        ),
        forbid(
          `${REMOVING} || (has(object.subjects) && object.subjects.size() == 1 && object.subjects.all(s, ` +
            "s.kind == 'ServiceAccount' && has(s.namespace) && s.namespace == variables.home && (variables.form != 'release' ? s.name in variables.borrowers : " +
            `s.name == object.metadata.name && s.name.matches('${RELEASE_ACCOUNTS}') && variables.borrowers.exists(b, s.name.startsWith(b)))))`,
          `the operator may only bind the grant's own ServiceAccount (grant-<first 12 hex digits of the grant uid>) of namespace ${names.grantsNamespace}, a debug session's own of namespace ${debugNamespace}, and a rollout's own (plan-… and rollout-<first 12 hex digits of the rollout uid>.<deployment>, in a binding of the same name)`,
        ),
        forbid(outsideSystem(names), "the operator may not bind roles in a system namespace"),
      ],
    },
  );
}

/** CEL: the binding, whose it is by its label, and to whom it may lend: a name, or for rollouts how that name begins. */
function bindingVariables({ grantsNamespace, debugNamespace = DEBUG_NAMESPACE }: InstallationNames): readonly Named[] {
  const labelled = (label: string): string =>
    `has(variables.target.metadata.labels) && '${label}' in variables.target.metadata.labels ? variables.target.metadata.labels['${label}'] : ''`;
  const byForm = (debug: string, release: string, grant: string): string =>
    `variables.form == 'debug' ? ${debug} : (variables.form == 'release' ? ${release} : ${grant})`;
  return [
    { name: "target", expression: `${REMOVING} ? oldObject : object` },
    { name: "grantUid", expression: labelled(GRANT_UID_LABEL) },
    { name: "debugUid", expression: labelled(DEBUG_SESSION_LABEL) },
    { name: "rolloutUid", expression: labelled(ROLLOUT_UID_LABEL) },
    {
      // A mode's role goes to the account of one debug session, an operation's to that of one grant, and a release's to
      // those of one rollout; never crosswise.
      name: "form",
      expression:
        `variables.target.roleRef.name.startsWith('${DEBUG_ROLE_PREFIX}') ? 'debug' : ` +
        `(variables.target.roleRef.name == '${RELEASE_ROLE}' ? 'release' : 'grant')`,
    },
    { name: "uid", expression: byForm("variables.debugUid", "variables.rolloutUid", "variables.grantUid") },
    {
      name: "uid12",
      expression: "variables.uid.size() == 36 ? variables.uid.replace('-', '').substring(0, 12) : ''",
    },
    {
      name: "borrowers",
      expression: byForm(
        "['debug-' + variables.uid12]",
        "['plan-' + variables.uid12 + '.', 'rollout-' + variables.uid12 + '.']",
        "['grant-' + variables.uid12]",
      ),
    },
    { name: "home", expression: `variables.form == 'debug' ? '${debugNamespace}' : '${grantsNamespace}'` },
    {
      // An approver's plain `kubectl create rolebinding` sets no label: role and subject show that it was lent.
      name: "lent",
      expression:
        `variables.target.roleRef.name.startsWith('${OPERATION_ROLE_PREFIX}') && has(variables.target.subjects) && ` +
        "variables.target.subjects.size() == 1 && variables.target.subjects.all(s, s.kind == 'ServiceAccount' && has(s.namespace) && " +
        `s.namespace == variables.home && s.name.matches(${byForm(
          `'${DEBUG_ACCOUNT.source}'`,
          `'${RELEASE_ACCOUNTS}'`,
          `'${GRANT_ACCOUNT.source}'`,
        )}))`,
    },
  ];
}

/** Tokens the operator mints: short, and only for accounts of grants and rollouts. */
export function operatorTokens(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-operator-tokens",
    { apiGroups: [""], operations: ["CREATE"], resources: ["serviceaccounts/token"] },
    {
      matchConditions: operatorOnly(names),
      validations: [
        forbid(
          `request.namespace == '${names.grantsNamespace}' && (request.name.startsWith('grant-') || ` +
            `request.name.matches('${RELEASE_ACCOUNTS}') || ` +
            `('${names.lendingMode ?? "operator"}' == 'approver' && request.name == '${AUTO_ACCOUNT}'))`,
          "the operator may only mint tokens for grant accounts, and those of rollouts",
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
