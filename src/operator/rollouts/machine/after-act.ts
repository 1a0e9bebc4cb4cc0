import { counted } from "../../../base/counted.ts";
import type { RolloutPlan } from "../../../crds/kinds/rollout.ts";
import { timestamp } from "../../../kube/objects/conditions.ts";
import type { Awaited, Intent, LeftBehind, Planned, Pruned, WaveApplied, WaveHealth } from "../hands/hands.ts";
import { isNamed } from "../hands/targets.ts";
import { authorityOver } from "./authority.ts";
import { end, type Fields, go, type RolloutFacts, type RolloutStep, type Said, wait } from "./rollout-step.ts";
import { approvalLine, atWave, firstOf, named, permitted, takeOverOf } from "./said.ts";
import type { ContentRef } from "./trail.ts";
import { heldBack, prunes, succeeded, takeBack } from "./while-it-runs.ts";

const AGAIN_MS = 2_000;
/** How long a wave that is refused for a while (429, 5xx, a webhook that is away) is tried again. */
const TRIED_FOR_MS = 10 * 60_000;
/** How long deletions are waited for. */
const DELETED_WITHIN_MS = 10 * 60_000;
/** Of the status, over all waves. */
const MAX_OVERRIDES = 50;

export type Overrides = NonNullable<RolloutPlan["overrides"]>;
type Left = Pruned["left"];

export interface Plan extends Planned {
  readonly former: ContentRef | undefined;
  /** The former content cannot be read: nothing of it is deleted, and nothing goes back to it. */
  readonly isFormerGone: boolean;
  readonly waves: number;
  /** What it was made of. */
  readonly intent: Pick<Intent, "takeOver" | "objects" | "former">;
  /** Those that are accepted and that objects lie in: the accounts have rights there. */
  readonly namespaces: readonly string[];
  /** When it was begun. */
  readonly at: Date;
}

/** A plan without problems goes on as the customer's policy says. */
export function afterPlan(facts: RolloutFacts, planned: Plan): RolloutStep {
  const { rollout, policy } = facts;
  const { plan, plannedDigest, problems, former, waves } = planned;
  const fields: Fields = {
    plan: { ...plan, overrides: plan.overrides ?? [], refused: problems.map((each) => ({ ...each })) },
    ...{ plannedDigest, plannedAt: timestamp(planned.at), plannedTakeOver: takeOverOf(rollout.spec) },
    ...{ waves, namespaces: [...planned.namespaces] },
    ...{ formerContent: former?.name, formerDigest: former?.digest, approvalLine: undefined },
  };
  const unmatched = unmatchedTakeOver(planned.intent);
  if (planned.awaitsTakeOver === true && rollout.spec.approvedDigest === undefined) {
    const message = `${counted(problems.length, "object")} not of this deployment, to be named in spec.takeOver, deleted or denied: ${named(problems)}${unmatched}`;
    const said: Said[] = [
      permitted(undefined),
      ["Planned", "False", "NotOurs", message],
      [
        "Approved",
        "Unknown",
        "AwaitingDecision",
        "no plan can be approved while objects of the customer are in the way",
      ],
    ];
    // Nothing can be approved: what would be done is not shown yet.
    return go("AwaitingApproval", said, { ...fields, plannedDigest: undefined });
  }
  if (problems.length > 0) {
    const message = `${problems.length} may not be applied: ${named(problems)}`;
    return end("Failed", [["Planned", "False", "Refused", message]], fields);
  }
  const anew = plan.recreate === undefined ? "" : `, deletes and makes anew ${plan.recreate.length}`;
  const counts = `creates ${plan.create}, changes ${plan.change}, deletes ${plan.prune}${anew}, leaves ${plan.unchanged} as they are`;
  const gone = planned.isFormerGone
    ? `; content ${former?.name}, which is installed, is gone: nothing of it is deleted, and nothing goes back to it`
    : "";
  const shown = { spec: rollout.spec, status: { ...rollout.status, plan } };
  const { is, said } = authorityOver(shown, plannedDigest, policy, former !== undefined);
  const all: Said[] = [
    permitted(undefined),
    ["Planned", "True", "PlanMade", `${counts}${gone}${unmatched}`],
    overridden(plan.overrides ?? []),
    said,
  ];
  if (is === "denied") return end("Denied", all, fields);
  if (is === "given") return go("Queued", all, fields);
  // An approval is final: this rollout could never be given another one.
  if (rollout.spec.approvedDigest !== undefined) return end("Failed", all, fields);
  return go("AwaitingApproval", all, { ...fields, approvalLine: approvalLine(rollout, plannedDigest) });
}

/** Entries of spec.takeOver that name no object of the release: a misspelt name would else seem to count. */
function unmatchedTakeOver({ takeOver, objects, former }: Plan["intent"]): string {
  const found = takeOver.filter((each) => ![...objects, ...former].some(({ manifest }) => isNamed([each], manifest)));
  if (found.length === 0) return "";
  const names = found.map(({ kind, name }) => `${kind}/${name}`);
  return `; spec.takeOver names what the release does not have: ${firstOf(names)}`;
}

/** @param waves how many the content has */
export function afterApply(facts: RolloutFacts, applied: WaveApplied, waves: number): RolloutStep {
  const { rollout } = facts;
  const { wave = 0 } = rollout.status ?? {};
  const failed = afterFailures(facts, applied, `wave ${wave + 1} of ${waves}`);
  if (failed !== undefined) return failed;
  const said: Said[] = [["Healthy", "Unknown", "InProgress", `wave ${wave + 1} of ${waves} is not healthy yet`]];
  const { plan } = rollout.status ?? {};
  const overrides = added(plan?.overrides ?? [], applied.overrides);
  if (plan === undefined || overrides.length === (plan.overrides ?? []).length) {
    return go("Gating", said, atWave(facts, wave, waves));
  }
  const fields = { ...atWave(facts, wave, waves), plan: { ...plan, overrides } };
  return go("Gating", [...said, overridden(overrides)], fields);
}

export function afterDetach(facts: RolloutFacts, applied: WaveApplied): RolloutStep {
  return (
    afterFailures(facts, applied, "letting go") ?? prunes("the release's objects stay, and are not its own any more")
  );
}

function afterFailures(facts: RolloutFacts, { failures }: WaveApplied, what: string): RolloutStep | undefined {
  if (failures.length === 0) return undefined;
  const lasting = failures.filter(({ isTemporary }) => !isTemporary);
  if (lasting.length > 0) return takeBack(facts, "ApplyFailed", `${what}: ${named(lasting)}`);
  if (isLate(facts, TRIED_FOR_MS))
    return takeBack(facts, "ApplyFailed", `${what}, for ten minutes: ${named(failures)}`);
  return wait(AGAIN_MS, [["Applied", "Unknown", "InProgress", `${what} is tried again: ${named(failures)}`]]);
}

export function afterGate(facts: RolloutFacts, health: WaveHealth, waves: number): RolloutStep {
  const { wave = 0 } = facts.rollout.status ?? {};
  const { verdict, message = "", needsNodes, waitsFor, againMs } = health;
  const fields = resourcesOf(facts, health);
  const name = `wave ${wave + 1} of ${waves}`;
  if (verdict === "failed") return withFields(takeBack(facts, "GateFailed", `${name}: ${message}`), fields);
  if (verdict === "waiting") {
    if (needsNodes !== undefined) {
      return wait(againMs, [["Healthy", "Unknown", "AwaitingNodes", `${name}: ${needsNodes}`]], fields);
    }
    return wait(againMs, [awaitedSaid(name, waitsFor)], fields);
  }
  if (wave + 1 >= waves) {
    const said: Said = ["Healthy", "True", "AllHealthy", "everything that was applied is healthy"];
    return withFields(prunes(), { ...fields, waveStartedAt: timestamp(facts.now) }, [said]);
  }
  const next = heldBack(facts) ?? go("Applying", [["Applied", "Unknown", "InProgress", "it is being applied"]]);
  // What is held back has no time of its own until it goes on.
  return withFields(next, { ...fields, ...(next.do === "go" && atWave(facts, wave + 1, waves)) });
}

function awaitedSaid(name: string, waitsFor: Awaited | undefined): Said {
  if (waitsFor === undefined) return ["Healthy", "Unknown", "InProgress", `${name} is not healthy yet`];
  const { ref, message, warning } = waitsFor;
  const what = `${name} waits for ${ref}: ${message}`;
  if (warning === undefined) return ["Healthy", "Unknown", "InProgress", what];
  return ["Healthy", "Unknown", "NotComingUp", `${what}; last warning: ${warning}`];
}

/** Of the action delete: the deletions are what is applied. */
export function afterRemove(facts: RolloutFacts, { waiting }: Pruned): RolloutStep {
  if (waiting > 0 && !isLate(facts, DELETED_WITHIN_MS)) {
    return wait(AGAIN_MS, [["Applied", "Unknown", "InProgress", "objects are being deleted, the last wave first"]]);
  }
  return prunes("the release's objects are deleted");
}

/** @param behind of a deletion: what it leaves beside these objects */
export function afterPrune(facts: RolloutFacts, pruned: Pruned, left: Left, behind?: LeftBehind): RolloutStep {
  if (pruned.waiting > 0 && !isLate(facts, DELETED_WITHIN_MS)) return wait(AGAIN_MS);
  return succeeded(facts, prunedSaid(pruned, left, behind));
}

export interface WayBack {
  readonly applied?: WaveApplied;
  readonly health?: WaveHealth;
  readonly pruned?: Pruned;
  readonly left: Left;
  readonly waves: number;
}

/** A step of the way back; its failure ends it. */
export function afterRestore(facts: RolloutFacts, { applied, health, pruned, left, waves }: WayBack): RolloutStep {
  const { status } = facts.rollout;
  const { wave = 0, formerContent = "" } = status ?? {};
  const name = `back to ${formerContent}, wave ${wave + 1} of ${waves}`;
  const failed = (message: string): RolloutStep => end("Failed", [["Healthy", "False", "FormerUnhealthy", message]]);
  if (applied !== undefined) {
    const lasting = applied.failures.filter(({ isTemporary }) => !isTemporary);
    if (lasting.length > 0) return failed(`${name}: ${named(lasting)}`);
    if (applied.failures.length > 0) return wait(AGAIN_MS);
    return go("RollingBack", [], atWave(facts, wave, waves));
  }
  if (health !== undefined) {
    const fields = resourcesOf(facts, health);
    if (health.verdict === "failed") return withFields(failed(`${name}: ${health.message ?? ""}`), fields);
    if (health.verdict === "waiting") return wait(health.againMs, [], fields);
    return go("RollingBack", [], { ...fields, wave: wave + 1, waveStartedAt: undefined });
  }
  if (pruned === undefined || pruned.waiting > 0) return wait(AGAIN_MS);
  const said: Said = ["Healthy", "True", "FormerHealthy", `content ${formerContent} is back and healthy`];
  return end("RolledBack", [said, prunedSaid(pruned, left)], { rolledBackTo: formerContent });
}

function prunedSaid(pruned: Pruned, others: Left, behind: LeftBehind = { left: [], unsearched: [] }): Said {
  const left = [...pruned.left, ...others, ...behind.left];
  const going = pruned.waiting > 0 ? [`${counted(pruned.waiting, "deletion")} under way`] : [];
  const places = firstOf(behind.unsearched);
  const unsearched = places === "" ? [] : [`not searched, and earlier releases were there: ${places}`];
  const stays = left.length > 0 ? [`${counted(left.length, "object")} left: ${named(left)}`] : [];
  const all = [...going, ...unsearched, ...stays];
  if (all.length === 0) return ["Pruned", "True", "NothingLeft", "nothing is left of what was before"];
  return ["Pruned", "False", "SomeLeft", all.join("; ")];
}

/** Of `replicas` it is not told: an autoscaler has them as a rule. */
function overridden(overrides: Overrides): Said {
  const told = overrides.filter(({ field }) => field !== ".spec.replicas");
  const but = overrides.length === 0 ? "" : " but replicas, which stay as others have them";
  if (told.length === 0) return ["Overridden", "False", "NoOverrides", `the release has all of its fields${but}`];
  const fields = told.map(({ ref, field, manager }) => ({ ref: `${ref} ${field}`, message: `of ${manager}` }));
  return [
    "Overridden",
    "True",
    "FieldsLeft",
    `${counted(told.length, "field")} left as others have set them: ${named(fields)}`,
  ];
}

function added(known: Overrides, found: WaveApplied["overrides"]): Overrides {
  const isKnown = ({ ref, field }: { readonly ref: string; readonly field: string }): boolean =>
    known.some((each) => each.ref === ref && each.field === field);
  const more = found.filter((each) => !isKnown(each)).map(({ ref, field, manager }) => ({ ref, field, manager }));
  return [...known, ...more].slice(0, MAX_OVERRIDES);
}

/** What was told of resources of earlier waves stays. */
function resourcesOf({ rollout: { status } }: RolloutFacts, { resources }: WaveHealth): Fields {
  const now = new Map((status?.resources ?? []).map((each) => [each.resourceId, each]));
  for (const each of resources) now.set(each.resourceId, each);
  return now.size === 0 ? {} : { resources: [...now.values()] };
}

function isLate({ rollout: { status }, now }: RolloutFacts, afterMs: number): boolean {
  return !(now.getTime() - Date.parse(status?.waveStartedAt ?? "") < afterMs);
}

function withFields(step: RolloutStep, fields: Fields, said: readonly Said[] = []): RolloutStep {
  if (step.do === "rest" || step.do === "act") return step;
  return { ...step, said: [...step.said, ...said], fields: { ...fields, ...step.fields } };
}
