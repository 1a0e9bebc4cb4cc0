import { atOnce } from "../../../../base/at-once.ts";
import { isRecord } from "../../../../base/is-record.ts";
import { resources } from "../../../../kube/objects/resource.ts";
import { Interner } from "../../../../kube/projection/interner.ts";
import { type Pod, podShape } from "../../../../kube/projection/shapes.ts";
import { memberPods, membersOf } from "../members.ts";
import type { Membership } from "../membership.ts";
import type { LiveObject, ReleaseApi } from "../release-api.ts";
import { AT_ONCE, type Target } from "../targets.ts";
import type { Watched } from "./gate.ts";
import { runsPods } from "./object-state.ts";

/**
 * The objects of a wave and their pods, as the rollout's account reads them: by a few lists, because a gate looks often
 * while the controllers are busy with the same objects.
 *
 * @param isLeftAlone whether the rollout has left an object as it was, or gone
 */
export async function watchedObjects(
  api: ReleaseApi,
  membership: Membership,
  targets: readonly Target[],
  isLeftAlone: (target: Target, live: LiveObject | undefined) => boolean,
  signal: AbortSignal,
): Promise<readonly Watched[]> {
  const members = await membersOf(api, membership, targets, signal);
  const withPods = targets.filter(({ ref }) => runsPods(kindOf(ref)));
  const places = new Set(withPods.map(({ line }) => line.manifest.metadata.namespace ?? ""));
  // After their owners: what an owner's status counts is there.
  const listed = await memberPods(api, membership, [...places], signal);
  const strings = new Interner(8);
  const allPods = listed?.map((pod) => podShape.fromJson(pod, strings));
  return atOnce(targets, AT_ONCE, async (target) => {
    const { ref, line, resource } = target;
    const kind = kindOf(ref);
    const live = members.get(ref) ?? (await api.get(resource, line.manifest.metadata, signal));
    const pods = live === undefined || !runsPods(kind) ? [] : await podsOf(api, live, allPods, signal);
    return { ref, resourceId: line.resourceId, kind, live, pods, isLeftAlone: isLeftAlone(target, live) };
  });
}

function kindOf(ref: string): string {
  return ref.split("/", 1)[0] ?? "";
}

async function podsOf(
  api: ReleaseApi,
  live: LiveObject,
  all: readonly Pod[] | undefined,
  signal: AbortSignal,
): Promise<readonly Pod[]> {
  if (all !== undefined) {
    return all.filter((pod) => pod.metadata.namespace === live.metadata.namespace && isOwned(pod, live));
  }
  const selector = selectorOf(live);
  if (selector === undefined) return [];
  const listed = await api.list(resources.pods, live.metadata.namespace ?? "", selector, signal);
  const strings = new Interner(8);
  return listed.map((pod) => podShape.fromJson(pod, strings)).filter((pod) => isOwned(pod, live));
}

/** A Deployment owns its pods through a ReplicaSet, which is named after it and the hash that the pod carries. */
function isOwned({ metadata }: Pod, live: LiveObject): boolean {
  const viaSet = `${live.metadata.name}-${metadata.labels["pod-template-hash"] ?? ""}`;
  return metadata.ownerReferences.some(
    ({ kind, name, uid }) =>
      uid === live.metadata.uid || (live.kind === "Deployment" && kind === "ReplicaSet" && name === viaSet),
  );
}

/** As text; undefined: it selects nothing that could be asked for. */
function selectorOf({ spec }: LiveObject): string | undefined {
  const selector = isRecord(spec) && isRecord(spec.selector) ? spec.selector : {};
  const labels = isRecord(selector.matchLabels) ? Object.entries(selector.matchLabels) : [];
  const expressions = Array.isArray(selector.matchExpressions) ? selector.matchExpressions.filter(isRecord) : [];
  const parts = [...labels.map(([key, value]) => `${key}=${String(value)}`), ...expressions.map(requirement)];
  return parts.length === 0 ? undefined : parts.join(",");
}

function requirement({ key, operator, values }: Readonly<Record<string, unknown>>): string {
  const among = `(${Array.isArray(values) ? values.join(",") : ""})`;
  switch (operator) {
    case "In":
      return `${String(key)} in ${among}`;
    case "NotIn":
      return `${String(key)} notin ${among}`;
    case "DoesNotExist":
      return `!${String(key)}`;
    default:
      return String(key);
  }
}
