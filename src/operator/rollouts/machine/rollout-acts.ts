import type { Clock } from "../../../base/clock.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { RolloutMetrics } from "../../kernel/rollout-metrics.ts";
import type { Intent, RolloutHands, WaveApplied } from "../hands/hands.ts";
import * as after from "./after-act.ts";
import { backward, type Contents, closedNamespaces, forward, openNamespaces, wavesOf } from "./intent.ts";
import type { ReleaseContents } from "./release-contents.ts";
import { conditionOf, end, type RolloutAct, type RolloutFacts, type RolloutStep, wait } from "./rollout-step.ts";
import { permitted } from "./said.ts";
import { broughtBy, type ContentRef, formerOf, type Trail, trailOf } from "./trail.ts";
import { namespaceClosed, succeeded, takeBack } from "./while-it-runs.ts";

export interface ActPorts {
  readonly clock: Clock;
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
  readonly hands: RolloutHands;
  readonly contents: Pick<ReleaseContents, "read">;
  readonly metrics: Pick<RolloutMetrics, "planned" | "applied" | "pruned">;
}

const AFTER_FORBIDDEN_MS = 5_000;
const RIGHTS_HINT = "in a namespace that was made anew there are rights again once the chart is upgraded";
/** A right that was taken away may come back within this time, for instance a role that is being replaced. */
const FORBIDDEN_MS = 120_000;

/**
 * Does one thing in the cluster. Its outcome leads to the next step; what the API server does not say yet is tried again.
 *
 * @param look the facts as they are when it is done
 */
export async function perform(
  act: RolloutAct,
  facts: RolloutFacts,
  look: () => Promise<RolloutFacts>,
  ports: ActPorts,
  signal: AbortSignal,
): Promise<RolloutStep> {
  const at = facts.now;
  const trail = { ...trailOf(facts.siblings), former: formerOf(facts.rollout, facts.siblings) };
  const contents = await read(act, trail, facts, ports, signal);
  const { rollout, accepted = [] } = facts;
  const intent = act === "restore" ? backward(rollout, contents, accepted) : forward(rollout, contents, accepted);
  const hindrance = hindered(act, facts, contents, intent);
  if (hindrance !== undefined) return hindrance;
  signal.throwIfAborted();
  ports.fence();
  try {
    if (act !== "plan") return allowed(facts, await changed(act, look, intent, contents, ports, signal));
    const planned = await ports.hands.plan(intent, signal);
    ports.metrics.planned((ports.clock.wallNow().getTime() - at.getTime()) / 1_000);
    const isFormerGone = contents.former?.problem !== undefined;
    const waves = wavesOf(intent).length;
    const namespaces = openNamespaces(intent);
    const { former } = trail;
    return after.afterPlan(await look(), { ...planned, intent, former, isFormerGone, waves, namespaces, at });
  } catch (error) {
    if (!(error instanceof ApiError && error.isForbidden)) throw error;
    // A role or a right was taken away: the operator may not lend it.
    return forbidden(act, await look(), error.message);
  }
}

/** A plan waits until its deadline. What has begun ends when the right does not come back, and is taken back if it can. */
function forbidden(act: RolloutAct, facts: RolloutFacts, why: string): RolloutStep {
  const { status, lastTransitionTime = "" } = conditionOf(facts.rollout, "Permitted") ?? {};
  const sinceMs = status === "False" ? facts.now.getTime() - Date.parse(lastTransitionTime) : 0;
  // The way back has as long again.
  const mostMs = act === "restore" ? 2 * FORBIDDEN_MS : FORBIDDEN_MS;
  if (act === "plan" || sinceMs < mostMs) return wait(AFTER_FORBIDDEN_MS, [permitted(`${why}; ${RIGHTS_HINT}`)]);
  const message = `a right is missing for ${mostMs / 60_000} minutes: ${why}`;
  if (act === "restore") return end("Failed", [["Healthy", "False", "FormerUnhealthy", message]]);
  if (act === "prune") return succeeded(facts, ["Pruned", "False", "SomeLeft", message]);
  return takeBack(facts, "ApplyFailed", message);
}

/** The right that was missing is there again: the next time counts from its own beginning. */
function allowed({ rollout }: RolloutFacts, step: RolloutStep): RolloutStep {
  if (step.do === "rest" || step.do === "act" || conditionOf(rollout, "Permitted")?.status !== "False") return step;
  if (step.said.some(([type]) => type === "Permitted")) return step;
  return { ...step, said: [permitted(undefined), ...step.said] };
}

async function changed(
  act: Exclude<RolloutAct, "plan">,
  look: () => Promise<RolloutFacts>,
  intent: Intent,
  contents: Contents,
  { hands, metrics }: ActPorts,
  signal: AbortSignal,
): Promise<RolloutStep> {
  const { rollout, closed = [] } = intent;
  const { status } = rollout;
  const left = closed.map((ref) => ({ ref, message: "the deployment is not accepted in its namespace any more" }));
  const until = new Date(status?.until ?? "");
  const waves = wavesOf(intent);
  const position = status?.wave ?? 0;
  // One more than there are: nothing is in it.
  const wave = waves[position] ?? (waves.at(-1) ?? 0) + 1;
  const waveStartedAt = new Date(status?.waveStartedAt ?? "");
  const measured = (applied: WaveApplied): WaveApplied => {
    metrics.applied(applied);
    return applied;
  };
  switch (act) {
    case "apply": {
      const applied = measured(await hands.apply(intent, wave, until, signal));
      return after.afterApply(await look(), applied, waves.length);
    }
    case "gate": {
      const health = await hands.health(intent, wave, waveStartedAt, until, signal);
      return after.afterGate(await look(), health, waves.length);
    }
    case "remove": {
      const pruned = await hands.prune(intent, until, signal);
      return after.afterRemove(await look(), pruned);
    }
    case "detach": {
      const detached = measured(await hands.detach(intent, until, signal));
      return after.afterDetach(await look(), detached);
    }
    case "prune": {
      const pruned = await hands.prune(intent, until, signal);
      if (pruned.waiting === 0) metrics.pruned(pruned.deleted, pruned.left.length);
      const unread = contents.former?.problem;
      if (unread !== undefined) return succeeded(await look(), ["Pruned", "False", "ContentMissing", unread.message]);
      const isDeleted = rollout.spec.action === "delete" && pruned.waiting === 0;
      const behind = isDeleted ? await hands.leftBehind(intent, until, signal) : undefined;
      return after.afterPrune(await look(), pruned, left, behind);
    }
    case "restore": {
      const { own } = contents;
      // What only it named is not known any more, and stays.
      const unread = own?.problem ? [{ ref: `ReleaseContent/${own.name}`, message: own.problem.message }] : [];
      const told = { left: [...left, ...unread], waves: waves.length };
      if (position >= waves.length) {
        const pruned = await hands.prune(intent, until, signal);
        return after.afterRestore(await look(), { ...told, pruned });
      }
      if (status?.waveStartedAt === undefined) {
        const applied = measured(await hands.apply(intent, wave, until, signal));
        return after.afterRestore(await look(), { ...told, applied });
      }
      const health = await hands.health(intent, wave, waveStartedAt, until, signal);
      return after.afterRestore(await look(), { ...told, health });
    }
    default:
      return act satisfies never;
  }
}

async function read(
  act: RolloutAct,
  { former, leftovers, unfinishedSince }: Trail,
  { rollout: { spec, status } }: RolloutFacts,
  { contents }: ActPorts,
  signal: AbortSignal,
): Promise<Contents> {
  const isFresh = act !== "gate" && !(act === "restore" && status?.waveStartedAt !== undefined);
  const one = (ref: ContentRef) => contents.read(ref, spec.deploymentId, isFresh, signal);
  const ref = broughtBy(spec);
  const others = leftovers.filter(({ name }) => name !== ref?.name && name !== former?.name);
  // One after the other: each may have 900 KiB.
  const own = ref === undefined ? undefined : await one(ref);
  const before = former === undefined ? undefined : await one(former);
  const left = [];
  for (const each of others) left.push(await one(each));
  return { own, former: before, leftovers: left, unfinishedSince };
}

/** Why the act cannot be done with what was read. */
function hindered(act: RolloutAct, facts: RolloutFacts, contents: Contents, intent: Intent): RolloutStep | undefined {
  const { own, former } = contents;
  const { action } = facts.rollout.spec;
  const closed = closedNamespaces(intent);
  const words = `the deployment is not accepted any more in namespace ${closed.slice(0, 5).join(", ")}`;
  const formerLacks = former?.problem;
  if (act === "restore") {
    if (formerLacks !== undefined) return end("Failed", [["Healthy", "False", "FormerMissing", formerLacks.message]]);
    return closed.length > 0 ? end("Failed", [["Healthy", "False", "FormerUnhealthy", words]]) : undefined;
  }
  const takesAway = action === "delete" || action === "detach";
  if (takesAway && formerLacks !== undefined && act !== "prune") {
    const message = `${formerLacks.message}: nothing says what is installed`;
    if (act === "plan") return end("Failed", [["Planned", "False", formerLacks.reason, message]]);
    return end("Failed", [["Applied", "False", formerLacks.reason, message]]);
  }
  if (own?.problem !== undefined) {
    const { reason, message } = own.problem;
    if (act === "plan") return end("Failed", [["Planned", "False", reason, message]]);
    if (act === "prune") return succeeded(facts, ["Pruned", "False", "ContentMissing", message]);
    return takeBack(facts, reason, message);
  }
  return (act === "apply" || act === "gate") && closed.length > 0 ? namespaceClosed(words) : undefined;
}
