import { EXPIRES_AT_ANNOTATION, GRANT_UID_LABEL, type InstallationNames, OPERATION_ROLE_PREFIX } from "../group.ts";
import { forbid, type Named, validatingPolicy } from "./admission-policy.ts";
import type { Manifest } from "./manifest.ts";

function operatorOnly({ systemNamespace, operatorAccount }: InstallationNames): readonly Named[] {
  const username = `system:serviceaccount:${systemNamespace}:${operatorAccount}`;
  return [{ name: "made-by-the-operator", expression: `request.userInfo.username == '${username}'` }];
}

/**
 * 4. What the operator may hand out: only labelled RoleBindings, only shipped operation roles, only to the grant's own
 * ServiceAccount, never into a system namespace; and it may remove only what it made.
 */
export function operatorBindings(names: InstallationNames): readonly Manifest[] {
  const system = ["kube-system", "kube-public", "kube-node-lease", names.systemNamespace, names.grantsNamespace];
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
      ],
      validations: [
        forbid("request.resource.resource == 'rolebindings'", "the operator may not touch ClusterRoleBindings"),
        forbid(
          "variables.grantUid.matches('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')",
          `the operator may only touch RoleBindings labelled ${GRANT_UID_LABEL}`,
        ),
        forbid(
          `${removing} || (has(object.metadata.annotations) && '${EXPIRES_AT_ANNOTATION}' in object.metadata.annotations && ` +
            `object.metadata.annotations['${EXPIRES_AT_ANNOTATION}'].matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$'))`,
          `a RoleBinding of the operator must carry annotation ${EXPIRES_AT_ANNOTATION} (UTC, seconds)`,
        ),
        forbid(
          `${removing} || (object.roleRef.kind == '${roleKind}' && object.roleRef.name.startsWith('${OPERATION_ROLE_PREFIX}'))`,
          `the operator may only bind ${roleKind}s named ${OPERATION_ROLE_PREFIX}*`,
        ),
        forbid(
          `${removing} || (has(object.subjects) && object.subjects.size() == 1 && object.subjects.all(s, ` +
            `s.kind == 'ServiceAccount' && has(s.namespace) && s.namespace == '${names.grantsNamespace}' && s.name == variables.grantAccount))`,
          `the operator may only bind the grant's own ServiceAccount (grant-<first 12 hex digits of the grant uid>) of namespace ${names.grantsNamespace}`,
        ),
        forbid(
          `!(request.namespace in [${system.map((name) => `'${name}'`).join(", ")}])`,
          "the operator may not bind roles in a system namespace",
        ),
      ],
    },
  );
}

/** 5. Tokens the operator mints: short, and only for grant accounts. */
export function operatorTokens(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-operator-tokens",
    { apiGroups: [""], operations: ["CREATE"], resources: ["serviceaccounts/token"] },
    {
      matchConditions: operatorOnly(names),
      validations: [
        forbid(
          `request.namespace == '${names.grantsNamespace}' && request.name.startsWith('grant-')`,
          "the operator may only mint tokens for grant accounts",
        ),
        forbid(
          "has(object.spec.expirationSeconds) && object.spec.expirationSeconds <= 3600",
          "a grant token may not live longer than 3600 seconds",
        ),
      ],
    },
  );
}

/** 6. RBAC cannot say "restart, but change nothing else": a grant account may only set the restart annotation. */
export function rolloutRestart({ grantsNamespace }: InstallationNames): readonly Manifest[] {
  const template = "spec.template.metadata";
  const orEmpty = (object: string, field: string): string =>
    `has(${object}.${template}.${field}) ? ${object}.${template}.${field} : {}`;
  return validatingPolicy(
    "sallyport-rollout-restart",
    { apiGroups: ["apps"], operations: ["UPDATE"], resources: ["deployments", "statefulsets", "daemonsets"] },
    {
      matchConditions: [
        {
          name: "made-by-a-grant-account",
          expression: `request.userInfo.username.startsWith('system:serviceaccount:${grantsNamespace}:')`,
        },
      ],
      variables: [
        { name: "newLabels", expression: orEmpty("object", "labels") },
        { name: "oldLabels", expression: orEmpty("oldObject", "labels") },
        { name: "newNotes", expression: orEmpty("object", "annotations") },
        { name: "oldNotes", expression: orEmpty("oldObject", "annotations") },
      ],
      validations: [
        forbid(
          "object.spec.template.spec == oldObject.spec.template.spec && object.spec.selector == oldObject.spec.selector && " +
            "['replicas', 'paused', 'strategy', 'updateStrategy', 'serviceName', 'volumeClaimTemplates'].all(f, " +
            "(f in dyn(object.spec)) == (f in dyn(oldObject.spec)) && (!(f in dyn(object.spec)) || dyn(object.spec)[f] == dyn(oldObject.spec)[f])) && " +
            "variables.newLabels == variables.oldLabels && " +
            "variables.newNotes.all(k, k == 'kubectl.kubernetes.io/restartedAt' || (k in variables.oldNotes && variables.oldNotes[k] == variables.newNotes[k])) && " +
            "variables.oldNotes.all(k, k in variables.newNotes)",
          "a grant account may only restart a workload (pod template annotation kubectl.kubernetes.io/restartedAt)",
        ),
      ],
    },
  );
}
