import type { Rollout } from "./rollout.ts";

/** What a deployment has, and the rollout that brought it. */
export interface InstalledRelease {
  readonly rollout: Rollout;
  readonly contentName: string;
  readonly contentDigest: string;
}

/**
 * What the newest of these rollouts that changed the cluster has left there whole. Undefined: nothing, or it has not come to
 * a good end, so that objects of two contents may be there.
 *
 * @param rollouts of one deployment
 */
export function installedRelease(rollouts: Iterable<Rollout>): InstalledRelease | undefined {
  let newest: Rollout | undefined;
  for (const rollout of rollouts) if (startOf(rollout) > startOf(newest)) newest = rollout;
  if (newest === undefined) return undefined;
  const { spec, status } = newest;
  if (status?.state === "Succeeded") return of(newest, spec.contentName, spec.contentDigest);
  return status?.state === "RolledBack" ? of(newest, status.rolledBackTo, status.formerDigest) : undefined;
}

/** A deletion or detachment has no content, and leaves nothing. */
function of(
  rollout: Rollout,
  contentName: string | undefined,
  contentDigest: string | undefined,
): InstalledRelease | undefined {
  if (contentName === undefined || contentDigest === undefined) return undefined;
  return { rollout, contentName, contentDigest };
}

/** One runs at a time: the later start is of the later one. Where both are in one second, the one that was made, then asked for, later. */
function startOf(rollout: Rollout | undefined): string {
  const at = rollout?.status?.startedAt;
  return at === undefined ? "" : `${at} ${rollout?.metadata.creationTimestamp} ${rollout?.spec.requestedAt}`;
}
