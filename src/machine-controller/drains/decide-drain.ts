import type { MachineDrainReason } from "../../crds/conditions.ts";
import type { MachineDrain, MachineDrainState } from "../../crds/kinds/machine-drain.ts";
import { isBornAfter } from "../../crds/retention.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import { cordonOf } from "./cordon.ts";
import { type BlockedPod, decidePods, type PodAct, type PodFacts } from "./decide-pods.ts";
import type { DrainRules } from "./rules.ts";
import type { DrainNode } from "./shapes.ts";
import { isOver, type Turn } from "./turn.ts";

export interface DrainFacts extends Omit<PodFacts, "wantsForce" | "isForced" | "isNodeDead" | "startedAt"> {
  readonly drain: MachineDrain;
  /** Undefined: there is none of that name. */
  readonly node: DrainNode | undefined;
  readonly turn: Turn;
  /** Monotonic: when a pod last left the node. */
  readonly movedMs: number;
}

export type DrainAct = { readonly do: "cordon" } | PodAct;

/** Why a drain is over. */
export type DrainEnd = Exclude<MachineDrainReason<"Drained">, "InProgress">;

/** What is to be done, in this order: the acts, then the status that tells of them. */
export interface DrainDecision {
  readonly state: MachineDrainState;
  readonly acts: readonly DrainAct[];
  readonly progress: MachineDrainReason<"Progressing">;
  /** For a person. */
  readonly message: string;
  readonly end?: DrainEnd;
  /** When it began: now, where it has not begun before. */
  readonly startedAt?: string;
  readonly deadlineAt?: string;
  readonly deadline?: MachineDrainReason<"DeadlineExceeded">;
  /** Who cordoned the node; undefined while it is not known. */
  readonly cordonedByUs?: boolean;
  /** Pods that must leave; undefined before they were looked at. */
  readonly left?: number;
  readonly blocked: readonly BlockedPod[];
  readonly skipped: readonly BlockedPod[];
  /** Look again after so long, though nothing changes. */
  readonly againMs: number;
}

const NEVER = Number.POSITIVE_INFINITY;
/** A node whose kubelet is silent for longer is not waited for. */
const DEAD_MS = 300_000;
const STALLED_MS = 600_000;

/**
 * The next step of a drain. Pure: what was asked before, and when, is in the facts. A process that dies between two steps
 * loses nothing that they need: the status says that the drain began, the node's annotation whose cordon it is, and the
 * API server which pods are left.
 */
export function decideDrain(facts: DrainFacts): DrainDecision {
  const { drain, node, turn, rules, now } = facts;
  const nothing = { acts: [], blocked: [], skipped: [], againMs: NEVER };
  if (isOver(drain)) {
    return { ...nothing, state: drain.status?.state ?? "Drained", progress: "Ended", message: "" };
  }
  const startedAt = drain.status?.startedAt;
  if (turn.is !== "go") return { ...nothing, state: "Waiting", progress: turn.is, message: turn.message };
  // One of the same name that came since is another node: nobody asked for its pods.
  if (node === undefined || (startedAt !== undefined && isBornAfter(startedAt, node.metadata.creationTimestamp))) {
    // A machine whose node is gone already is removed as well: it could come back with the certificate that it has.
    const isMissed = startedAt === undefined && drain.spec.requested?.remove !== true;
    const end = isMissed ? "NodeNotFound" : "NodeGone";
    const message = `there is no node ${drain.spec.nodeName}${node === undefined ? "" : " any more: another one has its name"}`;
    return { ...nothing, state: end === "NodeGone" ? "Drained" : "Failed", progress: "Ended", message, end };
  }
  const began = startedAt ?? timestamp(now);
  const deadlineAt = deadlineOf(drain, rules, began);
  const started = { ...nothing, startedAt: began, deadlineAt };
  const cordoning = { ...started, state: "Cordoning", progress: "Cordoning", message: "" } as const;
  // The claim stands before anything is done under it.
  if (startedAt === undefined) return cordoning;
  const cordonedByUs = drain.status?.cordonedByUs ?? cordonOf(node)?.isOurs === true;
  if (!node.spec.unschedulable) return { ...cordoning, acts: [{ do: "cordon" }] };
  return { ...started, cordonedByUs, ...draining(facts, node, began, deadlineAt) };
}

/** The earliest of what was ever said: a deadline only comes nearer. */
function deadlineOf({ spec, status }: MachineDrain, rules: DrainRules, startedAt: string): string {
  const asked =
    spec.deadlineAt === undefined ? Date.parse(startedAt) + rules.defaultDeadlineMs : Date.parse(spec.deadlineAt);
  const before = status?.deadlineAt === undefined ? NEVER : Date.parse(status.deadlineAt);
  return timestamp(new Date(Math.min(asked, before)));
}

function draining(
  facts: DrainFacts,
  node: DrainNode,
  startedAt: string,
  deadlineAt: string,
): Omit<DrainDecision, "startedAt" | "deadlineAt" | "cordonedByUs"> {
  const { drain, rules, now, nowMs, movedMs } = facts;
  const wantsForce = drain.spec.force === true;
  const isOverdue = Date.parse(deadlineAt) <= now.getTime();
  const isForced = isOverdue && wantsForce && rules.allowForce;
  const pods = decidePods({ ...facts, startedAt, wantsForce, isForced, isNodeDead: isDead(node, now) });
  const { left, blocked, waiting, skipped, acts } = pods;
  if (left === 0) {
    const end = pods.unconfirmed > 0 ? "NodeUnreachable" : "Empty";
    const message =
      end === "Empty"
        ? "no pod is left that a drain evicts"
        : "the node is unreachable: the pods that it may still run are not waited for";
    return { state: "Drained", progress: "Ended", message, end, acts: [], left, blocked: [], skipped, againMs: NEVER };
  }
  const deadline = !isOverdue ? "InTime" : isForced ? "Forced" : wantsForce ? "ForceNotAllowed" : "GoesOn";
  const stallsMs = movedMs + STALLED_MS - nowMs;
  const isBlocked = !isForced && (isOverdue || (blocked.length > 0 && blocked.length + waiting === left));
  const untilDeadlineMs = isOverdue ? NEVER : Date.parse(deadlineAt) - now.getTime();
  return {
    state: isBlocked ? "Blocked" : "Draining",
    progress: stallsMs <= 0 ? "Stalled" : isBlocked ? "Blocked" : pods.isAsking ? "Evicting" : "WaitingForPods",
    message: stallsMs <= 0 ? "no pod has left the node for 10 minutes" : "",
    acts,
    left,
    blocked,
    skipped,
    deadline,
    againMs: Math.min(pods.againMs, untilDeadlineMs, stallsMs > 0 ? stallsMs : NEVER),
  };
}

function isDead({ status }: DrainNode, now: Date): boolean {
  const ready = status.conditions.find(({ type }) => type === "Ready");
  if (ready?.status !== "Unknown" || ready.lastTransitionTime === undefined) return false;
  return now.getTime() - Date.parse(ready.lastTransitionTime) > DEAD_MS;
}
