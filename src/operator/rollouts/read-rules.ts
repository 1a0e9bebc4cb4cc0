import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";
import { DEPLOYMENT_ID_LABEL } from "../../crds/release-names.ts";
import { isReadable, type MayRead, READ_FIELDS, READ_KINDS, type ReadKind } from "../../crds/released/may-read.ts";
import { listAt, type Node, nodeAt, textAt } from "./rule-nodes.ts";

const KINDS = Object.keys(READ_KINDS) as readonly ReadKind[];

/**
 * Objects of the namespace that the pods of `manifest`, or an Ingress, would read although the release does not bring them
 * and the customer has not named them. By a Secret's name alone a release could else read every password beside it.
 *
 * @param brings whether the release has an object of that kind and name in the namespace.
 */
export function readProblems(
  manifest: ReleaseManifest,
  pod: Node,
  mayRead: MayRead,
  brings: (kind: ReadKind, name: string) => boolean,
): readonly string[] {
  const deploymentId = manifest.metadata.labels?.[DEPLOYMENT_ID_LABEL] ?? "";
  return KINDS.flatMap((kind) => {
    const served = kind === "Secret" && manifest.kind === "Ingress" ? certificates(manifest) : [];
    const names = new Set([...namesIn(pod, kind), ...served].filter((name) => name !== ""));
    return [...names]
      .filter((name) => !brings(kind, name) && !isReadable(mayRead, kind, name, deploymentId))
      .map((name) => `it reads ${kind} ${name}, which releases.mayRead.${READ_KINDS[kind]} does not name`);
  });
}

function namesIn(pod: Node, kind: ReadKind): readonly string[] {
  const { volume, source, env, envFrom } = READ_FIELDS[kind];
  const volumes = listAt(pod, "volumes");
  const containers = ["containers", "initContainers", "ephemeralContainers"].flatMap((list) => listAt(pod, list));
  const names = (nodes: readonly Node[], ...path: readonly string[]): readonly string[] =>
    nodes.map((node) => textAt(node, ...path));
  return [
    ...names(volumes, ...volume),
    ...(kind === "Secret" ? names(listAt(pod, "imagePullSecrets"), "name") : []),
    ...(source === undefined
      ? []
      : names(
          volumes.flatMap((each) => listAt(each, "projected", "sources")),
          source,
          "name",
        )),
    ...(env === undefined
      ? []
      : names(
          containers.flatMap((each) => listAt(each, "env")),
          "valueFrom",
          env,
          "name",
        )),
    ...(envFrom === undefined
      ? []
      : names(
          containers.flatMap((each) => listAt(each, "envFrom")),
          envFrom,
          "name",
        )),
  ];
}

function certificates({ spec }: ReleaseManifest): readonly string[] {
  return listAt(nodeAt(spec), "tls").map((each) => textAt(each, "secretName"));
}
