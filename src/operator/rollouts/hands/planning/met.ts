import { atOnce } from "../../../../base/at-once.ts";
import { isRecord } from "../../../../base/is-record.ts";
import type { ReleaseManifest, ReleaseObject } from "../../../../crds/kinds/release-content.ts";
import { kindAndGroup, POD_LABELS } from "../../../../crds/released/release-kinds.ts";
import { ApiError } from "../../../../kube/client/api-error.ts";
import { isSelected, type Labels, type Requirement } from "../../../../kube/objects/label-match.ts";
import { type Resource, resources } from "../../../../kube/objects/resource.ts";
import { listAt, nodeAt, textAt } from "../../rule-nodes.ts";
import { isMember, type Membership } from "../membership.ts";
import type { LiveObject, ReleaseApi } from "../release-api.ts";
import { AT_ONCE } from "../targets.ts";

const CLAIMS = resources.persistentVolumeClaims;
const networkPolicies: Resource = {
  ...{ group: "networking.k8s.io", version: "v1", kind: "NetworkPolicy" },
  ...{ plural: "networkpolicies", namespaced: true },
};
/** Kinds of the customer's objects that choose pods by their labels, each with where its selector is. */
const CHOOSING: readonly (readonly [Resource, string])[] = [
  [resources.services, "selector"],
  [networkPolicies, "podSelector"],
  [resources.podDisruptionBudgets, "selector"],
];

/**
 * What of the customer's the pods of these new or changed workloads come to have to do with, though no object of it is
 * changed: volume claims that lie ready for a StatefulSet, and Services, NetworkPolicies and PodDisruptionBudgets that
 * choose its pods. Of each list the first 500 are read.
 *
 * @param workloads of the namespaces in which the account may look.
 * @returns lines for people, sorted.
 */
export async function whatIsMet(
  api: ReleaseApi,
  membership: Membership,
  workloads: readonly ReleaseObject[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const running = workloads.map(({ manifest }) => manifest).filter((each) => labelsPath(each) !== undefined);
  const namespaces = [...new Set(running.map(({ metadata }) => metadata.namespace ?? ""))];
  const lines = await atOnce(namespaces, AT_ONCE, async (namespace) => {
    const own = running.filter(({ metadata }) => metadata.namespace === namespace);
    const found = await Promise.all(
      [CLAIMS, ...CHOOSING.map(([resource]) => resource)].map(async (resource) => {
        if (resource === CLAIMS && !own.some(hasClaims)) return [];
        const there = await listed(api, resource, namespace, signal);
        if (there === undefined) return [`does not see each ${resource.kind} of ${namespace}`];
        return resource === CLAIMS
          ? claimLines(own, there)
          : choiceLines(
              own,
              resource,
              there.filter((each) => !isMember(each, membership)),
            );
      }),
    );
    return found.flat();
  });
  return lines.flat().sort();
}

/** Undefined: the role of releases does not reach this kind. */
async function listed(
  api: ReleaseApi,
  resource: Resource,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly LiveObject[] | undefined> {
  try {
    return await api.list(resource, namespace, "", signal);
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return undefined;
    throw error;
  }
}

/** `uses existing claim shop/data-web-0 for StatefulSet web`. */
export function claimLines(workloads: readonly ReleaseManifest[], claims: readonly LiveObject[]): readonly string[] {
  return workloads.filter(hasClaims).flatMap(({ metadata, spec }) => {
    const beginnings = listAt(spec, "volumeClaimTemplates").map(
      (each) => `${textAt(each, "metadata", "name")}-${metadata.name}-`,
    );
    const isPickedUp = (name: string): boolean =>
      beginnings.some((beginning) => name.startsWith(beginning) && /^\d+$/.test(name.slice(beginning.length)));
    const picked = claims.map((claim) => claim.metadata.name).filter(isPickedUp);
    return picked.map((name) => `uses existing claim ${metadata.namespace}/${name} for StatefulSet ${metadata.name}`);
  });
}

/** `pods of Deployment shop/web match your Service shop/db`. */
export function choiceLines(
  workloads: readonly ReleaseManifest[],
  { kind }: Pick<Resource, "kind">,
  choosing: readonly LiveObject[],
): readonly string[] {
  return workloads.flatMap((workload) => {
    const labels = podLabels(workload);
    const { namespace, name } = workload.metadata;
    return choosing
      .filter((each) => chooses(kind, nodeAt(each, "spec"), labels))
      .map(
        (each) => `pods of ${workload.kind} ${namespace}/${name} match your ${kind} ${namespace}/${each.metadata.name}`,
      );
  });
}

/** A Service without a selector chooses no pod, and neither does a PodDisruptionBudget; an empty one of the others chooses all. */
function chooses(kind: string, spec: Readonly<Record<string, unknown>>, labels: Labels): boolean {
  const [, at = ""] = CHOOSING.find(([resource]) => resource.kind === kind) ?? [];
  const selector = spec[at];
  if (!isRecord(selector)) return false;
  if (kind === "Service") {
    return (
      Object.keys(selector).length > 0 && isSelected({ matchLabels: selector as Labels, matchExpressions: [] }, labels)
    );
  }
  const matchExpressions = listAt(selector, "matchExpressions").map(
    (each): Requirement => ({ key: "", operator: "", ...each, values: Array.isArray(each.values) ? each.values : [] }),
  );
  return isSelected({ matchLabels: nodeAt(selector, "matchLabels") as Labels, matchExpressions }, labels);
}

function hasClaims({ kind, spec }: ReleaseManifest): boolean {
  return kind === "StatefulSet" && listAt(spec, "volumeClaimTemplates").length > 0;
}

function labelsPath(manifest: ReleaseManifest): readonly string[] | undefined {
  return (POD_LABELS as Readonly<Record<string, readonly string[] | undefined>>)[kindAndGroup(manifest)];
}

function podLabels(manifest: ReleaseManifest): Labels {
  return nodeAt(manifest.spec, ...(labelsPath(manifest) ?? [])) as Labels;
}
