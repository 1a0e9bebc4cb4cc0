import type { Rollout } from "../../../crds/kinds/rollout.ts";
import { byAge, isOver, trailOf } from "./trail.ts";

/** A content in the cache, without its objects. */
export interface KnownContent {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
  readonly spec: { readonly deploymentId: string };
}

/** Ended rollouts are kept for people to look up. */
const ENDED_KEPT_MS = 7 * 86_400_000;
/** The agent makes a content before the rollout that names it. */
const UNNAMED_KEPT_MS = 86_400_000;
const SUCCEEDED_KEPT = 3;

export interface Outdated {
  readonly rollouts: readonly Rollout[];
  readonly contents: readonly KnownContent[];
}

/**
 * What may go. The last three rollouts of a deployment that succeeded stay with their contents, and so does everything
 * that says what is installed. Of a deployment that the cluster does not serve any more nothing has to stay.
 */
export function outdated(
  rollouts: readonly Rollout[],
  contents: readonly KnownContent[],
  isServed: (deploymentId: string) => boolean,
  now: Date,
): Outdated {
  const ofDeployment = Map.groupBy(rollouts, ({ spec }) => spec.deploymentId);
  const kept = new Set<Rollout>();
  const named = new Set<string>();
  for (const [deploymentId, all] of ofDeployment) {
    const stays = isServed(deploymentId) ? needed(all) : { rollouts: [], contents: [] };
    for (const rollout of stays.rollouts) kept.add(rollout);
    const unfinished = all.filter((rollout) => !isOver(rollout));
    const names = [...stays.rollouts, ...unfinished].flatMap(({ spec, status }) => [
      spec.contentName,
      status?.formerContent,
    ]);
    for (const name of [...names, ...stays.contents]) named.add(`${deploymentId} ${name}`);
  }
  return {
    rollouts: rollouts.filter(
      (rollout) => isOver(rollout) && !kept.has(rollout) && isPast(endOf(rollout), ENDED_KEPT_MS, now),
    ),
    contents: contents.filter(
      ({ metadata, spec }) =>
        !named.has(`${spec.deploymentId} ${metadata.name}`) && isPast(metadata.creationTimestamp, UNNAMED_KEPT_MS, now),
    ),
  };
}

function needed(all: readonly Rollout[]): {
  readonly rollouts: readonly Rollout[];
  readonly contents: readonly string[];
} {
  const newestFirst = all.toSorted((one, other) => byAge(other, one));
  const succeeded = newestFirst.filter(({ status }) => status?.state === "Succeeded");
  const { former, leftovers } = trailOf(all);
  const last = succeeded[0];
  // Rollouts since then that changed something say what is there beside its content.
  const since = newestFirst.filter(
    (rollout) => rollout.status?.startedAt !== undefined && (last === undefined || byAge(rollout, last) > 0),
  );
  return {
    rollouts: [...succeeded.slice(0, SUCCEEDED_KEPT), ...since],
    contents: [...(former ? [former.name] : []), ...leftovers.map(({ name }) => name)],
  };
}

function endOf({ metadata, status }: Rollout): string {
  return status?.finishedAt ?? metadata.creationTimestamp;
}

function isPast(at: string, keptMs: number, now: Date): boolean {
  return now.getTime() - Date.parse(at) > keptMs;
}
