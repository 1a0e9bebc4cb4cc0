import { byAge } from "../../../crds/kinds/installed-release.ts";
import { timestamp } from "../../../kube/objects/conditions.ts";
import { authorityOver } from "./authority.ts";
import { conditionOf, end, go, type RolloutFacts, type RolloutStep, wait } from "./rollout-step.ts";
import { atWave, held, LOOK_AT_LEAST_MS, pausedFirst, permitted, planAgain, takeOverOf, windowClosed } from "./said.ts";
import { formerOf, isRunning, trailOf } from "./trail.ts";

/** From the claim on: accounts and bindings end with it, and the API server refuses a longer time. */
const RUNS_AT_MOST_MS = 2 * 3_600_000;
/** A plan that is older is made again before it is applied. */
const PLAN_HOLDS_MS = 5 * 60_000;
/** What the customer does to the objects in the way brings no look of its own: they are looked at so often. */
const TAKE_OVER_LOOK_MS = LOOK_AT_LEAST_MS;

export function begun(facts: RolloutFacts): RolloutStep {
  return beforeItRuns(facts) ?? go("Planning", [["Planned", "Unknown", "InProgress", "it is tried out by dry runs"]]);
}

/** What ends a wish that has not been begun. */
export function beforeItRuns(facts: RolloutFacts): RolloutStep | undefined {
  const { rollout, siblings, policy, accepted } = facts;
  const { spec, status } = rollout;
  if (spec.abortReason !== undefined) {
    return end("Aborted", [["Approved", "False", "AbortedByCustomer", `aborted: ${spec.abortReason}`]]);
  }
  const { is, said } = authorityOver(rollout, status?.plannedDigest, policy, hasFormer(facts));
  if (is === "denied") return end("Denied", [said]);
  const newer = siblings
    .filter((each) => byAge(each, rollout) > 0)
    .toSorted(byAge)
    .at(-1);
  if (newer !== undefined) {
    return end("Superseded", [["Approved", "False", "Superseded", `${newer.metadata.name} is newer`]]);
  }
  if (accepted === undefined) {
    const message = `deployment ${spec.deploymentId} is not served by this cluster`;
    return end("Failed", [["Planned", "False", "DeploymentNotServed", message]]);
  }
  return undefined;
}

export function planning(facts: RolloutFacts): RolloutStep {
  const { rollout, siblings, accepted = [], obstacle } = facts;
  const { spec } = rollout;
  if (isTooLate(facts)) {
    const { status: is, message = "" } = conditionOf(rollout, "Planned") ?? {};
    const why = is === "Unknown" ? `; the last that is known: ${message}` : "";
    return end("Failed", [["Planned", "False", "DeadlinePassed", `it could not be planned by ${spec.deadline}${why}`]]);
  }
  if (accepted.length === 0) return unaccepted(facts);
  if (obstacle !== undefined) return held(obstacle);
  const running = siblings.find(isRunning);
  if (running !== undefined) {
    const message = `${running.metadata.name} changes the same objects; it is planned when that has ended`;
    return wait(untilDeadline(facts), [["Planned", "Unknown", "AnotherRuns", message]]);
  }
  return { do: "act", act: "plan" };
}

export function awaiting(facts: RolloutFacts): RolloutStep {
  const { rollout, policy } = facts;
  const { spec, status } = rollout;
  if (isTooLate(facts)) {
    return end("Failed", [["Approved", "False", "DeadlinePassed", `it was not approved by ${spec.deadline}`]]);
  }
  // Objects that are to be taken over change what is shown: the approver is to see that plan. A pause changes nothing of it.
  const takesOverMore = takeOverOf(spec) > (status?.plannedTakeOver ?? 0);
  if (spec.approvedDigest === undefined && takesOverMore) return planAgain(facts, "what is asked for has changed");
  // Without a digest no plan was shown, also where a policy says auto: objects of the customer are in the way.
  if (status?.plannedDigest === undefined) {
    return planAgeMs(facts) < TAKE_OVER_LOOK_MS ? wait(untilDeadline(facts), pausedFirst(facts)) : planning(facts);
  }
  const { is, said } = authorityOver(rollout, status?.plannedDigest, policy, hasFormer(facts));
  if (is === "given") return go("Queued", [said], { approvalLine: undefined });
  return wait(untilDeadline(facts), [...pausedFirst(facts), said]);
}

export function queued(facts: RolloutFacts): RolloutStep {
  const { rollout, siblings, accepted = [], policy, window, obstacle, now } = facts;
  const { spec, status } = rollout;
  if (isTooLate(facts)) {
    return end("Failed", [
      ["Planned", "False", "DeadlinePassed", `it was allowed, and could not begin by ${spec.deadline}`],
    ]);
  }
  const { is, said } = authorityOver(rollout, status?.plannedDigest, policy, hasFormer(facts));
  if (is !== "given") return planAgain(facts, "it has to be approved anew");
  if (accepted.length === 0) return unaccepted(facts);
  if (obstacle !== undefined) return held(obstacle);
  if (spec.pausedReason !== undefined) {
    return wait(untilDeadline(facts), [said, ["Applied", "False", "Paused", `paused: ${spec.pausedReason}`]]);
  }
  if (!window.isOpen) return wait(untilOpen(facts), [said, windowClosed(facts)]);
  const running = siblings.find(isRunning);
  if (running !== undefined) {
    const message = `${running.metadata.name} changes the same objects`;
    return wait(untilDeadline(facts), [said, ["Applied", "False", "AnotherRuns", message]]);
  }
  if (!isPlanFresh(facts)) return planAgain(facts, "the last plan is too old to be applied");
  const startedAt = timestamp(now);
  const until = timestamp(new Date(Date.parse(startedAt) + RUNS_AT_MOST_MS));
  return {
    do: "claim",
    to: "Applying",
    said: [permitted(undefined), said, ["Applied", "Unknown", "InProgress", "it is being applied"]],
    fields: { startedAt, until, ...atWave(facts, 0, status?.waves ?? 0), approvalLine: undefined },
  };
}

function hasFormer({ rollout, siblings }: RolloutFacts): boolean {
  return formerOf(rollout, siblings) !== undefined;
}

/** The plan was made after the last word: an approval of a plan holds only if another look shows the same. */
function isOfThisWish({ rollout }: RolloutFacts): boolean {
  return conditionOf(rollout, "Planned")?.observedGeneration === (rollout.metadata.generation ?? 0);
}

function isPlanFresh(facts: RolloutFacts): boolean {
  const { rollout, siblings } = facts;
  const { formerContent, formerDigest } = rollout.status ?? {};
  const { former } = trailOf(siblings);
  const isOfFormer = former?.name === formerContent && former?.digest === formerDigest;
  return isOfThisWish(facts) && planAgeMs(facts) <= PLAN_HOLDS_MS && isOfFormer;
}

/** Since its dry runs began. */
function planAgeMs({ rollout: { status }, now }: RolloutFacts): number {
  return now.getTime() - Date.parse(status?.plannedAt ?? "");
}

/** Nothing is begun after the deadline. */
function isTooLate({ rollout: { spec }, now }: RolloutFacts): boolean {
  return now.getTime() >= Date.parse(spec.deadline);
}

function untilDeadline({ rollout: { spec }, now }: RolloutFacts): number {
  const leftMs = Date.parse(spec.deadline) - now.getTime();
  return Math.min(Math.max(leftMs, 1), LOOK_AT_LEAST_MS);
}

function untilOpen(facts: RolloutFacts): number {
  const {
    window: { opensAt },
    now,
  } = facts;
  const leftMs = opensAt === undefined ? LOOK_AT_LEAST_MS : opensAt.getTime() - now.getTime();
  return Math.min(Math.max(leftMs, 1), untilDeadline(facts));
}

function unaccepted(facts: RolloutFacts): RolloutStep {
  const { deploymentId } = facts.rollout.spec;
  const message = `deployment ${deploymentId} waits until the customer accepts it`;
  return wait(untilDeadline(facts), [["Planned", "Unknown", "AwaitingAcceptance", message]]);
}
