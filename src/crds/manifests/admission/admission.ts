import { GROUP, type InstallationNames } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { forbid, MACHINE, type Match, stampingPolicy, validatingPolicy } from "./admission-policy.ts";
import { deploymentAcceptance } from "./deployment-admission.ts";
import { nodeScheduling, podDeletion, rolloutRestart, scaleBounds } from "./grant-account-admission.ts";
import { lending, operatorAccounts } from "./lending-admission.ts";
import { operatorObjects } from "./made-objects-admission.ts";
import { operatorBindings, operatorTokens } from "./operator-admission.ts";
import { ownNames } from "./own-name-admission.ts";
import { UNREADABLE, UNREADABLE_PARAMS } from "./readable-params.ts";
import { toldWordsOnly } from "./told-admission.ts";

/** Names of all policies; the operator looks for each of them. */
export const VALIDATING_POLICIES = [
  "sallyport-grant-decisions",
  "sallyport-plan-hygiene",
  "sallyport-result-size",
  "sallyport-operator-bindings",
  "sallyport-operator-tokens",
  "sallyport-operator-accounts",
  "sallyport-operator-objects",
  "sallyport-lending",
  "sallyport-rollout-restart",
  "sallyport-scale-bounds",
  "sallyport-pod-deletion",
  "sallyport-node-scheduling",
  "sallyport-own-events",
  "sallyport-own-leases",
  "sallyport-named-decisions",
  "sallyport-deployment-acceptance",
  "sallyport-told-words",
  "sallyport-told-events",
] as const;
export const MUTATING_POLICIES = ["sallyport-stamp-decider", "sallyport-stamp-revoker"] as const;
/**
 * Policies that see access grants. The operator trusts the name on a decision only when all of them are older than it.
 */
export const DECISION_POLICIES: readonly string[] = [
  "sallyport-grant-decisions",
  "sallyport-plan-hygiene",
  "sallyport-named-decisions",
  ...MUTATING_POLICIES,
];

/** Who may write which field of a decision, what a plan may contain, and what the operator may lend. */
export function admissionPolicies(names: InstallationNames): readonly Manifest[] {
  return [
    ...grantDecisions(),
    ...planHygiene(names),
    ...resultSize(),
    ...operatorBindings(names),
    ...operatorTokens(names),
    ...operatorAccounts(names),
    ...operatorObjects(names),
    ...lending(names),
    ...rolloutRestart(names),
    ...scaleBounds(names),
    ...podDeletion(names),
    ...nodeScheduling(names),
    ...ownNames(names),
    ...stampers(),
    ...namedDecisions(),
    ...deploymentAcceptance(names),
    ...toldWordsOnly(names),
  ];
}

const GRANT_UPDATE: Match = { apiGroups: [GROUP], operations: ["UPDATE"], resources: ["accessgrants"] };

/** CEL: this write sets `field`. */
function newly(field: string): string {
  return `has(object.spec.${field}) && !has(oldObject.spec.${field})`;
}

/** 1. Decisions: who may approve, deny and revoke, and whose name a decision may carry. */
function grantDecisions(): readonly Manifest[] {
  return validatingPolicy("sallyport-grant-decisions", GRANT_UPDATE, {
    variables: [
      { name: "approving", expression: newly("approvedForMinutes") },
      { name: "denying", expression: newly("deniedReason") },
      { name: "revoking", expression: newly("revokedReason") },
      {
        name: "mayApprove",
        expression:
          "authorizer.group('sallyport.dev').resource('risks').namespace(request.namespace).name(object.spec.risk).check('approve').allowed()",
      },
      {
        name: "mayRevoke",
        expression:
          "variables.mayApprove || authorizer.group('sallyport.dev').resource('accessgrants').namespace(request.namespace).name(request.name).check('revoke').allowed()",
      },
      { name: "machine", expression: MACHINE },
    ],
    validations: [
      {
        expression: "!variables.approving || variables.mayApprove",
        messageExpression:
          "'user \"' + request.userInfo.username + '\" may not approve ' + object.spec.risk + ' access grants (needs verb approve on sallyport.dev risks/' + object.spec.risk + ')'",
        reason: "Forbidden",
      },
      forbid(
        "!(variables.approving || variables.denying) || !variables.machine",
        "a service account or node cannot decide an access grant",
      ),
      forbid(
        "!(variables.denying || variables.revoking) || variables.mayRevoke",
        "denying or revoking needs verb revoke on the access grant",
      ),
      forbid(
        "!(variables.approving || variables.denying) || !has(object.spec.decidedBy) || object.spec.decidedBy == request.userInfo.username",
        "decidedBy must be the user making the decision",
      ),
      forbid(
        "!variables.revoking || !has(object.spec.revokedBy) || object.spec.revokedBy == request.userInfo.username",
        "revokedBy must be the user revoking",
      ),
    ],
    auditAnnotations: [
      {
        key: "decision",
        valueExpression:
          "variables.approving ? 'approved by ' + request.userInfo.username + ' plan ' + object.spec.planHash : " +
          "(variables.denying ? 'denied by ' + request.userInfo.username : (variables.revoking ? 'revoked by ' + request.userInfo.username : ''))",
      },
    ],
  });
}

/**
 * 2. Readable, bounded plans; no metadata that would delete an object, or keep it, without a person knowing.
 *
 * A nested string inside `'%s'.format()` comes out quoted, with every unprintable character as a backslash escape.
 */
function planHygiene({ systemNamespace, agentAccount }: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-plan-hygiene",
    {
      apiGroups: [GROUP],
      operations: ["CREATE", "UPDATE"],
      resources: ["accessgrants", "operationinvocations", "manageddeployments"],
    },
    {
      variables: [
        {
          name: "params",
          expression:
            "request.operation != 'CREATE' ? [] : " +
            "has(object.spec.commands) ? object.spec.commands.filter(c, has(c.params)).map(c, '%s'.format([c.params])) : " +
            "has(object.spec.params) ? ['%s'.format([object.spec.params])] : []",
        },
        {
          name: "annotations",
          expression:
            "has(object.metadata.annotations) ? object.metadata.annotations.map(k, k + ' ' + object.metadata.annotations[k]) : []",
        },
      ],
      validations: [
        {
          expression: "variables.params.all(p, p.size() <= 8192)",
          message: "params of one command may not exceed 8192 characters",
        },
        {
          expression: "variables.params.map(p, p.size()).sum() <= 65536",
          message: "params of all commands together may not exceed 65536 characters",
        },
        {
          expression: `variables.params.all(p, !p.matches(r'${UNREADABLE_PARAMS}'))`,
          message: "params hold control, zero-width or bidirectional characters",
        },
        {
          expression: `variables.annotations.all(a, !a.matches(r'${UNREADABLE}'))`,
          message: "annotations hold control, zero-width or bidirectional characters",
        },
        forbid(
          "!has(object.metadata.finalizers) || object.metadata.finalizers.all(f, " +
            "oldObject != null && has(oldObject.metadata.finalizers) && f in oldObject.metadata.finalizers)",
          "finalizers may not be added to this object",
        ),
        forbid(
          "!has(object.metadata.ownerReferences) || object.metadata.ownerReferences.size() == 0",
          "ownerReferences may not be set on this object",
        ),
        forbid(
          `request.userInfo.username != 'system:serviceaccount:${systemNamespace}:${agentAccount}' || ` +
            "((!has(object.metadata.labels) || object.metadata.labels.size() == 0) && " +
            "(!has(object.metadata.annotations) || object.metadata.annotations.size() == 0))",
          "the agent sets no label and no annotation: other controllers act, and delete, by them",
        ),
        forbid(
          `request.resource.resource == 'manageddeployments' || (${nothingNew("labels")} && ${nothingNew("annotations")})`,
          "a grant or an invocation takes no label and no annotation: a deployment tool would take the record for its own, and prune it",
        ),
      ],
    },
  );
}

/** CEL: the write adds no entry to this map of the metadata. */
function nothingNew(map: "labels" | "annotations"): string {
  const [now, was] = [`object.metadata.${map}`, `oldObject.metadata.${map}`];
  return `(!has(${now}) || ${now}.all(k, oldObject != null && has(${was}) && k in ${was} && ${was}[k] == ${now}[k]))`;
}

/** 3. Results are bounded too. */
function resultSize(): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-result-size",
    { apiGroups: [GROUP], operations: ["UPDATE"], resources: ["operationinvocations/status"] },
    {
      validations: [
        {
          expression:
            "!has(object.status) || !has(object.status.result) || '%s'.format([object.status.result]).size() <= 65536",
          message: "result may not exceed 65536 characters",
        },
      ],
    },
  );
}

/**
 * 7. The API server writes the decider's name. It leaves an explicit false name in place, so that policy 1 refuses it.
 */
function stampers(): readonly Manifest[] {
  return [
    ...stampingPolicy("sallyport-stamp-decider", GRANT_UPDATE, {
      matchConditions: [
        { name: "newly-decided", expression: `(${newly("approvedForMinutes")}) || (${newly("deniedReason")})` },
        { name: "without-a-name", expression: "!has(object.spec.decidedBy)" },
      ],
      path: "/spec/decidedBy",
      value: "request.userInfo.username",
    }),
    ...stampingPolicy("sallyport-stamp-revoker", GRANT_UPDATE, {
      matchConditions: [
        { name: "newly-revoked", expression: newly("revokedReason") },
        { name: "without-a-name", expression: "!has(object.spec.revokedBy)" },
      ],
      path: "/spec/revokedBy",
      value: "request.userInfo.username",
    }),
  ];
}

/** 8. Only together with 7: refuses a decision without a name, also in the second between the loading of the two. */
function namedDecisions(): readonly Manifest[] {
  return validatingPolicy("sallyport-named-decisions", GRANT_UPDATE, {
    validations: [
      forbid(
        "!(has(object.spec.approvedForMinutes) || has(object.spec.deniedReason)) || has(oldObject.spec.approvedForMinutes) || has(oldObject.spec.deniedReason) || has(object.spec.decidedBy)",
        "the decision carries no name (policy sallyport-stamp-decider is not active); try again, or add decidedBy",
      ),
      forbid(
        "!has(object.spec.revokedReason) || has(oldObject.spec.revokedReason) || has(object.spec.revokedBy)",
        "the revocation carries no name (policy sallyport-stamp-revoker is not active); try again, or add revokedBy",
      ),
    ],
  });
}
