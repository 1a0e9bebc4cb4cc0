import { byAge } from "../../../crds/kinds/installed-release.ts";
import type { Rollout } from "../../../crds/kinds/rollout.ts";
import type { KubeObject } from "../../../kube/objects/resource.ts";
import { isOver, trailOf } from "./trail.ts";

/** A content in the cache, without its objects. */
export interface KnownContent {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
  readonly spec: {
    readonly deploymentId: string;
    /** Names of the Secrets with the configuration's values that its objects read. */
    readonly secrets: readonly string[];
  };
}

/** Ended rollouts are kept for people to look up, and what a deployment needs until it has been away for so long. */
const ENDED_KEPT_MS = 7 * 86_400_000;
/** The agent makes a content before the rollout that names it. */
const UNNAMED_KEPT_MS = 86_400_000;
const SUCCEEDED_KEPT = 3;
/**
 * Of one deployment. The agent makes no rollout where 40 are, and no content where 12 are: with what is needed, and those
 * that are open, there has to be room for the next, or no release could ever mend the ones that failed.
 */
const ENDED_KEPT = 20;
const CONTENTS_KEPT = 8;

export interface Outdated {
  readonly rollouts: readonly Rollout[];
  readonly contents: readonly KnownContent[];
}

/**
 * What may go. What says what is installed stays, and the last three rollouts of a deployment that succeeded. Of a
 * deployment that the cluster has not served for a week nothing has to stay.
 */
export function outdated(
  rollouts: readonly Rollout[],
  contents: readonly KnownContent[],
  isServed: (deploymentId: string) => boolean,
  now: Date,
): Outdated {
  const contentsOf = Map.groupBy(contents, ({ spec }) => spec.deploymentId);
  const rolloutsOf = Map.groupBy(rollouts, ({ spec }) => spec.deploymentId);
  const all = [...new Set([...rolloutsOf.keys(), ...contentsOf.keys()])].map((deploymentId) =>
    outdatedOf(rolloutsOf.get(deploymentId) ?? [], contentsOf.get(deploymentId) ?? [], isServed(deploymentId), now),
  );
  return { rollouts: all.flatMap((each) => each.rollouts), contents: all.flatMap((each) => each.contents) };
}

/**
 * Secrets of configurations that may go. What a content names stays: a rollout may go back to it. The agent makes a Secret
 * before the content that names it.
 */
export function outdatedSecrets<T extends Pick<KubeObject, "metadata">>(
  secrets: readonly T[],
  contents: readonly KnownContent[],
  now: Date,
): readonly T[] {
  const named = new Set(contents.flatMap(({ spec }) => spec.secrets));
  return secrets.filter(
    ({ metadata }) => !named.has(metadata.name) && isPast(metadata.creationTimestamp, UNNAMED_KEPT_MS, now),
  );
}

/** Of one deployment. */
function outdatedOf(
  rollouts: readonly Rollout[],
  contents: readonly KnownContent[],
  isServed: boolean,
  now: Date,
): Outdated {
  const ended = rollouts.filter(isOver).toSorted((one, other) => byAge(other, one));
  const isNeeded = isServed || ended.some((each) => !isPast(endOf(each), ENDED_KEPT_MS, now));
  const stays = isNeeded ? needed(ended) : { rollouts: [], contents: [] };
  const open = rollouts.filter((rollout) => !isOver(rollout));
  const named = new Set([...stays.contents, ...open.flatMap(contentsNamedBy)]);
  const mayGo = contents
    .filter(({ metadata }) => !named.has(metadata.name))
    .toSorted((one, other) => (one.metadata.creationTimestamp > other.metadata.creationTimestamp ? -1 : 1));
  const wasUsed = new Set(ended.flatMap(contentsNamedBy));
  const tooMany = mayGo
    .filter(({ metadata }) => wasUsed.has(metadata.name))
    .slice(Math.max(0, CONTENTS_KEPT - named.size));
  return {
    rollouts: ended.filter(
      (each, index) =>
        !stays.rollouts.includes(each) && (index >= ENDED_KEPT || isPast(endOf(each), ENDED_KEPT_MS, now)),
    ),
    contents: mayGo.filter(
      (each) => tooMany.includes(each) || isPast(each.metadata.creationTimestamp, UNNAMED_KEPT_MS, now),
    ),
  };
}

/** @param ended newest first */
function needed(ended: readonly Rollout[]): {
  readonly rollouts: readonly Rollout[];
  readonly contents: readonly string[];
} {
  const { former, leftovers, unfinishedSince } = trailOf(ended);
  const started = ended.filter(({ status }) => status?.startedAt !== undefined);
  // The trail begins here, and goes on through the newest rollout of each content that was left.
  const good = started.find(({ status }) => status?.state === "Succeeded" || status?.state === "RolledBack");
  const first = started.find(({ status }) => status?.startedAt === unfinishedSince);
  const left = leftovers.map(({ name }) => started.find(({ spec }) => spec.contentName === name));
  const succeeded = ended.filter(({ status }) => status?.state === "Succeeded").slice(0, SUCCEEDED_KEPT);
  return {
    rollouts: [good, first, ...left, ...succeeded].filter((each) => each !== undefined),
    contents: [...(former ? [former.name] : []), ...leftovers.map(({ name }) => name)],
  };
}

function contentsNamedBy({ spec, status }: Rollout): readonly string[] {
  return [spec.contentName, status?.formerContent].filter((name) => name !== undefined);
}

function endOf({ metadata, status }: Rollout): string {
  return status?.finishedAt ?? metadata.creationTimestamp;
}

function isPast(at: string, keptMs: number, now: Date): boolean {
  return now.getTime() - Date.parse(at) > keptMs;
}
