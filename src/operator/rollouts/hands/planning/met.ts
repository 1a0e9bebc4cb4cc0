import { atOnce } from "../../../../base/at-once.ts";
import { isRecord } from "../../../../base/is-record.ts";
import type { ReleaseManifest, ReleaseObject } from "../../../../crds/kinds/release-content.ts";
import { DEPLOYMENT_ID_LABEL } from "../../../../crds/release-names.ts";
import { kindAndGroup, POD_LABELS } from "../../../../crds/released/release-kinds.ts";
import { ApiError } from "../../../../kube/client/api-error.ts";
import { isSelected, type Labels, type Requirement } from "../../../../kube/objects/label-match.ts";
import { type Resource, resources } from "../../../../kube/objects/resource.ts";
import { listAt, type Node, nodeAt, textAt } from "../../rule-nodes.ts";
import { isMember, type Membership } from "../membership.ts";
import { type LiveObject, MAX_LISTED, type ReleaseApi } from "../release-api.ts";
import { AT_ONCE } from "../targets.ts";

/** Lines of one kind and namespace. */
export const MAX_LINES = 500;
/** Of one policy: more are not looked at. */
const MAX_PEERS = 100;
/** The API server puts it on each namespace. */
const NAMESPACE_NAME = "kubernetes.io/metadata.name";

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
 * choose its pods, or let them through. Of each list the first 500 are read.
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
        if (there === undefined) return [unseen(resource, namespace)];
        const theirs = there.filter((each) => !isMember(each, membership));
        const found = resource === CLAIMS ? claimLines(own, there) : choiceLines(own, resource, theirs);
        const isAll = there.length < MAX_LISTED && found.length <= MAX_LINES;
        return isAll ? found : [...found.slice(0, MAX_LINES), unseen(resource, namespace)];
      }),
    );
    return found.flat();
  });
  return lines.flat().sort();
}

function unseen({ kind }: Resource, namespace: string): string {
  return `does not see each ${kind} of ${namespace}`;
}

/**
 * Undefined: it cannot be had. The role of releases may not reach this kind, or the list may be larger than is read: what a
 * person has put into the namespace ends no plan.
 */
export async function listed(
  api: ReleaseApi,
  resource: Resource,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly LiveObject[] | undefined> {
  try {
    return await api.list(resource, namespace, "", signal);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
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

/** `pods of Deployment shop/web match your Service shop/db`. One line more than may be is enough. */
export function choiceLines(
  workloads: readonly ReleaseManifest[],
  { kind }: Pick<Resource, "kind">,
  choosing: readonly LiveObject[],
): readonly string[] {
  const lines: string[] = [];
  const theirs = choosing.map((each) => ({
    spec: nodeAt(each, "spec"),
    peers: kind === "NetworkPolicy" ? peersOf(nodeAt(each, "spec")) : [],
    words: (namespace: string) => ofWhom(each, `${kind} ${namespace}/${each.metadata.name}`),
  }));
  for (const workload of workloads) {
    const labels = podLabels(workload);
    const { namespace = "", name } = workload.metadata;
    const pods = `pods of ${workload.kind} ${namespace}/${name}`;
    for (const { spec, peers, words } of theirs) {
      if (lines.length > MAX_LINES) return lines;
      if (chooses(kind, spec, labels)) lines.push(`${pods} match ${words(namespace)}`);
      if (letsThrough(peers, namespace, labels)) lines.push(`${pods} may come through ${words(namespace)}`);
    }
  }
  return lines;
}

/** What another deployment's release has made is not the customer's own. */
export function ofWhom({ metadata }: LiveObject, object: string): string {
  const deployment = metadata.labels?.[DEPLOYMENT_ID_LABEL];
  return deployment === undefined ? `your ${object}` : `the ${object} of deployment ${deployment}`;
}

/** A Service without a selector chooses no pod, and neither does a PodDisruptionBudget; an empty one of the others chooses all. */
function chooses(kind: string, spec: Node, labels: Labels): boolean {
  const [, at = ""] = CHOOSING.find(([resource]) => resource.kind === kind) ?? [];
  const selector = spec[at];
  if (!isRecord(selector)) return false;
  if (kind === "Service") {
    return (
      Object.keys(selector).length > 0 && isSelected({ matchLabels: selector as Labels, matchExpressions: [] }, labels)
    );
  }
  return selects(selector, labels);
}

/** Whom a NetworkPolicy lets to the pods that it protects, and to whom it lets these. */
function peersOf(spec: Node): readonly Node[] {
  const peers = [
    ...listAt(spec, "ingress").flatMap((rule) => listAt(rule, "from")),
    ...listAt(spec, "egress").flatMap((rule) => listAt(rule, "to")),
  ];
  return peers.slice(0, MAX_PEERS);
}

/** As pods of the policy's own namespace that are chosen by their labels. */
function letsThrough(peers: readonly Node[], namespace: string, labels: Labels): boolean {
  return peers.some(
    ({ podSelector, namespaceSelector }) =>
      isRecord(podSelector) &&
      (!isRecord(namespaceSelector) || selects(namespaceSelector, { [NAMESPACE_NAME]: namespace })) &&
      selects(podSelector, labels),
  );
}

function selects(selector: Node, labels: Labels): boolean {
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
