import { GROUP, type InstallationNames, VERSION } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { APPLYSET_LABEL, DEPLOYMENT_ID_LABEL } from "../../release-names.ts";
import { POD_KINDS, RELEASE_RESOURCES } from "../../released/release-kinds.ts";
import { forbid, type Match, type Named, quoted, type Validation, validatingPolicy } from "./admission-policy.ts";
import { NOW_AND_WAS } from "./machine-policies.ts";
import { outsideSystem } from "./operator-admission.ts";
import { MEMBER_VARIABLES, memberRules } from "./release-objects/member-rules.ts";
import { containerRules, POD_VARIABLES, podRules } from "./release-objects/pod-rules.ts";

/** What the customer lets releases install. */
export interface ReleaseOptions {
  /** Some of the keys of RELEASE_RESOURCES. */
  readonly kinds?: readonly string[];
  /** Beginnings of image names that may be pulled. Empty: any. */
  readonly registries?: readonly string[];
  /** Whether a Service may lead out of the cluster, and Ingresses may be made; a template's expression in the chart. */
  readonly mayExpose?: boolean | string;
}

const EVERY_WRITE: Match = {
  apiGroups: ["*"],
  operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
  resources: ["*/*"],
};
const APPLYSET_ID = "^applyset-[A-Za-z0-9_-]{43}-v1$";
const DELETING = "request.operation == 'DELETE'";

/** The account that plans changes nothing, though its role would let it: a plan is shown before a person allows it. */
export function planAccounts(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy("sallyport-plan-accounts", EVERY_WRITE, {
    matchConditions: [{ name: "made-by-an-account-that-plans", expression: madeBy(names, "plan") }],
    validations: [
      forbid(
        "request.operation != 'CONNECT' && has(request.dryRun) && request.dryRun",
        "an account plan-<uid> tries out (dryRun=All) and changes nothing",
      ),
    ],
  });
}

function madeBy({ grantsNamespace }: InstallationNames, form: "plan" | "rollout"): string {
  return `request.userInfo.username.startsWith('system:serviceaccount:${grantsNamespace}:${form}-')`;
}

/**
 * What an account that plans would really write is refused by its own policy alone: of several refusals an API server tells
 * one, and the operator knows by that policy's name that plans change nothing.
 */
function releaseAccountsOnly(names: InstallationNames): readonly Named[] {
  const expression = `${madeBy(names, "rollout")} || (${madeBy(names, "plan")} && has(request.dryRun) && request.dryRun)`;
  return [{ name: "made-by-the-account-of-a-rollout", expression }];
}

function templateOf(state: "now" | "was"): string {
  const [direct, inJob] = ["", "[?'jobTemplate'][?'spec']"].map(
    (between) => `variables.${state}[?'spec']${between}[?'template'].orValue({})`,
  );
  return `variables.kind == 'CronJob.batch' ? ${inJob} : ${direct}`;
}

/** CEL: the kind of the written object with its group, and the pod that it runs, if it does. */
const WRITTEN: readonly Named[] = [
  ...NOW_AND_WAS,
  { name: "kind", expression: "request.kind.kind + (request.kind.group == '' ? '' : '.' + request.kind.group)" },
  { name: "labels", expression: "variables.now[?'metadata'][?'labels'].orValue({})" },
  { name: "wasLabels", expression: "variables.was[?'metadata'][?'labels'].orValue({})" },
  {
    // What the customer has put into a member is the customer's: it may still be labelled, detached and deleted.
    name: "changes",
    expression:
      `request.operation == 'CREATE' || (!(${DELETING}) && ` +
      "variables.now[?'spec'].orValue({}) != variables.was[?'spec'].orValue({}))",
  },
  { name: "runsPods", expression: `variables.changes && variables.kind in [${quoted(POD_KINDS)}]` },
  { name: "template", expression: templateOf("now") },
  { name: "pod", expression: "variables.template[?'spec'].orValue({})" },
  {
    name: "account",
    expression:
      "variables.pod[?'serviceAccountName'].orValue(variables.pod[?'serviceAccount'].orValue('')) == '' ? 'default' : " +
      "variables.pod[?'serviceAccountName'].orValue(variables.pod[?'serviceAccount'].orValue(''))",
  },
];

/**
 * What no release may bring into a customer's namespace: the operator judges the same (`release-rules.ts`; a test
 * compares the two), and here a stolen operator is held to it. Accounts that plan are too, so that a plan shows every
 * refusal before a person allows it.
 */
export function rolloutObjects(
  names: InstallationNames,
  { kinds = Object.keys(RELEASE_RESOURCES), registries = [], mayExpose = false }: ReleaseOptions,
): readonly Manifest[] {
  const from = quoted(registries.length === 0 ? [""] : registries);
  return validatingPolicy("sallyport-rollout-objects", EVERY_WRITE, {
    matchConditions: releaseAccountsOnly(names),
    variables: [
      ...WRITTEN,
      { name: "wasTemplate", expression: templateOf("was") },
      ...POD_VARIABLES,
      ...MEMBER_VARIABLES,
      // An empty list is one empty name, which a template can write.
      { name: "registries", expression: `[${from}].filter(r, r != '')` },
      { name: "mayExpose", expression: `'${String(mayExpose)}' == 'true'` },
    ],
    validations: [
      forbid(
        `request.operation != 'CONNECT' && (!has(request.subResource) || request.subResource == '') && variables.kind in [${quoted(kinds)}]`,
        "a rollout writes objects of the kinds that releases may install (releases.kinds), and nothing else",
      ),
      forbid(outsideSystem(names), "a rollout writes nothing in a system namespace"),
      ...ownership(),
      ...podRules(),
      ...containerRules(),
      ...memberRules(),
      ...exposureRules(),
    ],
  });
}

/** CEL: the object has neither of the labels by which releases know their own. */
const ofNoRelease = (labels: string): string =>
  `[${quoted([APPLYSET_LABEL, DEPLOYMENT_ID_LABEL])}].all(k, !(k in ${labels}))`;

/** A rollout makes members of its set, and touches no object that is none, unless the customer lets it adopt that. */
function ownership(): readonly Validation[] {
  const isMember = (labels: string): string =>
    `${labels}[?'${APPLYSET_LABEL}'].orValue('').matches('${APPLYSET_ID}') && ${labels}[?'${DEPLOYMENT_ID_LABEL}'].orValue('') != ''`;
  const [now, was] = ["now", "was"].map(
    (of) => (list: string) => `variables.${of}[?'metadata'][?'${list}'].orValue([])`,
  );
  if (now === undefined || was === undefined) throw new Error("two states");
  return [
    forbid(
      `request.operation != 'CREATE' || (${isMember("variables.labels")})`,
      `a rollout makes objects with the labels ${APPLYSET_LABEL} and ${DEPLOYMENT_ID_LABEL} only`,
    ),
    forbid(
      // What may be adopted is the next policy's to judge.
      `request.operation == 'CREATE' || (${isMember("variables.wasLabels")}) || ` +
        `(request.operation == 'UPDATE' && ${ofNoRelease("variables.wasLabels")} && ${isMember("variables.labels")})`,
      `a rollout changes and deletes only what a release has installed (labels ${APPLYSET_LABEL}, ${DEPLOYMENT_ID_LABEL})`,
    ),
    forbid(
      `request.operation != 'UPDATE' || [${quoted([APPLYSET_LABEL, DEPLOYMENT_ID_LABEL])}].all(k, ` +
        "!(k in variables.labels) || (k in variables.wasLabels && variables.labels[k] == variables.wasLabels[k])) || " +
        `(${ofNoRelease("variables.wasLabels")} && ${isMember("variables.labels")})`,
      "a rollout gives no object to another deployment",
    ),
    forbid(
      `${now("ownerReferences")}.all(o, o in ${was("ownerReferences")}) && ${now("finalizers")}.all(f, f in ${was("finalizers")} || ` +
        // The API server itself sets it on each new claim.
        "(variables.kind == 'PersistentVolumeClaim' && f == 'kubernetes.io/pvc-protection'))",
      "a rollout sets no ownerReferences and no finalizers",
    ),
    forbid(
      "request.operation != 'CREATE' || variables.now[?'metadata'][?'generateName'].orValue('') == ''",
      "a rollout names what it makes (no generateName)",
    ),
  ];
}

/** `externalIPs` take over addresses of others, and are refused also where a release may be exposed. */
function exposureRules(): readonly Validation[] {
  return [
    forbid(
      `!variables.changes || variables.mayExpose || variables.kind != 'Ingress.networking.k8s.io'`,
      "a rollout makes no Ingress here (releases.mayExpose)",
    ),
    forbid(
      `!variables.changes || variables.mayExpose || variables.kind != 'Service' || variables.now[?'spec'][?'type'].orValue('ClusterIP') == 'ClusterIP'`,
      "a rollout makes no Service that leads out of the cluster (releases.mayExpose)",
    ),
    forbid(
      `!variables.changes || variables.kind != 'Service' || variables.now[?'spec'][?'externalIPs'].orValue([]).size() == 0`,
      "a rollout takes over no address (externalIPs)",
    ),
  ];
}

/**
 * An object that no release has made is changed only where the customer's word on the rollout of this account names it
 * (spec.takeOver), and becomes a member of no other deployment. The policy is judged once for each rollout there is, and
 * says nothing of an account that belongs to none of them. Denied without any, every such write would be, by any account:
 * the API server looks for the rollouts before it looks at the conditions.
 */
export function rolloutAdoptions(names: InstallationNames): readonly Manifest[] {
  const of = "dyn(params)";
  const isOwn = `request.userInfo.username.endsWith('-' + ${of}.metadata.uid.replace('-', '').substring(0, 12))`;
  const isNamed = `${of}.spec[?'takeOver'].orValue([]).exists(t, t.kind == request.kind.kind && t.name == request.name)`;
  return validatingPolicy(
    "sallyport-rollout-adoptions",
    // Of objects that have, or get, the label of a deployment: other writes in the cluster are not judged for each rollout.
    { apiGroups: ["*"], operations: ["UPDATE"], resources: ["*"], labelled: DEPLOYMENT_ID_LABEL },
    {
      params: {
        paramKind: { apiVersion: `${GROUP}/${VERSION}`, kind: "Rollout" },
        paramRef: { namespace: names.grantsNamespace, selector: {}, parameterNotFoundAction: "Allow" },
      },
      matchConditions: [
        ...releaseAccountsOnly(names),
        {
          name: "of-an-object-that-no-release-has-made",
          expression: ofNoRelease("dyn(oldObject).metadata[?'labels'].orValue({})"),
        },
      ],
      variables: WRITTEN,
      validations: [
        forbid(
          `!(${isOwn}) || ${isNamed}`,
          "a rollout changes an object that no release has installed only where its spec.takeOver names it",
        ),
        forbid(
          `!(${isOwn}) || variables.labels[?'${DEPLOYMENT_ID_LABEL}'].orValue(${of}.spec.deploymentId) == ${of}.spec.deploymentId`,
          "a rollout adopts for its own deployment",
        ),
      ],
    },
  );
}

/**
 * Pods of a release run as an account that a release of the same deployment has made. Any other account of the namespace
 * may have rights, which the release would borrow. The policy is judged once for each account there is; one that does
 * not exist yet has no rights.
 */
export function rolloutServiceAccounts(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-rollout-service-accounts",
    { apiGroups: ["apps", "batch"], operations: ["CREATE", "UPDATE"], resources: ["*"] },
    {
      params: {
        paramKind: { apiVersion: "v1", kind: "ServiceAccount" },
        paramRef: { selector: {}, parameterNotFoundAction: "Allow" },
      },
      matchConditions: releaseAccountsOnly(names),
      variables: WRITTEN,
      validations: [
        forbid(
          "!variables.runsPods || variables.account == 'default' || params.metadata.name != variables.account || " +
            `(dyn(params).metadata[?'labels'][?'${DEPLOYMENT_ID_LABEL}'].orValue('') != '' && ` +
            `dyn(params).metadata[?'labels'][?'${DEPLOYMENT_ID_LABEL}'].orValue('') == variables.labels[?'${DEPLOYMENT_ID_LABEL}'].orValue(''))`,
          "a rollout runs pods as a service account that the release itself has installed, or as none",
        ),
      ],
    },
  );
}
