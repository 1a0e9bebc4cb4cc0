import type { Rollout, RolloutSpec } from "../../../crds/kinds/rollout.ts";
import { timestamp } from "../../../kube/objects/conditions.ts";
import {
  conditionOf,
  type Fields,
  go,
  type RolloutFacts,
  type RolloutStep,
  type Said,
  type Wait,
  wait,
} from "./rollout-step.ts";

const AFTER_OBSTACLE_MS = 5_000;
/** Objects that one message names. */
const NAMED = 5;
/** Everything that is waited for brings a look of its own; this one is for what does not. */
export const LOOK_AT_LEAST_MS = 60_000;

/** @param wave its place among the waves that the content has, from 0 */
export function atWave({ now }: Pick<RolloutFacts, "now">, wave: number, waves: number): Fields {
  return { wave, waves, waveOf: `${Math.min(wave + 1, waves)}/${waves}`, waveStartedAt: timestamp(now) };
}

/** What held it up, such as a window that "opens next at" a time, is not said while it is planned: the time would be of the past. */
export function planAgain({ rollout }: Pick<RolloutFacts, "rollout">, message: string): RolloutStep {
  const wasHeld = conditionOf(rollout, "Applied")?.status === "False";
  const said: readonly Said[] = [
    ...(wasHeld
      ? ([["Applied", "Unknown", "PlannedAgain", "it is planned once more before it is applied"]] as const)
      : []),
    ["Planned", "Unknown", "InProgress", message],
  ];
  return go("Planning", said, { approvalLine: undefined });
}

export function held(obstacle: string, said: readonly Said[] = []): Wait {
  return wait(AFTER_OBSTACLE_MS, [permitted(obstacle), ...said]);
}

export function permitted(obstacle: string | undefined): Said {
  if (obstacle !== undefined) return ["Permitted", "False", "RuleMissing", obstacle];
  return ["Permitted", "True", "RightsComplete", "the operator has the rights that this rollout needs"];
}

export function windowClosed({ window: { opensAt, problem } }: RolloutFacts): Said {
  const next = opensAt === undefined ? "none opens" : `the next opens at ${timestamp(opensAt)}`;
  const when = problem === undefined ? next : `${next}; ${problem}`;
  return ["Applied", "False", "WindowClosed", `no window for releases is open: ${when}`];
}

export function isTimeOver({ rollout: { status }, now }: RolloutFacts): boolean {
  return !(now.getTime() < Date.parse(status?.until ?? ""));
}

/** Of a rollout that waits for a person: a pause holds nothing up yet, and is to be seen before the approval. */
export function pausedFirst({ rollout }: Pick<RolloutFacts, "rollout">): readonly Said[] {
  const { pausedReason } = rollout.spec;
  if (pausedReason !== undefined) return [["Applied", "False", "Paused", `paused: ${pausedReason}`]];
  if (conditionOf(rollout, "Applied")?.reason !== "Paused") return [];
  return [["Applied", "Unknown", "PlannedAgain", "it is not paused any more"]];
}

/** How many objects the release may take over. A plan that knows fewer is not of this wish. */
export function takeOverOf({ takeOver = [] }: Pick<RolloutSpec, "takeOver">): number {
  return new Set(takeOver.map(({ kind, name }) => `${kind}/${name}`)).size;
}

/** The line with which the customer approves exactly this plan. It holds no text of the platform or the cluster. */
export function approvalLine({ metadata }: Pick<Rollout, "metadata">, plannedDigest: string): string {
  const what = `rout ${metadata.name} -n ${metadata.namespace ?? ""}`;
  return `kubectl patch ${what} --type=merge -p '{"spec":{"approvedDigest":"${plannedDigest}"}}'`;
}

/** Names the first few, and counts the others. */
export function named(found: readonly { readonly ref: string; readonly message: string }[]): string {
  return firstOf(found.map(({ ref, message }) => `${ref}: ${message}`));
}

/** The first of them, and how many there are besides. */
export function firstOf(texts: readonly string[]): string {
  const more = texts.length > NAMED ? [`and ${texts.length - NAMED} more`] : [];
  return [...texts.slice(0, NAMED), ...more].join("; ");
}
