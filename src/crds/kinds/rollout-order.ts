import type { Rollout } from "./rollout.ts";

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
  return [...rollouts]
    .filter(({ status }) => status?.startedAt !== undefined)
    .toSorted(byAge)
    .at(-1);
}
