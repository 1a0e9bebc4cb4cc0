import { atOnce } from "../../../base/at-once.ts";
import type { Clock } from "../../../base/clock.ts";
import { groupOf, RELEASE_RESOURCES } from "../../../crds/released/release-kinds.ts";
import { METADATA_OF_LIST } from "../../../kube/client/exchange.ts";
import { apiVersionOf, type Resource } from "../../../kube/objects/resource.ts";
import { refOf } from "../release-rules.ts";
import type { ApplySetMembers } from "./apply-set.ts";
import type { Intent, LeftBehind } from "./hands.ts";
import { selectorOf } from "./members.ts";
import { isApplied, isMember, type Membership } from "./membership.ts";
import { CLAIM_STAYS, isClaim } from "./prune.ts";
import { type LiveObject, MAX_LISTED, type ReleaseApi } from "./release-api.ts";
import { lackingRights } from "./rights.ts";
import { AT_ONCE, type Target } from "./targets.ts";

/** Each of these kinds is served as v1 by every API server that the operator runs on. */
const KINDS: ReadonlyMap<string, Resource> = new Map(
  Object.entries(RELEASE_RESOURCES).map(([name, plural]) => {
    const group = groupOf(name);
    const kind = group === "" ? name : name.slice(0, -group.length - 1);
    return [name, { group, version: "v1", kind, plural, namespaced: true }];
  }),
);
const CLAIM = "PersistentVolumeClaim";
/** A StatefulSet's controller makes claims of its own. */
const MAKES_CLAIMS = "StatefulSet.apps";

/**
 * Looks by label for what no content names any more: the claims that StatefulSets have made, and what an earlier release
 * has left. Without it a deletion would say that nothing is left while objects run.
 *
 * @param kinds that releases of the deployment have applied, as `Deployment.apps`.
 * @param targets that the deletion went through.
 * @throws ApiError when the API server is busy or away: then nothing is known.
 */
export async function leftBehind(
  api: ReleaseApi,
  membership: Membership,
  kinds: readonly string[],
  targets: readonly Target[],
  namespaces: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<LeftBehind["left"]> {
  const known = new Set(targets.map(({ ref }) => ref));
  // Without the parent's word each kind may be there.
  const applied = kinds.length > 0 ? kinds : [...KINDS.keys()];
  const names = new Set([...applied, ...(applied.includes(MAKES_CLAIMS) ? [CLAIM] : [])]);
  const resources = [...KINDS].flatMap(([name, resource]) => (names.has(name) ? [resource] : []));
  const needs = namespaces.flatMap((namespace) => resources.map((resource) => ({ verb: "list", resource, namespace })));
  const lacking = new Set(await lackingRights(api.exchange, needs, clock, signal));
  const found = await atOnce(needs, AT_ONCE, async (need): Promise<LeftBehind["left"]> => {
    const { resource, namespace } = need;
    const ref = (name: string): string =>
      refOf({ apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { name, namespace } });
    // Of a kind that no release has applied there is nothing.
    const unlisted =
      kinds.length > 0 ? [{ ref: ref("…"), message: "the role of releases does not let it be listed" }] : [];
    if (lacking.has(need)) return unlisted;
    const listed = await api.list(resource, namespace, selectorOf(membership), signal, METADATA_OF_LIST);
    const message = isClaim(resource) ? CLAIM_STAYS : "an earlier release has left it";
    const left = listed
      .filter((live) => isLeft(live, resource, membership) && !known.has(ref(live.metadata.name)))
      .map(({ metadata }) => ({ ref: ref(metadata.name), message }));
    const isCut = listed.length >= MAX_LISTED;
    return isCut ? [...left, { ref: ref("…"), message: `only the first ${MAX_LISTED} were looked at` }] : left;
  });
  return found.flat();
}

/** Namespaces of earlier releases that a deletion does not look into: it has no rights there. */
export function unsearched(
  members: ApplySetMembers,
  { closed = [] }: Pick<Intent, "closed">,
  namespaces: readonly string[],
): readonly string[] {
  // What is left there is named one by one.
  const told = new Set([...namespaces, ...closed.map((ref) => ref.split("/")[1])]);
  return members.namespaces.filter((each) => !told.has(each));
}

/** Of a StatefulSet's claim only the label of its selector is ours; what a controller has made goes with its owner. */
function isLeft(live: LiveObject, resource: Resource, membership: Membership): boolean {
  if ((live.metadata.ownerReferences ?? []).some(({ controller }) => controller === true)) return false;
  return isClaim(resource) || (isMember(live, membership) && isApplied(live));
}
