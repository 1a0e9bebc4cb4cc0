import { atOnce } from "../../../../base/at-once.ts";
import type { Clock } from "../../../../base/clock.ts";
import { counted } from "../../../../base/counted.ts";
import { ApiError } from "../../../../kube/client/api-error.ts";
import { jobShape } from "../../../../kube/projection/batch-shapes.ts";
import { Interner } from "../../../../kube/projection/interner.ts";
import { isDone } from "../../../../kube/workload-state/job.ts";
import { adoptedProblems, type ReleaseRules, type RuleProblem, refOf } from "../../release-rules.ts";
import { applyObject, type Failure, isFailure, type Outcome, type Wish } from "../apply-object.ts";
import type { Intent } from "../hands.ts";
import { membersOf } from "../members.ts";
import { isMember, type Membership } from "../membership.ts";
import { whyKept } from "../prune.ts";
import type { LiveObject, ReleaseApi } from "../release-api.ts";
import { lackingNow, lackingRights, type Need, needsOf } from "../rights.ts";
import type { ServedKinds } from "../served-kinds.ts";
import { AT_ONCE, outdated, type Target, targetsOf } from "../targets.ts";
import { unprovedDryRuns } from "./dry-run-proof.ts";
import { whatIsMet } from "./met.ts";
import { MAX_RECREATED, NOTHING_SHOWN, type Shown } from "./plan.ts";
import { whatRefersTo } from "./referred.ts";

interface DryRunPorts {
  readonly kinds: ServedKinds;
  readonly membership: Membership;
  /** How an object is wished for. */
  readonly wishFor: (target: Target) => Omit<Wish, "isDryRun" | "listed">;
  readonly clock: Clock;
  readonly rules: ReleaseRules;
}

/** What is different of an object that is detached. */
const LET_GO = [".metadata.labels", ".metadata.managedFields"];

/**
 * Tries everything out, as an account that can do nothing else, and collects all that speaks against it.
 *
 * @param problems of the rules: these objects are not tried.
 * @param namespaces that are accepted and concerned, at least one.
 * @throws ApiError when the API server is busy or away: then nothing is known.
 */
export async function dryRuns(
  { kinds, membership, wishFor, clock, rules }: DryRunPorts,
  api: ReleaseApi,
  intent: Intent,
  namespaces: readonly [string, ...string[]],
  problems: readonly RuleProblem[],
  signal: AbortSignal,
): Promise<Shown> {
  const refused = new Set(problems.map(({ ref }) => ref));
  const { action } = intent.rollout.spec;
  const isDetach = action === "detach";
  const replaces = action === "install" || action === "update";
  const lines = isDetach ? [] : intent.objects.filter(({ manifest }) => !refused.has(refOf(manifest)));
  const wanted = await targetsOf(kinds, api.exchange, lines, signal);
  const ending = isDetach ? [...intent.objects, ...outdated(intent)] : outdated(intent);
  const accepted = ending.filter(({ manifest }) => namespaces.includes(manifest.metadata.namespace ?? ""));
  const outgoing = await targetsOf(kinds, api.exchange, accepted, signal);
  const needs = [...needsOf("apply", wanted.targets), ...needsOf(isDetach ? "detach" : "prune", outgoing.targets)];
  const lacking = await lackingRights(api.exchange, needs, clock, signal);
  const unproved = await unprovedDryRuns(api, membership, namespaces[0], clock, signal);
  const found = [...problems, ...wanted.problems, ...lackingProblems(lacking)];
  if (unproved !== undefined) {
    return { ...NOTHING_SHOWN, problems: [{ ref: "", message: unproved }, ...found] };
  }
  const may = ({ resource, line }: Target): boolean =>
    !lacking.some((need) => need.resource === resource && need.namespace === line.manifest.metadata.namespace);

  const targets = wanted.targets.filter(may);
  const members = await membersOf(api, membership, targets, signal);
  const results = await atOnce(targets, AT_ONCE, async (target) => {
    const wish = { ...wishFor(target), isDryRun: true, listed: members.get(target.ref) };
    const result = await applyObject(api, membership, wish, signal);
    if (isFailure(result) && result.isTemporary) throw result.cause ?? busy(result.message);
    return { ref: target.ref, result };
  });
  const tried = sorted(results, intent, rules);
  const going = await atOnce(outgoing.targets.filter(may), AT_ONCE, async (target) => {
    const seen = await api.get(target.resource, target.line.manifest.metadata, signal);
    if (seen === undefined) return [];
    const isKept = isDetach ? !isMember(seen, membership) : whyKept(seen, target, membership, intent) !== undefined;
    return isKept ? [] : [{ ref: target.ref, isEnded: replaces && hasEnded(target, seen) }];
  });
  const refs = going.flat().flatMap(({ isEnded, ref }) => (isEnded ? [] : [ref]));
  const ended = going.flat().flatMap(({ isEnded, ref }) => (isEnded ? [ref] : []));
  const changed = [...tried.changed, ...(isDetach ? refs.map((ref) => ({ ref, fields: LET_GO })) : [])];
  const { created, adopted, recreated } = tried;
  const fresh = new Set([...created, ...[...adopted, ...changed, ...recreated].map(({ ref }) => ref)]);
  const workloads = targets.filter(({ ref }) => fresh.has(ref)).map(({ line }) => line);
  const fromNow = targets.filter(({ ref }) => created.includes(ref)).map(({ line }) => line.manifest);
  const met = await whatIsMet(api, membership, workloads, signal);
  const referred = await whatRefersTo(api, membership, fromNow, signal);
  const left = await leftWhenTakenBack(api, intent, targets, created, signal);
  const risks = [...tried.interruptions, ...closedLines(intent), ...left].sort();
  const pruned = isDetach ? [] : refs;
  return {
    ...tried,
    changed,
    pruned,
    ended,
    risks,
    met,
    referred,
    problems: [...found, ...tried.problems, ...tooMany(recreated)],
  };
}

/** A Job that has done its work, or has failed: each release has its own of a hook, and the one before goes with it. */
function hasEnded({ ref }: Target, seen: LiveObject): boolean {
  return ref.startsWith("Job.batch/") && isDone(jobShape.fromJson(seen, new Interner(1)));
}

interface Tried {
  readonly ref: string;
  readonly result: Outcome | Failure;
}

/** By what came of each. */
function sorted(
  results: readonly Tried[],
  { objects }: Pick<Intent, "objects">,
  rules: ReleaseRules,
): Omit<Shown, "pruned" | "ended" | "met" | "referred" | "risks"> & { readonly interruptions: readonly string[] } {
  const created: string[] = [];
  const adopted: Shown["adopted"][number][] = [];
  const changed: Shown["changed"][number][] = [];
  const recreated: Shown["recreated"][number][] = [];
  const overrides: Shown["overrides"][number][] = [];
  const problems: RuleProblem[] = [];
  const interruptions: string[] = [];
  let unchanged = 0;
  for (const { ref, result } of results) {
    if (isFailure(result)) {
      problems.push({ ref, message: result.message, ...(result.isAdoptable && { isAdoptable: true }) });
      continue;
    }
    const against = result.adopted === undefined ? [] : adoptedProblems(result.adopted, objects, rules);
    problems.push(...against);
    if (against.length > 0) continue;
    if (result.interruption !== undefined) interruptions.push(result.interruption(ref));
    overrides.push(...result.overrides.map((override) => ({ ...override, ref })));
    if (result.adopted !== undefined) adopted.push({ ref, fields: result.fields, manifest: result.adopted });
    else if (result.did === "created") created.push(ref);
    else if (result.did === "changed") changed.push({ ref, fields: result.fields });
    else if (result.did === "recreates") recreated.push({ ref, fields: result.fields });
    else unchanged += 1;
  }
  return { created, adopted, changed, recreated, unchanged, overrides, problems, interruptions };
}

function closedLines({ closed = [] }: Pick<Intent, "closed">): readonly string[] {
  const places = Map.groupBy(closed, (ref) => ref.split("/")[1] ?? "");
  return [...places].map(
    ([namespace, refs]) =>
      `leaves ${counted(refs.length, "object")} in ${namespace}, where the deployment is not accepted any more`,
  );
}

/** Kinds of new objects that a failed rollout would leave where they are: the customer's own role may lack the right. */
async function leftWhenTakenBack(
  api: ReleaseApi,
  { formerRef }: Intent,
  targets: readonly Target[],
  created: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (formerRef === undefined) return [];
  const fresh = targets.filter(({ ref }) => created.includes(ref));
  const lacking = await lackingNow(api.exchange, needsOf("takeBack", fresh), signal);
  return lacking.map(
    (need) =>
      `leaves new ${kindOf(need)} in ${need.namespace} when it is taken back: the role of releases lacks delete`,
  );
}

function kindOf({ resource }: Need): string {
  return `${resource.kind}${resource.group === "" ? "" : `.${resource.group}`}`;
}

function tooMany(recreated: Shown["recreated"]): readonly RuleProblem[] {
  if (recreated.length <= MAX_RECREATED) return [];
  return [{ ref: "", message: `${recreated.length} objects would be made anew, and at most ${MAX_RECREATED} may be` }];
}

function busy(message: string): ApiError {
  return new ApiError(message, { status: 409, reason: "Conflict" });
}

/** One problem for each kind and namespace. */
function lackingProblems(lacking: readonly Need[]): readonly RuleProblem[] {
  const verbs = new Map<string, Set<string>>();
  for (const need of lacking) {
    const ref = `${kindOf(need)}/${need.namespace}/`;
    verbs.set(ref, (verbs.get(ref) ?? new Set()).add(need.verb));
  }
  return [...verbs].map(([ref, lacked]) => ({
    ref,
    message: `the role of releases does not allow here: ${[...lacked].join(", ")}`,
  }));
}
