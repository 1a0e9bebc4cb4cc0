import { byAge } from "../../../crds/kinds/installed-release.ts";
import { FINAL_ROLLOUT_STATES, type Rollout, type RolloutSpec } from "../../../crds/kinds/rollout.ts";

/** A release's content, tied to what it held when it was applied. */
export interface ContentRef {
  readonly name: string;
  readonly digest: string;
}

/** What the rollouts of a deployment have left in the cluster. */
export interface Trail {
  /** What is there and was healthy; undefined: nothing is installed. */
  readonly former: ContentRef | undefined;
  /** Of rollouts that began since and came to no good end: some of their objects may be there. */
  readonly leftovers: readonly ContentRef[];
  /** When the first of these began; undefined: there are none. */
  readonly unfinishedSince: string | undefined;
}

/** Beyond it the oldest are forgotten: each is read whole when something is pruned. */
const MAX_LEFTOVERS = 8;

export function isOver({ status }: Pick<Rollout, "status">): boolean {
  return FINAL_ROLLOUT_STATES.some((state) => state === status?.state);
}

/** It has begun to change the cluster, and has not ended. */
export function isRunning(rollout: Pick<Rollout, "status">): boolean {
  return rollout.status?.startedAt !== undefined && !isOver(rollout);
}

/**
 * Where a rollout starts from, and what it goes back to. Only what the operator itself has recorded counts: an agent that
 * was stolen could name content that the customer has never seen.
 *
 * @param rollouts of one deployment, without the rollout in question
 */
export function trailOf(rollouts: readonly Rollout[]): Trail {
  const leftovers: ContentRef[] = [];
  let since: string | undefined;
  for (const { spec, status } of rollouts.toSorted((one, other) => byAge(other, one))) {
    if (status?.startedAt === undefined) continue;
    if (status.state === "Succeeded") return trail(broughtBy(spec), leftovers, since);
    if (status.state === "RolledBack")
      return trail(contentOf(status.rolledBackTo, status.formerDigest), leftovers, since);
    const left = broughtBy(spec);
    if (left === undefined) continue;
    leftovers.push(left);
    since = status.startedAt;
  }
  return trail(undefined, leftovers, since);
}

function trail(
  former: ContentRef | undefined,
  leftovers: readonly ContentRef[],
  unfinishedSince: string | undefined,
): Trail {
  const others = leftovers.filter(
    ({ name }, index) => name !== former?.name && leftovers.findIndex((each) => each.name === name) === index,
  );
  return { former, leftovers: others.slice(0, MAX_LEFTOVERS), unfinishedSince };
}

/**
 * What a rollout has now, and goes back to: from its beginning on what it was planned with, until then what the others
 * of the deployment have left.
 */
export function formerOf({ status }: Pick<Rollout, "status">, siblings: readonly Rollout[]): ContentRef | undefined {
  if (status?.startedAt === undefined) return trailOf(siblings).former;
  return contentOf(status.formerContent, status.formerDigest);
}

/** The content that is applied. A deletion or detachment applies none, also one that names one: that was never shown. */
export function broughtBy({ action, contentName, contentDigest }: RolloutSpec): ContentRef | undefined {
  return action === "install" || action === "update" ? contentOf(contentName, contentDigest) : undefined;
}

function contentOf(name: string | undefined, digest: string | undefined): ContentRef | undefined {
  return name === undefined || digest === undefined ? undefined : { name, digest };
}
