import type { InstallationNames } from "../../../group.ts";
import type { Manifest } from "../../../manifest.ts";
import { TOP_LEVEL_DOMAINS } from "../../../released/may-use.ts";
import { forbid, type Match, quoted, type Validation, validatingPolicy } from "../admission-policy.ts";
import { releaseAccountsOnly } from "./written.ts";

const SERVICES: Match = { apiGroups: [""], operations: ["CREATE", "UPDATE"], resources: ["services"] };
const HEADLESS = "object.spec.?clusterIP.orValue('') == 'None'";

/** Names that pods of the customer resolve to something else. */
export function nameRules(): readonly Validation[] {
  const isOther = "!variables.changes || variables.kind != 'Service'";
  return [
    forbid(
      `${isOther} || request.operation != 'CREATE' || !(variables.now.metadata.name == 'kubernetes' || variables.now.metadata.name.startsWith('kubernetes-'))`,
      "a rollout makes no Service that pods take for the API server (kubernetes, kubernetes-…)",
    ),
    forbid(
      `${isOther} || variables.now[?'spec'][?'clusterIP'].orValue('') != 'None' || !(variables.now.metadata.name in [${quoted(TOP_LEVEL_DOMAINS)}])`,
      "a rollout makes no headless Service with the name of a domain of the world",
    ),
  ];
}

/** More pods than a release may have. What the customer, or an autoscaler, has made of them stays. */
export function sizeRules(): readonly Validation[] {
  const [now, was] = ["now", "was"].map(
    (state) =>
      `(variables.kind == 'CronJob.batch' ? variables.${state}[?'spec'][?'jobTemplate'][?'spec'] : variables.${state}[?'spec'])[?f]`,
  );
  return [
    forbid(
      `!variables.changes || ['replicas', 'parallelism', 'maxReplicas'].all(f, ${now}.orValue(0) <= variables.maxPods || ${now} == ${was})`,
      "a rollout runs no more pods than a release may have (releases.maxPods)",
    ),
  ];
}

/**
 * Names of the pods of a headless Service end with its name, and a pod's resolver looks into its own namespace first: `vault.secrets`
 * would be the release's pod, and no more the customer's Service in the namespace `secrets`.
 */
export function rolloutServiceNames(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy("sallyport-rollout-service-names", SERVICES, {
    params: {
      paramKind: { apiVersion: "v1", kind: "Namespace" },
      paramRef: { selector: {}, parameterNotFoundAction: "Allow" },
    },
    matchConditions: [...releaseAccountsOnly(names), { name: "is-headless", expression: HEADLESS }],
    validations: [
      forbid(
        "params.metadata.name != object.metadata.name || params.metadata.name == request.namespace",
        "a rollout makes no headless Service with the name of another namespace",
      ),
    ],
  });
}
