import { GROUP } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { forbid, MACHINE, type Match, stampingPolicy, validatingPolicy } from "./admission-policy.ts";

const GRANT_UPDATE: Match = { apiGroups: [GROUP], operations: ["UPDATE"], resources: ["accessgrants"] };

/** CEL: this write sets `field`. */
export function newly(field: string): string {
  return `has(object.spec.${field}) && !has(oldObject.spec.${field})`;
}

/** Who may approve, deny and revoke, and whose name a decision may carry. */
export function grantDecisions(): readonly Manifest[] {
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
 * The API server writes the decider's name. It leaves an explicit false name in place, so that
 * `sallyport-grant-decisions` refuses it.
 */
export function stampers(): readonly Manifest[] {
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

/**
 * Only together with {@link stampers}: refuses a decision without a name, also in the second between the loading of
 * the two.
 */
export function namedDecisions(): readonly Manifest[] {
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
