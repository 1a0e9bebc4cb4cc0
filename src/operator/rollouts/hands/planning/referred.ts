import { atOnce } from "../../../../base/at-once.ts";
import type { ReleaseManifest } from "../../../../crds/kinds/release-content.ts";
import { kindAndGroup, RELEASE_RESOURCES } from "../../../../crds/released/release-kinds.ts";
import type { Resource } from "../../../../kube/objects/resource.ts";
import { fieldsOf, namedBy } from "../../field-walk.ts";
import { nodeAt, templateOf, textAt } from "../../rule-nodes.ts";
import { isMember, type Membership } from "../membership.ts";
import { type LiveObject, MAX_LISTED, type ReleaseApi } from "../release-api.ts";
import { AT_ONCE } from "../targets.ts";
import { listed, MAX_LINES, ofWhom } from "./met.ts";

/** Kinds of objects that name others of their namespace. */
const NAMING: Readonly<Record<string, string>> = {
  ...{ Deployment: "apps/v1", StatefulSet: "apps/v1", DaemonSet: "apps/v1", Job: "batch/v1", CronJob: "batch/v1" },
  ...{ Ingress: "networking.k8s.io/v1", HorizontalPodAutoscaler: "autoscaling/v2" },
};
const RESOURCES = Object.entries(NAMING).map(([kind, apiVersion]): Resource => {
  const [group = "", version = ""] = apiVersion.split("/");
  const plural = (RELEASE_RESOURCES as Readonly<Record<string, string>>)[`${kind}.${group}`] ?? "";
  return { group, version, kind, plural, namespaced: true };
});
/** Kinds of objects that are named so. */
const NAMED = [
  "Service",
  "ConfigMap",
  "PersistentVolumeClaim",
  "ServiceAccount",
  "Deployment.apps",
  "StatefulSet.apps",
];

/**
 * Objects of the customer's that name what this release makes: they have waited for it, or done without, and take the vendor's
 * from now on.
 *
 * @param created of the namespaces in which the account may look.
 * @returns lines for people, sorted.
 */
export async function whatRefersTo(
  api: ReleaseApi,
  membership: Membership,
  created: readonly ReleaseManifest[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const named = created.filter((manifest) => NAMED.includes(kindAndGroup(manifest)));
  const namespaces = [...new Set(named.map(({ metadata }) => metadata.namespace ?? ""))];
  const lines = await atOnce(namespaces, AT_ONCE, async (namespace) => {
    const fresh = new Set(
      named
        .filter(({ metadata }) => metadata.namespace === namespace)
        .map((manifest) => `${kindAndGroup(manifest)}/${manifest.metadata.name}`),
    );
    const unseen: string[] = [];
    const found = await atOnce(RESOURCES, AT_ONCE, async (resource) => {
      const there = await listed(api, resource, namespace, signal);
      if (there === undefined || there.length >= MAX_LISTED) unseen.push(resource.kind);
      const theirs = (there ?? []).filter((each) => !isMember(each, membership));
      return theirs.flatMap((each) => referenceLines(resource, namespace, each, fresh));
    });
    const all = found.flat().sort();
    if (all.length > MAX_LINES) unseen.push("line");
    const rest =
      unseen.length === 0
        ? []
        : [`does not see what names new objects in each ${unseen.sort().join(", ")} of ${namespace}`];
    return [...all.slice(0, MAX_LINES), ...rest];
  });
  return lines.flat().sort();
}

/** `your Ingress shop/front names Service api, which is new`. */
export function referenceLines(
  { group, version, kind }: Pick<Resource, "group" | "version" | "kind">,
  namespace: string,
  object: LiveObject,
  fresh: ReadonlySet<string>,
): readonly string[] {
  const manifest = { ...object, apiVersion: `${group}/${version}`, kind } as ReleaseManifest;
  const whose = ofWhom(object, `${kind} ${namespace}/${object.metadata.name}`);
  const target = nodeAt(manifest.spec, "scaleTargetRef");
  const names = [
    ...namedBy(fieldsOf(manifest)),
    { kind: "ServiceAccount", name: textAt(templateOf(manifest), "spec", "serviceAccountName") },
    { kind: `${textAt(target, "kind")}.apps`, name: textAt(target, "name") },
  ];
  const refs = [...new Set(names.map((each) => `${each.kind}/${each.name}`))].filter((ref) => fresh.has(ref));
  return refs.map((ref) => `${whose} names ${ref.replace("/", " ")}, which is new`);
}
