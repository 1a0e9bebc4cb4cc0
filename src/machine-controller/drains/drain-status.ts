import type { MachineDrainConditionType, MachineDrainReason } from "../../crds/conditions.ts";
import { MACHINE_LABEL } from "../../crds/group.ts";
import type { DrainBlocker, MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { type Condition, timestamp, withCondition } from "../../kube/objects/conditions.ts";
import type { DrainDecision } from "./decide-drain.ts";
import type { BlockedPod } from "./decide-pods.ts";

type Blockers = NonNullable<MachineDrainStatus["blockers"]>;
type Conditions = NonNullable<MachineDrainStatus["conditions"]>;
type Said = {
  [T in MachineDrainConditionType]: readonly [
    type: T,
    status: Condition["status"],
    reason: MachineDrainReason<T>,
    message: string,
  ];
}[MachineDrainConditionType];

const MAX_BLOCKERS = 20;
const MAX_PODS = 3;
const MAX_NAME = 340;
const MAX_MESSAGE = 512;

/** Worst first: what a person must mend, then what a person must decide, then what time heals. */
const WORST: readonly DrainBlocker[] = [
  "misconfigured-budget",
  "eviction-error",
  "pod-disruption-budget",
  "local-storage",
  "unmanaged-pod",
  "terminating",
  "daemon",
];
/** In the column Blockers. */
const SHORT: Readonly<Record<DrainBlocker, string>> = {
  "misconfigured-budget": "budgets",
  "eviction-error": "error",
  "pod-disruption-budget": "pdb",
  "local-storage": "local",
  "unmanaged-pod": "unmanaged",
  terminating: "terminating",
  daemon: "daemon",
};

/** The status that tells of a decision. The same decision on the same status gives the same one again. */
export function statusOf(drain: MachineDrain, decision: DrainDecision, now: Date): MachineDrainStatus {
  const before = drain.status ?? {};
  const { state, end, startedAt, deadlineAt, cordonedByUs, left, blocked, skipped } = decision;
  const isEnded = end !== undefined;
  const counted = isEnded || left !== undefined ? progressOf(before, left ?? 0, blocked.length, skipped.length) : {};
  return {
    ...before,
    ...counted,
    state,
    ...(startedAt !== undefined && { startedAt: before.startedAt ?? startedAt }),
    ...(deadlineAt !== undefined && { deadlineAt }),
    ...(cordonedByUs !== undefined && { cordonedByUs: before.cordonedByUs ?? cordonedByUs }),
    ...(state === "Drained" && { drainedAt: before.drainedAt ?? timestamp(now) }),
    ...((isEnded || left !== undefined) && {
      blockers: groups([...blocked, ...skipped], before.blockers ?? [], now),
      summary: summaryOf(blocked),
    }),
    observedGeneration: drain.metadata.generation ?? 0,
    conditions: conditionsOf(drain, decision, now),
  };
}

/** Pods that came while the node was drained count as if they had been there from the start. */
function progressOf(
  { counts }: MachineDrainStatus,
  left: number,
  blocked: number,
  skipped: number,
): Pick<MachineDrainStatus, "counts" | "left"> {
  const total = Math.max(counts?.total ?? 0, left);
  return { counts: { total, gone: total - left, waiting: left - blocked, blocked, skipped }, left: `${left}/${total}` };
}

function groups(blocked: readonly BlockedPod[], before: Blockers, now: Date): Blockers {
  const found = new Map<string, BlockedPod[]>();
  for (const each of blocked) {
    const key = groupKey(each);
    const group = found.get(key);
    if (group === undefined) found.set(key, [each]);
    else group.push(each);
  }
  const since = new Map(before.map((group) => [groupKey(group), group.since]));
  return [...found]
    .map(([key, pods]) => blocker(pods, since.get(key) ?? timestamp(now)))
    .sort(
      (one, other) =>
        WORST.indexOf(one.reason) - WORST.indexOf(other.reason) ||
        one.since.localeCompare(other.since) ||
        other.count - one.count ||
        groupKey(one).localeCompare(groupKey(other)),
    )
    .slice(0, MAX_BLOCKERS);
}

function blocker(pods: readonly BlockedPod[], since: string): Blockers[number] {
  const sorted = [...pods].sort((one, other) => one.pod.localeCompare(other.pod));
  const [first] = sorted;
  if (first === undefined) throw new Error("a group has a pod");
  return {
    reason: first.reason,
    ...(first.workload !== undefined && { workload: first.workload.slice(0, MAX_NAME) }),
    ...(first.budget !== undefined && { budget: first.budget.slice(0, MAX_NAME) }),
    pods: sorted.slice(0, MAX_PODS).map(({ pod }) => pod.slice(0, MAX_NAME)),
    count: pods.length,
    message: lineWithoutCommands(first.message, MAX_MESSAGE),
    since,
  };
}

function groupKey({
  reason,
  workload,
  budget,
}: {
  reason: string;
  workload?: string | undefined;
  budget?: string;
}): string {
  return JSON.stringify([reason, workload?.slice(0, MAX_NAME) ?? "", budget?.slice(0, MAX_NAME) ?? ""]);
}

function summaryOf(blocked: readonly BlockedPod[]): string {
  const counts = WORST.map((reason) => ({ reason, count: blocked.filter((each) => each.reason === reason).length }));
  return counts.flatMap(({ reason, count }) => (count === 0 ? [] : [`${SHORT[reason]}:${count}`])).join(" ");
}

function conditionsOf(drain: MachineDrain, decision: DrainDecision, now: Date): Conditions {
  const said = [cordonedSaid(decision), drainedSaid(decision), progressingSaid(decision), deadlineSaid(decision)];
  return withConditions(
    drain,
    said.filter((each) => each !== undefined),
    now,
  );
}

/** The operator's word Approved passes through as it is. */
function withConditions(drain: MachineDrain, said: readonly Said[], now: Date): Conditions {
  const observedGeneration = drain.metadata.generation ?? 0;
  let conditions = (drain.status?.conditions ?? []) as readonly Condition[];
  for (const [type, status, reason, text] of said) {
    const message = lineWithoutCommands(text, 1_024);
    conditions = withCondition(conditions, { type, status, reason, message, observedGeneration }, now);
  }
  return conditions.map((each) => ({ ...each }));
}

function cordonedSaid({ cordonedByUs, startedAt }: DrainDecision): Said | undefined {
  if (cordonedByUs === true)
    return ["Cordoned", "True", "CordonedByDrain", "the node takes no pods until the drain is deleted"];
  if (cordonedByUs === false) {
    return [
      "Cordoned",
      "True",
      "CordonedBefore",
      "the node was cordoned before, and stays so when the drain is deleted",
    ];
  }
  return startedAt === undefined ? undefined : ["Cordoned", "False", "NotYet", ""];
}

function drainedSaid({ end, message }: DrainDecision): Said {
  if (end === undefined) return ["Drained", "False", "InProgress", ""];
  return ["Drained", end === "NodeNotFound" ? "False" : "True", end, message];
}

const PAUSED: readonly string[] = [
  "Stalled",
  "AwaitingApproval",
  "Superseded",
  "Queued",
  "PoolInvalid",
  "OtherMachine",
  "PolicyMissing",
  "Ended",
];

function progressingSaid({ progress, message }: DrainDecision): Said {
  const status = PAUSED.includes(progress) ? "False" : "True";
  const about = progress === "Blocked" ? "see status.blockers for what would help" : message;
  return ["Progressing", status, progress, about];
}

const DEADLINE_WORDS: Readonly<Record<MachineDrainReason<"DeadlineExceeded">, string>> = {
  InTime: "",
  GoesOn: "it goes on trying: without force no pod is deleted",
  ForceNotAllowed:
    "it goes on trying: force was asked for, and no MachinePool of this node allows it (spec.drain.allowForce)",
  Forced: "what is left is deleted, as force asks for and the MachinePool allows",
};

function deadlineSaid({ deadline }: DrainDecision): Said | undefined {
  if (deadline === undefined) return undefined;
  return ["DeadlineExceeded", deadline === "InTime" ? "False" : "True", deadline, DEADLINE_WORDS[deadline]];
}

const REMOVED_WORDS: Readonly<Record<MachineDrainReason<"Removed">, string>> = {
  InProgress: "the machine is refused; its node is deleted in some seconds",
  Uncordoned:
    "the node takes pods again, and stays: delete this drain, which ends the removal; to remove the machine drain it anew",
  NotLabelled: `the machine is refused, and its node stays: it lacks the label ${MACHINE_LABEL}=true, with which machines register; delete it, or label it`,
  NodeHeld:
    "the machine is refused, and its node is being deleted; finalizers hold it: its metadata.finalizers name who has to let it go",
  NodeDeleted: "the node is deleted, and its machine may not come back under its old certificate",
};

export function removedStatus(
  drain: MachineDrain,
  reason: MachineDrainReason<"Removed">,
  now: Date,
): MachineDrainStatus {
  const said: Said = ["Removed", reason === "NodeDeleted" ? "True" : "False", reason, REMOVED_WORDS[reason]];
  return { ...drain.status, conditions: withConditions(drain, [said], now) };
}

/**
 * Whether the news can wait for the next write: pods that leave one by one, and a budget that lets them, would else be a
 * write each. Not what people and other processes wait for: a claim, a cordon, an end, a deadline, a standstill.
 */
export function canWait(before: MachineDrainStatus | undefined, next: MachineDrainStatus): boolean {
  return before !== undefined && landmarks(before) === landmarks(next);
}

function landmarks({ state, startedAt, deadlineAt, cordonedByUs, conditions = [] }: MachineDrainStatus): string {
  const stage = state === "Blocked" ? "Draining" : state;
  const said = conditions.map(({ type, status, reason }) => [type, status, type === "DeadlineExceeded" ? reason : ""]);
  return JSON.stringify([stage, startedAt, deadlineAt, cordonedByUs, said]);
}
