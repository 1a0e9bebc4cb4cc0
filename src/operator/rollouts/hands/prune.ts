import { atOnce } from "../../../base/at-once.ts";
import type { Clock } from "../../../base/clock.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Resource } from "../../../kube/objects/resource.ts";
import { plainName } from "../../../kube/workload-state/message.ts";
import type { Intent, Pruned } from "./hands.ts";
import { isApplied, isMember, type Membership } from "./membership.ts";
import { refusalText } from "./refusal-text.ts";
import type { LiveObject, ReleaseApi } from "./release-api.ts";
import { AT_ONCE, isNamed, type Target } from "./targets.ts";

/** After this time finalizers that hold an object are named, and nothing waits for it any longer. */
const HELD_MS = 5 * 60_000;
const MAX_FINALIZERS = 5;

export const CLAIM_STAYS = "a volume claim is never deleted: delete it when its data is not needed any more";

export function isClaim({ group, kind }: Resource): boolean {
  return group === "" && kind === "PersistentVolumeClaim";
}

/** Undefined: it may be deleted. Else why it stays. */
export function whyKept(
  seen: LiveObject,
  { ref, line, resource }: Target,
  membership: Membership,
  { takeOver, unfinished }: Pick<Intent, "takeOver" | "unfinished">,
): string | undefined {
  if (!isMember(seen, membership)) return "it does not carry this deployment's labels any more";
  if (!isApplied(seen)) return "no release has applied it";
  if (isClaim(resource)) return CLAIM_STAYS;
  if (isNamed(takeOver, line.manifest)) {
    // The way back deletes what only the new content has: what was the customer's before is not that.
    return "this rollout was allowed to take it over, and does not delete it";
  }
  if (unfinished?.refs.has(ref) === true) {
    // An object that was there before was adopted, or is of an earlier setup: the way back would delete it unasked.
    const isOlder = Date.parse(seen.metadata.creationTimestamp) < Date.parse(unfinished.since);
    return isOlder ? "it was there before the release that did not come up" : undefined;
  }
  if (line.frozen) return "it is of the setup, which releases do not take back";
  return undefined;
}

/**
 * Deletes of what is not wanted any more exactly what this deployment has made: the last wave first, and an earlier one
 * when that is gone. It does not wait: it says how much is still to go.
 */
export async function prune(
  api: ReleaseApi,
  membership: Membership,
  intent: Pick<Intent, "takeOver" | "unfinished">,
  targets: readonly Target[],
  clock: Clock,
  signal: AbortSignal,
): Promise<Pruned> {
  const waves = [...new Set(targets.map(({ line }) => line.wave))].sort((one, other) => other - one);
  const left: { ref: string; message: string }[] = [];
  let deleted = 0;
  for (const [index, wave] of waves.entries()) {
    const members = targets.filter(({ line }) => line.wave === wave);
    const results = await atOnce(members, AT_ONCE, (target) =>
      deleteOne(api, membership, intent, target, clock, signal),
    );
    for (const [at, result] of results.entries()) {
      if (result === "gone") deleted += 1;
      else if (result !== "going") left.push({ ref: members[at]?.ref ?? "", message: result.left });
    }
    const going = results.filter((result) => result === "going").length;
    if (going === 0) continue;
    const later = waves.slice(index + 1);
    return { deleted, left, waiting: going + targets.filter(({ line }) => later.includes(line.wave)).length };
  }
  return { deleted, left, waiting: 0 };
}

type Result = "gone" | "going" | { readonly left: string };

async function deleteOne(
  api: ReleaseApi,
  membership: Membership,
  intent: Pick<Intent, "takeOver" | "unfinished">,
  target: Target,
  clock: Clock,
  signal: AbortSignal,
): Promise<Result> {
  const { resource, line } = target;
  try {
    const seen = await api.get(resource, line.manifest.metadata, signal);
    if (seen === undefined) return "gone";
    const kept = whyKept(seen, target, membership, intent);
    if (kept !== undefined) return { left: kept };
    if (seen.metadata.deletionTimestamp !== undefined) return held(seen, clock) ?? "going";
    if (!(await api.delete(resource, seen, signal))) return "gone";
    // Without dependents and finalizers it is gone at once.
    return (await api.get(resource, line.manifest.metadata, signal)) === undefined ? "gone" : "going";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Exchanged for another object in between: that one is looked at in the next round.
    if (error.status === 409) return "going";
    if (error.isTransient || error.isUnauthorized) throw error;
    return { left: refusalText(error) };
  }
}

function held({ metadata }: LiveObject, clock: Clock): Result | undefined {
  const sinceMs = clock.wallNow().getTime() - Date.parse(metadata.deletionTimestamp ?? "");
  if (!(sinceMs > HELD_MS)) return undefined;
  const all = metadata.finalizers ?? [];
  const names = all.slice(0, MAX_FINALIZERS).map(plainFinalizer).join(", ");
  const more = all.length > MAX_FINALIZERS ? ` and ${all.length - MAX_FINALIZERS} more` : "";
  return { left: `its deletion waits for ${names === "" ? "something unknown" : `the finalizers ${names}${more}`}` };
}

/** `example.com/volume`. */
function plainFinalizer(name: string): string {
  return name.split("/", 2).map(plainName).join("/");
}
