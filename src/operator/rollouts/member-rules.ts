import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";
import { DEPLOYMENT_ID_LABEL } from "../../crds/release-names.ts";
import {
  CHOOSE_ALL,
  kindAndGroup,
  POD_LABELS,
  POD_SELECTORS,
  SCALED_KINDS,
} from "../../crds/released/release-kinds.ts";
import { isSet, listAt, type Node, nodeAt, textAt } from "./rule-nodes.ts";

type Paths = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * What an object reaches is the deployment's own: its selector and its pods have the mark that the object has itself. A
 * NetworkPolicy could else open the customer's pods, a budget keep nodes from being emptied, a Service lead to a database.
 */
export function selectionProblems(manifest: ReleaseManifest): readonly string[] {
  const kind = kindAndGroup(manifest);
  const own = manifest.metadata.labels?.[DEPLOYMENT_ID_LABEL] ?? "";
  const isOwn = (path: readonly string[]): boolean =>
    own !== "" && textAt(manifest.spec, ...path, DEPLOYMENT_ID_LABEL) === own;
  const labels = Object.hasOwn(POD_LABELS, kind) ? (POD_LABELS as Paths)[kind] : undefined;
  const selector = Object.hasOwn(POD_SELECTORS, kind) ? (POD_SELECTORS as Paths)[kind] : undefined;
  const given = nodeAt(manifest.spec, selector?.[0] ?? "");
  const isChoosing = CHOOSE_ALL.includes(kind) || Object.keys(given).length > 0;
  return [
    ...(labels === undefined || isOwn(labels)
      ? []
      : [`its pods lack the label ${DEPLOYMENT_ID_LABEL} that it has itself`]),
    ...(selector === undefined || !isChoosing || isOwn(selector)
      ? []
      : [`it chooses pods without the label ${DEPLOYMENT_ID_LABEL} that it has itself`]),
  ];
}

/** `refs`: what the release brings, as {@link kindAndGroup}, namespace and name. */
export function scaleProblems(manifest: ReleaseManifest, refs: ReadonlySet<string>): readonly string[] {
  if (kindAndGroup(manifest) !== "HorizontalPodAutoscaler.autoscaling") return [];
  const [apiVersion = "", kind = "", name = ""] = ["apiVersion", "kind", "name"].map((field) =>
    textAt(manifest.spec, "scaleTargetRef", field),
  );
  const scaled = kindAndGroup({ apiVersion, kind });
  const isOwn = SCALED_KINDS.includes(scaled) && refs.has(`${scaled}/${manifest.metadata.namespace ?? ""}/${name}`);
  return isOwn ? [] : ["scaleTargetRef is no Deployment or StatefulSet of the release's own"];
}

const BORROWED = ["volumeName", "selector", "dataSource", "dataSourceRef"];

const RETENTION = "persistentVolumeClaimRetentionPolicy";

/** What would let a claim have a volume or data that is there already, or go with its data; `pod` may have claims of its own. */
export function claimProblems(manifest: ReleaseManifest, pod: Node): readonly string[] {
  const claims: readonly Node[] = [
    ...(manifest.kind === "PersistentVolumeClaim" ? [nodeAt(manifest)] : []),
    ...(manifest.kind === "StatefulSet" ? listAt(manifest.spec, "volumeClaimTemplates") : []),
    ...listAt(pod, "volumes").map((volume) => nodeAt(volume, "ephemeral", "volumeClaimTemplate")),
  ];
  const retention = manifest.kind === "StatefulSet" ? nodeAt(manifest.spec, RETENTION) : {};
  const deletes = ["whenDeleted", "whenScaled"].filter(
    (field) => isSet(retention[field]) && retention[field] !== "Retain",
  );
  const lost = deletes.map((field) => `${RETENTION}.${field} is not Retain: claims would be deleted with their data`);
  const borrowed = claims.flatMap((claim) => {
    const spec = nodeAt(claim, "spec");
    return [
      ...BORROWED.filter((field) => isSet(spec[field])).map((field) => `a claim's ${field} takes data of others`),
      ...(spec.storageClassName === "" ? ["a claim's empty storageClassName takes a volume of others"] : []),
    ];
  });
  return [...lost, ...borrowed];
}
