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

/**
 * Oldest first: the API server's stamp, which has whole seconds, then the agent's, then the name. Of rollouts that have
 * begun it is the order of their beginnings, too: one of a deployment runs at a time, and a newer one supersedes those
 * that wait.
 */
export function byAge(one: Rollout, other: Rollout): number {
  return (
    Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp) ||
    Date.parse(one.spec.requestedAt) - Date.parse(other.spec.requestedAt) ||
    (one.metadata.name < other.metadata.name ? -1 : 1)
  );
}

/** The newest that has begun to change the cluster; undefined: none has. @param rollouts of one deployment */
export function newestBegun(rollouts: Iterable<Rollout>): Rollout | undefined {
  let newest: Rollout | undefined;
  for (const rollout of rollouts) {
    if (rollout.status?.startedAt !== undefined && (newest === undefined || byAge(rollout, newest) > 0))
      newest = rollout;
  }
  return newest;
}
