import type { Rollout } from "./rollout.ts";
import { newestBegun } from "./rollout-order.ts";

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
  const newest = newestBegun(rollouts);
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
