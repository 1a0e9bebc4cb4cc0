import { type InstallationNames, RELEASES_NAMESPACE } from "../../../group.ts";
import type { Manifest } from "../../../manifest.ts";
import { APPLYSET_LABEL, DEPLOYMENT_ID_LABEL } from "../../../release-names.ts";
import {
  MAX_SECRET_BYTES,
  MAX_SECRET_VALUES,
  NONCE_KEY,
  RELEASE_SECRET,
  RELEASE_SECRET_PREFIX,
} from "../../../release-secret.ts";
import { forbid, type Match, type Named, quoted, type Validation, validatingPolicy } from "../admission-policy.ts";
import { releaseAccountsOnly } from "./written.ts";

/** Names of the policies that an installation has only where releases bring secret values. */
export const RELEASE_SECRET_POLICIES = ["sallyport-release-secrets", "sallyport-rollout-secrets"] as const;

const SECRETS: Match = { apiGroups: [""], operations: ["CREATE", "UPDATE", "DELETE"], resources: ["secrets"] };
const MANAGED_BY = "app.kubernetes.io/managed-by";
/** The API server writes these itself. */
const WRITTEN = ["uid", "creationTimestamp", "generation", "resourceVersion", "managedFields"];
/** Base64 is a third longer, and ends in whole groups of four. */
const MAX_ENCODED = Math.ceil(MAX_SECRET_BYTES / 3) * 4 + 4 * MAX_SECRET_VALUES;

/** CEL: the Secret that is written or deleted, and the deployment that its label names. */
const VARIABLES: readonly Named[] = [
  { name: "secret", expression: "request.operation == 'DELETE' ? dyn(oldObject) : dyn(object)" },
  { name: "labels", expression: "variables.secret[?'metadata'][?'labels'].orValue({})" },
  { name: "own", expression: `string(variables.labels[?'${DEPLOYMENT_ID_LABEL}'].orValue(''))` },
  {
    // As the names of these Secrets are spelled.
    name: "prefix",
    expression: `'${RELEASE_SECRET_PREFIX}' + variables.own.lowerAscii().replace('_', '-').replace('.', '-') + '-'`,
  },
];
const NAMED_AFTER_ITS_DEPLOYMENT =
  `variables.own != '' && variables.secret.metadata.name.matches('${RELEASE_SECRET.source}') && ` +
  "variables.secret.metadata.name.startsWith(variables.prefix) && " +
  "variables.secret.metadata.name.size() == variables.prefix.size() + 32";

/** What the Secrets of releases are, and that neither agent nor rollouts write any other. */
export function releaseSecretPolicies(names: InstallationNames): readonly Manifest[] {
  return [...agentSecrets(names), ...rolloutSecrets(names)];
}

/**
 * RBAC limits a create neither by name nor by content. A stolen agent could fill the namespace, take names of other
 * deployments, or make a Secret that the API server fills with an account's token.
 */
function agentSecrets(names: InstallationNames): readonly Manifest[] {
  const { systemNamespace, agentAccount, releasesNamespace = RELEASES_NAMESPACE } = names;
  const username = `system:serviceaccount:${systemNamespace}:${agentAccount}`;
  return validatingPolicy("sallyport-release-secrets", SECRETS, {
    matchConditions: [
      {
        name: "made-by-the-agent-among-releases",
        expression: `request.userInfo.username == '${username}' && request.namespace == '${releasesNamespace}'`,
      },
    ],
    variables: VARIABLES,
    validations: [
      forbid("request.operation == 'CREATE'", "the agent changes and deletes no Secret of a release"),
      forbid(
        NAMED_AFTER_ITS_DEPLOYMENT,
        `a Secret of a release is named after the deployment of its label ${DEPLOYMENT_ID_LABEL}`,
      ),
      ...plainSecret([DEPLOYMENT_ID_LABEL]),
      forbid(
        `'${NONCE_KEY}' in variables.secret[?'data'].orValue({})`,
        `a Secret of a release has the nonce of its name (${NONCE_KEY})`,
      ),
    ],
  });
}

/**
 * The accounts of rollouts make copies in the deployment's namespace, and delete such copies: no other Secret of a
 * customer's is within their reach, also where RBAC names all of them.
 */
function rolloutSecrets(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy("sallyport-rollout-secrets", SECRETS, {
    matchConditions: releaseAccountsOnly(names),
    variables: VARIABLES,
    validations: [
      forbid("request.operation != 'UPDATE'", "a rollout changes no Secret: other values have another name"),
      forbid(
        `${NAMED_AFTER_ITS_DEPLOYMENT} && variables.labels[?'${APPLYSET_LABEL}'].orValue('') != ''`,
        `a rollout makes and deletes Secrets of its deployment's configuration only (${RELEASE_SECRET_PREFIX}…, labels ${DEPLOYMENT_ID_LABEL}, ${APPLYSET_LABEL})`,
      ),
      ...plainSecret([DEPLOYMENT_ID_LABEL, APPLYSET_LABEL, MANAGED_BY]),
    ],
  });
}

/** Values under names, and nothing that another controller would act on. What is there already may be deleted as it is. */
function plainSecret(labels: readonly string[]): readonly Validation[] {
  const making = (rule: string): string => `request.operation == 'DELETE' || (${rule})`;
  const metadata = ["name", "namespace", "labels", ...WRITTEN];
  return [
    forbid(
      making(
        "variables.secret[?'type'].orValue('') == 'Opaque' && variables.secret[?'immutable'].orValue(false) == true",
      ),
      "a Secret of a release is Opaque and immutable",
    ),
    forbid(
      making(
        `variables.secret.metadata.all(k, k in [${quoted(metadata)}]) && variables.labels.all(k, k in [${quoted(labels)}])`,
      ),
      "a Secret of a release carries the labels of its deployment, and no other metadata",
    ),
    forbid(
      making(
        `variables.secret[?'data'].orValue({}).size() <= ${MAX_SECRET_VALUES + 1} && ` +
          `variables.secret[?'data'].orValue({}).map(k, size(variables.secret.data[k])).sum() <= ${MAX_ENCODED}`,
      ),
      `a Secret of a release has ${MAX_SECRET_VALUES} values and ${MAX_SECRET_BYTES / 1024} KiB at most`,
    ),
  ];
}
