import type { RolloutReason } from "../../../crds/conditions.ts";
import type { FinalRolloutState } from "../../../crds/kinds/rollout.ts";
import { timestamp } from "../../../kube/objects/conditions.ts";
import { authorityOver, mayRollBack } from "./authority.ts";
import {
  conditionOf,
  end,
  go,
  type RolloutFacts,
  type RolloutStep,
  type Said,
  type Wait,
  wait,
} from "./rollout-step.ts";
import { held, isTimeOver, permitted, windowClosed } from "./said.ts";

/** Of a rollout's time, what is left for the way back. No wave begins in it. */
const WAY_BACK_MS = 20 * 60_000;
const LOOK_AGAIN_MS = 5_000;
const HELD_WAY_BACK = "the way back is held up: Permitted says by what";

/** What stops a rollout that changes the cluster. */
export function whileItRuns(facts: RolloutFacts): RolloutStep | undefined {
  const { rollout, accepted = [], now } = facts;
  const { status } = rollout;
  if (isTimeOver(facts)) {
    const message = "no operator ran until its time was over: how far it came is not known";
    return go("Unknown", [["Applied", "Unknown", "OutcomeUnknown", message]]);
  }
  if (accepted.length === 0) return namespaceClosed("the deployment is accepted in no namespace any more");
  const stopped = stoppedByWord(facts);
  if (stopped !== undefined) return stopped;
  if (now.getTime() >= Date.parse(status?.until ?? "") - WAY_BACK_MS) {
    return takeBack(facts, "TimeOver", "it was not done in time to leave some for the way back");
  }
  return undefined;
}

/** An approval cannot be taken back; an abort, a denial or a policy that comes later ends it all the same. */
function stoppedByWord(facts: RolloutFacts): RolloutStep | undefined {
  const { rollout, policy } = facts;
  const { spec, status } = rollout;
  if (spec.abortReason !== undefined) {
    return takeBack(facts, "AbortedByCustomer", `aborted: ${spec.abortReason}`, "Aborted");
  }
  const { is, said } = authorityOver(rollout, status?.plannedDigest, policy, status?.formerContent !== undefined);
  if (is !== "denied") return undefined;
  return takeBack(facts, said[2] === "PolicyDenied" ? "PolicyDenied" : "DeniedByCustomer", said[3]);
}

export function applying(facts: RolloutFacts): RolloutStep {
  const { rollout, obstacle } = facts;
  const { spec, status } = rollout;
  if (obstacle !== undefined) return heldWave(held(obstacle));
  if (status?.waveStartedAt === undefined) return waveGoesOn(facts, "Applying");
  if (spec.action === "delete") return { do: "act", act: "remove" };
  if (spec.action === "detach") return { do: "act", act: "detach" };
  if ((status?.wave ?? 0) >= (status?.waves ?? 0)) return prunes();
  return { do: "act", act: "apply" };
}

/** A wave that was healthy when it was held back is looked at again when it is not: others may have changed it. */
export function gating(facts: RolloutFacts): RolloutStep {
  if (facts.rollout.status?.waveStartedAt !== undefined) return { do: "act", act: "gate" };
  return heldBack(facts) ?? waveGoesOn(facts, "Gating");
}

export function prunes(message = "everything that the release has is applied"): RolloutStep {
  return go("Pruning", [
    ["Applied", "True", "AllApplied", message],
    ["Pruned", "Unknown", "InProgress", "what the release does not have any more is deleted"],
  ]);
}

/** Why the next wave is held back, if it is. A wave that was applied is gated all the same. */
export function heldBack(facts: RolloutFacts): RolloutStep | undefined {
  const { rollout, window, obstacle } = facts;
  const { pausedReason } = rollout.spec;
  if (obstacle !== undefined) return heldWave(held(obstacle));
  if (pausedReason !== undefined) {
    return heldWave(wait(LOOK_AGAIN_MS, [["Applied", "Unknown", "Paused", `paused between waves: ${pausedReason}`]]));
  }
  return window.isOpen ? undefined : heldWave(wait(LOOK_AGAIN_MS, [windowClosed(facts)]));
}

/** Its time ends: what is held for an hour would else be late, or taken back, at the first blip after it. */
function heldWave(step: Wait): RolloutStep {
  return { ...step, fields: { waveStartedAt: undefined } };
}

/** It may do so anew: how long a right has been missing counts from here, and not from when a policy was. */
function waveGoesOn({ now }: RolloutFacts, state: "Applying" | "Gating"): RolloutStep {
  const said: Said[] = [permitted(undefined), ["Applied", "Unknown", "InProgress", "it goes on"]];
  return go(state, said, { waveStartedAt: timestamp(now) });
}

export function pruning(facts: RolloutFacts): RolloutStep {
  const { rollout, accepted = [], obstacle } = facts;
  if (rollout.spec.action === "detach")
    return succeeded(facts, ["Pruned", "True", "NothingLeft", "nothing is deleted"]);
  if (isTimeOver(facts)) {
    return succeeded(facts, ["Pruned", "False", "TimeOver", "its time was over before everything was deleted"]);
  }
  if (accepted.length === 0) {
    const message = "the deployment is accepted in no namespace any more: what was to be deleted may be there";
    return succeeded(facts, ["Pruned", "False", "NamespaceClosed", message]);
  }
  const stopped = stoppedByWord(facts);
  if (stopped !== undefined) return stopped;
  if (obstacle !== undefined) return heldWave(held(obstacle));
  return rollout.status?.waveStartedAt === undefined
    ? go("Pruning", [permitted(undefined)], { waveStartedAt: timestamp(facts.now) })
    : { do: "act", act: "prune" };
}

export function succeeded({ rollout: { spec } }: Pick<RolloutFacts, "rollout">, pruned: Said): RolloutStep {
  return end("Succeeded", [pruned], { appliedDigest: spec.contentDigest });
}

export function rollingBack(facts: RolloutFacts): RolloutStep {
  const { rollout, accepted = [], obstacle } = facts;
  const message = (why: string): Said => ["Healthy", "False", "FormerUnhealthy", why];
  if (isTimeOver(facts)) return end("Failed", [message("its time was over before the former content was back")]);
  if (accepted.length === 0) {
    return end("Failed", [message("the deployment is accepted in no namespace any more: nothing could be taken back")]);
  }
  // Without a policy nothing holds the account to what a release may do, on the way back either.
  if (obstacle !== undefined) return heldWave(held(obstacle, [["Healthy", "Unknown", "InProgress", HELD_WAY_BACK]]));
  if (conditionOf(rollout, "Healthy")?.reason !== "InProgress") return { do: "act", act: "restore" };
  const goesOn = `back to ${rollout.status?.formerContent}: it goes on`;
  return go("RollingBack", [permitted(undefined), ["Healthy", "Unknown", "RollingBack", goesOn]]);
}

/** Only a time that is over leads here: what was cut by a crash is done again from the state that is stored. */
export function unknown(): RolloutStep {
  return end("Failed", [
    ["Applied", "False", "TimeOver", "a rollout runs for two hours at most; how far it came is not known"],
  ]);
}

/**
 * Stops, and goes back to what the deployment had: once, because a way back that fails has nowhere to go.
 *
 * @param without what it is when there is nothing to go back to
 */
export function takeBack(
  facts: RolloutFacts,
  reason: RolloutReason<"Applied">,
  message: string,
  without: FinalRolloutState = "Failed",
): RolloutStep {
  const { rollout, policy, obstacle } = facts;
  const said: Said[] = [["Applied", "False", reason, message]];
  if (reason === "GateFailed") said.push(["Healthy", "False", "GateFailed", message]);
  if (rollout.status?.formerContent === undefined) return end(without, said);
  if (!mayRollBack(rollout, policy)) {
    said[0] = ["Applied", "False", reason, `${message}; the customer's policy denies release/rollback`];
    return end(without, said);
  }
  const back: Said = ["Healthy", "Unknown", "RollingBack", `back to ${rollout.status.formerContent}: ${message}`];
  // It was held until now.
  const anew = rollout.status.waveStartedAt === undefined && obstacle === undefined ? [permitted(undefined)] : [];
  return go("RollingBack", [...anew, said[0] as Said, back], { wave: 0, waveStartedAt: undefined });
}

export function namespaceClosed(message: string): RolloutStep {
  return end("Failed", [["Applied", "False", "NamespaceClosed", message]]);
}
