import { GROUP, type InstallationNames } from "../../group.ts";
import { FINAL_ROLLOUT_STATES } from "../../kinds/rollout.ts";
import type { Manifest } from "../../manifest.ts";
import { READS_NOTHING } from "../../released/may-read.ts";
import {
  forbid,
  MACHINE,
  type Match,
  type Named,
  stampingPolicy,
  type Validation,
  validatingPolicy,
} from "./admission-policy.ts";
import { newly } from "./grant-admission.ts";
import { NOW_AND_WAS } from "./machine-policies.ts";
import { operatorOnly } from "./operator-admission.ts";
import { nothingNew } from "./plan-admission.ts";
import { planAccounts, type ReleaseOptions, rolloutObjects } from "./release-account-admission.ts";
import { rolloutReads, rolloutServiceAccounts } from "./release-objects/borrowed-objects.ts";
import { rolloutServiceNames } from "./release-objects/name-rules.ts";
import { RELEASE_SECRET_POLICIES, releaseSecretPolicies } from "./release-objects/secret-admission.ts";

/** Names of the policies that an installation has only with releases; the operator looks for them then. */
export const RELEASE_VALIDATING_POLICIES = [
  "sallyport-plan-accounts",
  "sallyport-rollout-objects",
  "sallyport-rollout-service-accounts",
  "sallyport-rollout-config-maps",
  "sallyport-rollout-volume-claims",
  "sallyport-rollout-claim-names",
  "sallyport-rollout-service-names",
  "sallyport-rollout-words",
  "sallyport-release-content",
] as const;
export const RELEASE_MUTATING_POLICIES = [
  "sallyport-stamp-rollout-approver",
  "sallyport-stamp-rollout-denier",
  "sallyport-stamp-rollout-aborter",
] as const;
/** Left out together where names are not stamped: by choice, or because the API server cannot (before 1.36). */
export const RELEASE_STAMPING_POLICIES: readonly string[] = [
  ...RELEASE_MUTATING_POLICIES,
  "sallyport-named-rollout-words",
];

/** Those that have to be in force. @param secrets whether releases bring secret values. */
export function releasePolicyNames(secrets: boolean): readonly string[] {
  return [...RELEASE_VALIDATING_POLICIES, ...(secrets ? RELEASE_SECRET_POLICIES : [])];
}

/** Who may decide on a rollout, what its accounts may write, and that what was shown stays as it was shown. */
export function releasePolicies(names: InstallationNames, options: ReleaseOptions = {}): readonly Manifest[] {
  return [
    ...planAccounts(names),
    ...rolloutObjects(names, options),
    ...rolloutServiceAccounts(names),
    ...rolloutReads(names, options.mayRead ?? READS_NOTHING),
    ...rolloutServiceNames(names),
    ...rolloutWords(names),
    ...releaseContent(),
    ...(options.secrets ? releaseSecretPolicies(names) : []),
    ...stamps(),
    ...namedWords(),
  ];
}

const spoken = (of: "now" | "was", field: string): string => `variables.${of}[?'spec'][?'${field}']`;
/** CEL: this write sets a word that stays for good. */
const said = (field: string): string => `(${spoken("now", field)}.hasValue() && !${spoken("was", field)}.hasValue())`;
/** CEL: this write changes a word that may change. */
const changed = (field: string): string =>
  `${spoken("now", field)}.orValue(null) != ${spoken("was", field)}.orValue(null)`;

/** CEL: this write takes back a word that may change. */
const cleared = (field: string): string =>
  `(${spoken("was", field)}.hasValue() && !${spoken("now", field)}.hasValue())`;

/**
 * The customer's words on a rollout: a person with the right to approve its tier lets it go on, also after a pause, and
 * takes fields over; to refuse, to hold and to stop it, the right to revoke is enough.
 */
function rolloutWords(names: InstallationNames): readonly Manifest[] {
  const [{ expression: byTheOperator }] = operatorOnly(names);
  const may = (resource: string, name: string, verb: string): string =>
    `authorizer.group('${GROUP}').resource('${resource}').namespace(request.namespace).name(${name}).check('${verb}').allowed()`;
  const variables: readonly Named[] = [
    ...NOW_AND_WAS,
    {
      name: "allows",
      expression: `${said("approvedDigest")} || ${changed("takeOver")} || ${cleared("pausedReason")}`,
    },
    { name: "stops", expression: `${said("deniedReason")} || ${said("abortReason")} || ${changed("pausedReason")}` },
    {
      name: "tier",
      // What a plan deletes counts, for good or to make it again; one that is not there yet may delete anything.
      expression:
        `${spoken("now", "action")}.orValue('') in ['install', 'update'] && ` +
        "variables.now[?'status'][?'plan'][?'prune'].orValue(1) == 0 && " +
        "variables.now[?'status'][?'plan'][?'recreate'].orValue([]).size() == 0 ? 'mutating' : 'destructive'",
    },
    { name: "mayAllow", expression: may("risks", "variables.tier", "approve") },
    { name: "mayStop", expression: `variables.mayAllow || ${may("rollouts", "request.name", "revoke")}` },
  ];
  const isOwn = (word: string, by: string): string =>
    `!${said(word)} || ${spoken("now", by)}.orValue(request.userInfo.username) == request.userInfo.username`;
  return validatingPolicy(
    "sallyport-rollout-words",
    { apiGroups: [GROUP], operations: ["CREATE", "UPDATE", "DELETE"], resources: ["rollouts"] },
    {
      variables,
      validations: [
        forbid(
          "request.operation != 'CREATE' || !(variables.allows || variables.stops)",
          "a rollout is created without the customer's words",
        ),
        {
          expression: "request.operation != 'UPDATE' || !variables.allows || variables.mayAllow",
          messageExpression:
            "'to let a rollout go on you need the right to approve ' + variables.tier + ' changes (verb approve on sallyport.dev risks/' + variables.tier + ')'",
          reason: "Forbidden",
        },
        forbid(
          `request.operation != 'UPDATE' || !(variables.allows || ${said("deniedReason")}) || !(${MACHINE})`,
          "a service account or node cannot decide on a rollout: a person does",
        ),
        forbid(
          "request.operation != 'UPDATE' || !variables.stops || variables.mayStop",
          "to deny, pause or abort a rollout you need the verb revoke on it, or the right to approve it",
        ),
        forbid(isOwn("approvedDigest", "approvedBy"), "approvedBy must be the user who approves"),
        forbid(isOwn("deniedReason", "deniedBy"), "deniedBy must be the user who denies"),
        forbid(isOwn("abortReason", "abortedBy"), "abortedBy must be the user who aborts"),
        forbid(
          `!${said("approvedDigest")} || ${spoken("now", "approvedDigest")}.orValue('') == variables.now[?'status'][?'plannedDigest'].orValue('')`,
          "approvedDigest must be what was planned and shown (status.plannedDigest)",
        ),
        forbid(
          `request.operation != 'DELETE' || !(${byTheOperator}) || variables.was[?'status'][?'state'].orValue('') in [${FINAL_ROLLOUT_STATES.map((state) => `'${state}'`).join(", ")}]`,
          "the operator deletes only the record of a rollout that has ended",
        ),
        ...plainRecord("a rollout"),
      ],
      auditAnnotations: [
        {
          key: "rollout",
          valueExpression:
            `${said("approvedDigest")} ? 'approved by ' + request.userInfo.username + ' plan ' + ${spoken("now", "approvedDigest")}.orValue('') : ` +
            `(${said("deniedReason")} ? 'denied by ' + request.userInfo.username : (${said("abortReason")} ? 'aborted by ' + request.userInfo.username : ''))`,
        },
      ],
    },
  );
}

/** No metadata by which another controller would delete the record, keep it, or take it for its own. */
function plainRecord(what: string): readonly Validation[] {
  const gone = "request.operation == 'DELETE'";
  return [
    forbid(
      `${gone} || ((!has(object.metadata.finalizers) || object.metadata.finalizers.all(f, oldObject != null && ` +
        "has(oldObject.metadata.finalizers) && f in oldObject.metadata.finalizers)) && " +
        "(!has(object.metadata.ownerReferences) || object.metadata.ownerReferences.size() == 0))",
      `${what} takes no finalizer and no owner`,
    ),
    forbid(
      `${gone} || (${nothingNew("labels")} && ${nothingNew("annotations")})`,
      `${what} takes no label and no annotation: a deployment tool would take the record for its own`,
    ),
  ];
}

/** The rules of a CRD see into no manifest: only a comparison of the whole keeps what was approved as it was approved. */
function releaseContent(): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-release-content",
    { apiGroups: [GROUP], operations: ["CREATE", "UPDATE"], resources: ["releasecontents"] },
    {
      validations: [
        forbid(
          "request.operation == 'CREATE' || dyn(object).spec == dyn(oldObject).spec",
          "the content of a release is immutable; another content is another object",
        ),
        ...plainRecord("the content of a release"),
      ],
    },
  );
}

const ROLLOUT_UPDATE: Match = { apiGroups: [GROUP], operations: ["UPDATE"], resources: ["rollouts"] };

/** The words that stay, each with the field of the name beside it and the policy that writes that name. */
const DECISIONS = [
  ["approvedDigest", "approvedBy", "sallyport-stamp-rollout-approver"],
  ["deniedReason", "deniedBy", "sallyport-stamp-rollout-denier"],
  ["abortReason", "abortedBy", "sallyport-stamp-rollout-aborter"],
] as const;

/** The API server writes the name of the person who decides. A false name that was typed is refused. */
function stamps(): readonly Manifest[] {
  return DECISIONS.flatMap(([word, by, name]) =>
    stampingPolicy(name satisfies (typeof RELEASE_MUTATING_POLICIES)[number], ROLLOUT_UPDATE, {
      matchConditions: [
        { name: "newly-said", expression: newly(word) },
        { name: "without-a-name", expression: `!has(object.spec.${by})` },
      ],
      path: `/spec/${by}`,
      value: "request.userInfo.username",
    }),
  );
}

/**
 * Only together with {@link stamps}: refuses a decision without a name, also in the second between the loading of the two.
 */
function namedWords(): readonly Manifest[] {
  return validatingPolicy("sallyport-named-rollout-words", ROLLOUT_UPDATE, {
    validations: DECISIONS.map(([word, by, stamper]) =>
      forbid(
        `!(${newly(word)}) || has(object.spec.${by})`,
        `${word} carries no name (policy ${stamper} is not active); try again, or add ${by}`,
      ),
    ),
  });
}
