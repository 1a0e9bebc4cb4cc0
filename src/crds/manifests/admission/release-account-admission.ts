import type { InstallationNames } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { APPLYSET_LABEL, DEPLOYMENT_ID_LABEL } from "../../release-names.ts";
import { type MayRead, READS_NOTHING } from "../../released/may-read.ts";
import { MAX_PODS, type MayUse, USES_NOTHING } from "../../released/may-use.ts";
import { RELEASE_RESOURCES } from "../../released/release-kinds.ts";
import { forbid, type Match, quoted, type Validation, validatingPolicy } from "./admission-policy.ts";
import { outsideSystem } from "./operator-admission.ts";
import { MEMBER_VARIABLES, memberRules } from "./release-objects/member-rules.ts";
import { nameRules, sizeRules } from "./release-objects/name-rules.ts";
import { containerRules, POD_VARIABLES, podRules, restrictedRules } from "./release-objects/pod-rules.ts";
import { readVariables, secretRules } from "./release-objects/read-rules.ts";
import { useRules, useVariables } from "./release-objects/use-rules.ts";
import { madeBy, releaseAccountsOnly, WRITTEN } from "./release-objects/written.ts";

/** What the customer lets releases install. */
export interface ReleaseOptions {
  /** Some of the keys of RELEASE_RESOURCES. */
  readonly kinds?: readonly string[];
  /** Beginnings of image names that may be pulled. Empty: any. */
  readonly registries?: readonly string[];
  /** Whether a Service may lead out of the cluster, and Ingresses may be made; a template's expression in the chart. */
  readonly mayExpose?: boolean | string;
  /** What pods may read that no release brings. Left out: nothing. */
  readonly mayRead?: MayRead;
  /** What they may name of the customer's, and bear. Left out: no more than is always free. */
  readonly mayUse?: MayUse;
  /** Pods of one release; a template's expression in the chart. */
  readonly maxPods?: number | string;
  /** The level of Pod Security that pods are held to, one of POD_SECURITY_LEVELS; a template's expression in the chart. */
  readonly podSecurity?: string;
  /** Whether releases bring secret values; a template's expression in the chart. */
  readonly secrets?: boolean | string;
}

const EVERY_WRITE: Match = {
  apiGroups: ["*"],
  operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
  resources: ["*/*"],
};
const APPLYSET_ID = "^applyset-[A-Za-z0-9_-]{43}-v1$";

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

/**
 * What no release may bring into a customer's namespace: the operator judges the same (`release-rules.ts`; a test
 * compares the two), and here a stolen operator is held to it. Accounts that plan are too, so that a plan shows every
 * refusal before a person allows it.
 */
export function rolloutObjects(names: InstallationNames, options: ReleaseOptions): readonly Manifest[] {
  const { kinds = Object.keys(RELEASE_RESOURCES), registries = [], mayExpose = false, secrets = false } = options;
  const { mayRead = READS_NOTHING, podSecurity = "restricted", mayUse = USES_NOTHING, maxPods = MAX_PODS } = options;
  const from = quoted(registries.length === 0 ? [""] : registries);
  return validatingPolicy("sallyport-rollout-objects", EVERY_WRITE, {
    matchConditions: releaseAccountsOnly(names),
    variables: [
      ...WRITTEN,
      ...readVariables("Secret", mayRead),
      ...POD_VARIABLES,
      ...MEMBER_VARIABLES,
      ...useVariables(mayUse),
      { name: "maxPods", expression: `int('${maxPods}')` },
      // An empty list is one empty name, which a template can write.
      { name: "registries", expression: `[${from}].filter(r, r != '')` },
      { name: "mayExpose", expression: `'${String(mayExpose)}' == 'true'` },
      { name: "isRestricted", expression: `'${podSecurity}' != 'baseline'` },
      // Which Secrets: `secret-admission.ts`.
      { name: "isSecret", expression: `'${String(secrets)}' == 'true' && variables.kind == 'Secret'` },
    ],
    validations: [
      forbid(
        `request.operation != 'CONNECT' && (!has(request.subResource) || request.subResource == '') && (variables.isSecret || variables.kind in [${quoted(kinds)}])`,
        "a rollout writes objects of the kinds that releases may install (releases.kinds), and nothing else",
      ),
      forbid(outsideSystem(names), "a rollout writes nothing in a system namespace"),
      ...ownership(),
      ...podRules(),
      ...containerRules(),
      ...restrictedRules(),
      ...secretRules(),
      ...memberRules(),
      ...useRules(),
      ...nameRules(),
      ...sizeRules(),
      ...exposureRules(),
    ],
  });
}

/**
 * A rollout makes members of its set, and touches no object that is none, nor one of another deployment: the account's
 * name says of which it is. An object that no release has made is not made one here, because nothing shows the policy
 * whether a person wants that: a person labels it.
 */
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
      `request.operation == 'CREATE' || (${isMember("variables.wasLabels")})`,
      `a rollout changes and deletes only what a release has installed (labels ${APPLYSET_LABEL}, ${DEPLOYMENT_ID_LABEL})`,
    ),
    forbid(
      `(request.operation == 'CREATE' ? variables.labels : variables.wasLabels)[?'${DEPLOYMENT_ID_LABEL}'].orValue('')` +
        ".lowerAscii().replace('_', '-').replace('.', '-') == variables.deployment",
      `a rollout writes objects of its own deployment only (label ${DEPLOYMENT_ID_LABEL})`,
    ),
    forbid(
      `request.operation != 'UPDATE' || [${quoted([APPLYSET_LABEL, DEPLOYMENT_ID_LABEL])}].all(k, ` +
        "!(k in variables.labels) || (k in variables.wasLabels && variables.labels[k] == variables.wasLabels[k]))",
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
    forbid(
      "!variables.changes || variables.kind != 'Ingress.networking.k8s.io' || !variables.now[?'spec'][?'defaultBackend'][?'resource'].hasValue() && " +
        "variables.now[?'spec'][?'rules'].orValue([]).all(r, r[?'http'][?'paths'].orValue([]).all(p, !p[?'backend'][?'resource'].hasValue()))",
      "a rollout has an Ingress lead to Services only (backend.resource)",
    ),
  ];
}
