import { atOnce } from "../../../base/at-once.ts";
import { groupOf, RELEASE_RESOURCES } from "../../../crds/released/release-kinds.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Resource } from "../../../kube/objects/resource.ts";
import { refOf } from "../release-rules.ts";
import { type ApplySetPorts, memberNamespaces } from "./apply-set.ts";
import type { Pruned } from "./hands.ts";
import { selectorOf } from "./members.ts";
import { isApplied, isMember, type Membership } from "./membership.ts";
import { CLAIM_STAYS, isClaim } from "./prune.ts";
import type { LiveObject, ReleaseApi } from "./release-api.ts";
import { AT_ONCE, type Target } from "./targets.ts";

/** Each of these kinds is served as v1 by every API server that the operator runs on. */
const KINDS: readonly Resource[] = Object.entries(RELEASE_RESOURCES).map(([name, plural]) => {
  const group = groupOf(name);
  const kind = group === "" ? name : name.slice(0, -group.length - 1);
  return { group, version: "v1", kind, plural, namespaced: true };
});

/**
 * What a deletion leaves beside the objects that it went through: the claims that StatefulSets have made, and what an
 * earlier release has left. No content names them, so without this look they would stay and no one would be told.
 *
 * @param targets that the deletion went through.
 */
export async function leftBehind(
  api: ReleaseApi,
  membership: Membership,
  targets: readonly Target[],
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<Pruned["left"]> {
  const known = new Set(targets.map(({ ref }) => ref));
  const places = namespaces.flatMap((namespace) => KINDS.map((resource) => ({ resource, namespace })));
  const found = await atOnce(places, AT_ONCE, async ({ resource, namespace }) => {
    const labelled = await labelledOf(api, membership, resource, namespace, signal);
    return labelled
      .filter((live) => isLeft(live, resource, membership))
      .map(({ metadata }) => ({ ref: refOf({ ...named(resource), metadata }), resource }));
  });
  return found
    .flat()
    .filter(({ ref }) => !known.has(ref))
    .map(({ ref, resource }) => ({ ref, message: isClaim(resource) ? CLAIM_STAYS : "an earlier release has left it" }));
}

/** Namespaces that a deletion did not look into, because nothing that is installed is there: earlier releases were. */
export async function leftElsewhere(
  ports: ApplySetPorts,
  deploymentId: string,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<Pruned["left"]> {
  const all = await memberNamespaces(ports, deploymentId, signal);
  const message = "an earlier release was installed there, and may have left objects";
  return all.filter((each) => !namespaces.includes(each)).map((each) => ({ ref: `Namespace/${each}`, message }));
}

/** None where the customer's role does not let the release list the kind: it has made none there. */
async function labelledOf(
  api: ReleaseApi,
  membership: Membership,
  resource: Resource,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly LiveObject[]> {
  try {
    return await api.list(resource, namespace, selectorOf(membership), signal);
  } catch (error) {
    if (error instanceof ApiError && (error.isForbidden || error.isNotFound)) return [];
    throw error;
  }
}

/** Of a StatefulSet's claim only the label of its selector is ours; what a controller has made goes with its owner. */
function isLeft(live: LiveObject, resource: Resource, membership: Membership): boolean {
  const { deletionTimestamp, ownerReferences = [] } = live.metadata;
  if (deletionTimestamp !== undefined || ownerReferences.some(({ controller }) => controller === true)) return false;
  return isClaim(resource) || (isMember(live, membership) && isApplied(live));
}

/** Of a list only the list itself says what it is of. */
function named({ group, version, kind }: Resource): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: group === "" ? version : `${group}/${version}`, kind };
}
