import { DEPLOYMENT_ID_LABEL } from "../../../release-names.ts";
import { CHOOSE_ALL, POD_LABELS, POD_SELECTORS, SCALED_KINDS } from "../../../released/release-kinds.ts";
import { forbid, type Named, quoted, type Validation } from "../admission-policy.ts";

/** CEL: what the rules below read. */
export const MEMBER_VARIABLES: readonly Named[] = [
  {
    name: "own",
    expression: `variables.labels[?'${DEPLOYMENT_ID_LABEL}'].orValue(variables.wasLabels[?'${DEPLOYMENT_ID_LABEL}'].orValue(''))`,
  },
  { name: "annotations", expression: "variables.now[?'metadata'][?'annotations'].orValue({})" },
  { name: "wasAnnotations", expression: "variables.was[?'metadata'][?'annotations'].orValue({})" },
  { name: "claims", expression: claimsOf("now", "pod") },
  { name: "wasClaims", expression: claimsOf("was", "wasPod") },
];

function claimsOf(state: "now" | "was", pod: "pod" | "wasPod"): string {
  return (
    `variables.kind == 'PersistentVolumeClaim' ? [variables.${state}] : ` +
    `(variables.kind == 'StatefulSet.apps' ? variables.${state}[?'spec'][?'volumeClaimTemplates'].orValue([]) : []) + ` +
    `variables.${pod}[?'volumes'].orValue([]).map(v, v[?'ephemeral'][?'volumeClaimTemplate'].orValue({}))`
  );
}

/** What an object of a release reaches is the release's own. */
export function memberRules(): readonly Validation[] {
  return [...selections(), ...claims(), ...accounts()];
}

function selections(): readonly Validation[] {
  const spec = (path: readonly string[]): string =>
    `variables.now[?'spec']${path.map((each) => `[?'${each}']`).join("")}`;
  const isOwn = (path: readonly string[]): string =>
    `${spec(path)}[?'${DEPLOYMENT_ID_LABEL}'].orValue('') == variables.own`;
  const labels = Object.entries(POD_LABELS).map(([kind, path]) => `(variables.kind != '${kind}' || ${isOwn(path)})`);
  const selectors = Object.entries(POD_SELECTORS).map(([kind, path]) => {
    const isEmpty = CHOOSE_ALL.includes(kind) ? "" : `${spec(path.slice(0, 1))}.orValue({}).size() == 0 || `;
    return `(variables.kind != '${kind}' || ${isEmpty}${isOwn(path)})`;
  });
  const target = "variables.now[?'spec'][?'scaleTargetRef']";
  return [
    forbid(
      `!variables.changes || (${labels.join(" && ")})`,
      `a rollout makes pods with the label ${DEPLOYMENT_ID_LABEL} of their object only`,
    ),
    forbid(
      `!variables.changes || (${selectors.join(" && ")})`,
      `a rollout chooses pods with the label ${DEPLOYMENT_ID_LABEL} of the object only (selectors)`,
    ),
    forbid(
      "!variables.changes || variables.kind != 'Job.batch' || variables.now[?'spec'][?'manualSelector'].orValue(false) == false",
      "a rollout makes no Job that chooses its pods by hand (manualSelector)",
    ),
    forbid(
      "!variables.changes || variables.kind != 'HorizontalPodAutoscaler.autoscaling' || " +
        `(${target}[?'apiVersion'].orValue('').startsWith('apps/') && ` +
        `${target}[?'kind'].orValue('') + '.apps' in [${quoted(SCALED_KINDS)}])`,
      "a rollout scales Deployments and StatefulSets only (scaleTargetRef)",
    ),
  ];
}

/** What a claim has got since, by the cluster, is not the release's word. */
function claims(): readonly Validation[] {
  return [
    forbid(
      "!variables.changes || variables.claims.all(c, ['volumeName', 'selector', 'dataSource', 'dataSourceRef'].all(f, " +
        "!(f in c[?'spec'].orValue({})) || (variables.kind == 'PersistentVolumeClaim' && " +
        "f in variables.was[?'spec'].orValue({}) && c.spec[f] == variables.was.spec[f])))",
      "a rollout claims no volume and no data that is there already (volumeName, selector, dataSource, dataSourceRef)",
    ),
    forbid(
      "!variables.changes || variables.kind != 'StatefulSet.apps' || ['whenDeleted', 'whenScaled'].all(f, " +
        "variables.now[?'spec'][?'persistentVolumeClaimRetentionPolicy'][?f].orValue('Retain') == 'Retain')",
      "a rollout has no claim deleted with its data (persistentVolumeClaimRetentionPolicy)",
    ),
    forbid(
      "!variables.changes || variables.claims.all(c, c[?'spec'][?'storageClassName'].orValue('-') != '')",
      "a rollout claims no volume without a class (an empty storageClassName)",
    ),
  ];
}

/** What the customer has added may stay. */
function accounts(): readonly Validation[] {
  return [
    forbid(
      "variables.kind != 'ServiceAccount' || ['secrets', 'imagePullSecrets'].all(f, " +
        "variables.now[?f].orValue([]).all(s, s in variables.was[?f].orValue([])))",
      "a rollout gives no service account a Secret (secrets, imagePullSecrets)",
    ),
  ];
}
