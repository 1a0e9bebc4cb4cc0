import { type AccessGrant, FINAL_GRANT_STATES } from "../../crds/kinds/access-grant.ts";
import { planHash } from "../../crds/plan.ts";
import { textOf } from "../kernel/output.ts";
import { type Current, sentenceOf } from "./plan-sentences.ts";
import type { Found, Target } from "./plan-targets.ts";

/** A request as an approver reads it. */
export interface ShownPlan {
  readonly name: string;
  readonly title: string;
  readonly deploymentId: string;
  readonly risk: string;
  readonly requestedBy: string | null;
  readonly reason: string | null;
  readonly decideBefore: string;
  readonly state: string | null;
  readonly decidedBy: string | null;
  readonly approvedUntil: string | null;
  readonly commands: readonly ShownLine[];
  readonly planHash: string;
  /** What speaks against an approval, or keeps it from running. */
  readonly warnings: readonly string[];
}

interface ShownLine {
  readonly sentence: string;
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The parameters that it would change, as they are now. */
  readonly now: Current;
  /** The object that it works on. Null: it names none, or one of a kind that this program does not look up. */
  readonly target: Target | null;
  /** The vendor's own words. */
  readonly summary: string;
}

/** @param found what each line finds in the cluster now */
export function shownPlan(grant: AccessGrant, found: readonly Found[]): ShownPlan {
  const { metadata, spec, status } = grant;
  return {
    name: metadata.name,
    title: spec.title,
    deploymentId: spec.deploymentId,
    risk: spec.risk,
    requestedBy: spec.requestedBy ?? null,
    reason: spec.reason ?? null,
    decideBefore: spec.decideBefore,
    state: status?.state ?? null,
    decidedBy: spec.decidedBy ?? null,
    approvedUntil: status?.approvedUntil ?? null,
    commands: spec.commands.map(({ command, params = {}, summary }, index) => {
      const { current: now = {}, target = null } = found[index] ?? {};
      return { sentence: sentenceOf({ command, params }, now), command, params, now, target, summary };
    }),
    planHash: spec.planHash,
    warnings: [...warningsOf(grant), ...targetWarnings(grant, found)],
  };
}

function* warningsOf(grant: AccessGrant): Generator<string> {
  if (planHash(grant.spec) !== grant.spec.planHash) yield "The hash is not that of this plan: do not approve it.";
  if (!isAccepted(grant)) {
    yield "Its deployment is not accepted where the plan acts: nothing runs until then.";
  }
  const permitted = grant.status?.conditions?.find(({ type }) => type === "Permitted");
  if (permitted?.status === "False") yield `It cannot run as it is: ${permitted.message}`;
}

/** What a request that is over works on may be gone because of it. */
function targetWarnings({ status }: AccessGrant, found: readonly Found[]): readonly string[] {
  if (FINAL_GRANT_STATES.some((state) => state === status?.state)) return [];
  return found.flatMap(({ target }, index) => {
    const words = target === undefined ? "" : TARGET_WORDS[target.state](target.object);
    return words === "" ? [] : [`Line ${index + 1}: ${words}`];
  });
}

const TARGET_WORDS: Readonly<Record<Target["state"], (object: string) => string>> = {
  there: () => "",
  absent: (object) => `there is no ${object}.`,
  forbidden: (object) => `you may not look at ${object}, so whether it is there is not known here.`,
  unread: (object) => `${object} could not be read, so whether it is there is not known here.`,
};

/** As the operator last reported. An approval waits for acceptance, and lapses at the time by which to decide. */
export function isAccepted({ status }: AccessGrant): boolean {
  return status?.conditions?.find(({ type }) => type === "Accepted")?.status !== "False";
}

/** A sentence of ours for each line of the plan, its exact parameters, and the vendor's own words. */
export function planText(plan: ShownPlan): string {
  const lines = [
    `${plan.name}: ${plan.title}`,
    `  deployment ${plan.deploymentId}, ${plan.risk}, asked by ${plan.requestedBy ?? "an unknown person"}`,
    `  ${stateOf(plan)}`,
    ...(plan.reason ? `  the vendor's reason: ${plan.reason.replaceAll("\n", "\n    ")}`.split("\n") : []),
    "The plan; each line runs once, with exactly these parameters:",
    ...plan.commands.flatMap(({ sentence, command, params, summary }, index) => [
      `  ${index + 1}. ${sentence}`,
      `     ${command} ${JSON.stringify(params)}`,
      `     the vendor says: ${summary}`,
    ]),
    `  hash ${plan.planHash}`,
    ...plan.warnings,
  ];
  return textOf(lines);
}

function stateOf({ state, decidedBy, approvedUntil, decideBefore }: ShownPlan): string {
  const by = decidedBy === null ? "" : `, decided by ${decidedBy}`;
  if (state === "Approved") return `Approved until ${approvedUntil}${by}`;
  if (state === "Pending" || state === null) {
    return `${state ?? "not looked at by the operator yet"}, to be decided by ${decideBefore}${by}`;
  }
  return `${state}${by}`;
}
