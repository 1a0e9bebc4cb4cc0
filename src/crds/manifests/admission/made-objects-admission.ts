import {
  DEBUG_ACCOUNT,
  DEBUG_NAMESPACE,
  DEBUG_SESSION_LABEL,
  EXPIRES_AT_ANNOTATION,
  GRANT_UID_LABEL,
  GROUP,
  type InstallationNames,
} from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { ROLLOUT_UID_LABEL } from "../../release-names.ts";
import { forbid, validatingPolicy } from "./admission-policy.ts";
import { LENT_ACCOUNTS, operatorOnly, RELEASE_ACCOUNTS } from "./operator-admission.ts";

const METADATA = [
  ...["name", "namespace", "labels", "annotations", "ownerReferences"],
  // The API server writes these itself.
  ...["uid", "creationTimestamp", "generation", "resourceVersion", "managedFields"],
];

/**
 * What the operator makes carries what it needs and nothing else. A finalizer would keep a binding in force after
 * the customer has deleted it; with an annotation on an account, a cloud gives it rights outside the cluster.
 */
export function operatorObjects(names: InstallationNames): readonly Manifest[] {
  const only = (map: string, keys: readonly string[]): string =>
    `${map}.all(k, k in [${keys.map((key) => `'${key}'`).join(", ")}])`;
  const { debugNamespace = DEBUG_NAMESPACE } = names;
  const isAccount = "request.resource.resource == 'serviceaccounts'";
  return validatingPolicy(
    "sallyport-operator-objects",
    {
      apiGroups: ["", "rbac.authorization.k8s.io"],
      operations: ["CREATE", "UPDATE"],
      resources: ["serviceaccounts", "rolebindings", "clusterrolebindings"],
    },
    {
      matchConditions: operatorOnly(names),
      variables: [
        { name: "made", expression: "dyn(object)" },
        {
          name: "rolloutUid",
          expression: `variables.made.metadata[?'labels'][?'${ROLLOUT_UID_LABEL}'].orValue('')`,
        },
      ],
      validations: [
        forbid("request.operation == 'CREATE'", "the operator changes no account and no binding that is there"),
        forbid(
          `!(${isAccount}) || (variables.made.metadata.name.matches(request.namespace == '${debugNamespace}' ? '${DEBUG_ACCOUNT.source}' : '${LENT_ACCOUNTS}') && ` +
            `${only("variables.made", ["apiVersion", "kind", "metadata", "automountServiceAccountToken"])})`,
          "the operator may only make accounts of grants (grant-<first 12 hex digits of the grant uid>), rollouts and debug sessions, with nothing in them",
        ),
        forbid(
          `${only("variables.made.metadata", METADATA)} && ` +
            `${only("variables.made.metadata[?'labels'].orValue({})", [GRANT_UID_LABEL, DEBUG_SESSION_LABEL, ROLLOUT_UID_LABEL])} && ` +
            `variables.made.metadata[?'annotations'].orValue({}).all(k, k == '${EXPIRES_AT_ANNOTATION}' && !(${isAccount}))`,
          "what the operator makes carries no other label or annotation, and no finalizer",
        ),
        forbid(
          `variables.made.metadata[?'ownerReferences'].orValue([]).all(o, ${isAccount} && o.apiVersion.startsWith('${GROUP}/') && ` +
            "o.kind in ['AccessGrant', 'OperationInvocation', 'Rollout'] && o[?'blockOwnerDeletion'].orValue(false) == false && " +
            "o[?'controller'].orValue(false) == false)",
          "an account is owned by its grant or invocation, or its rollout, a binding by nothing",
        ),
        forbid(
          `!(${isAccount}) || !variables.made.metadata.name.matches('${RELEASE_ACCOUNTS}') || (variables.rolloutUid.size() == 36 && ` +
            "variables.made.metadata.name.split('.')[0].endsWith('-' + variables.rolloutUid.replace('-', '').substring(0, 12)) && " +
            "variables.made.metadata[?'ownerReferences'].orValue([]).exists_one(o, o.kind == 'Rollout' && o.uid == variables.rolloutUid))",
          `an account of a rollout is named after that rollout, labelled ${ROLLOUT_UID_LABEL} with its uid, and owned by it`,
        ),
      ],
    },
  );
}
