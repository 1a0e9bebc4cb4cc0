import { counted } from "../../base/counted.ts";
import type { Pod } from "../projection/shapes.ts";
import { type Finding, plainName } from "./message.ts";
import { type PodObservation, restartsSince } from "./restarts.ts";
import { conditionOf, known, msSince, seconds, type View } from "./state.ts";

/** Why a Pod does not come further by itself. Worst first. */
export const STUCK_REASONS = [
  "CrashLoopBackOff",
  "ImagePullBackOff",
  "ErrImagePull",
  "InvalidImageName",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "Unschedulable",
  "OOMKilled",
  "Evicted",
  "Terminating",
] as const;
export type StuckReason = (typeof STUCK_REASONS)[number];

const WAITING_REASONS = STUCK_REASONS.slice(0, 7);
/** Reasons for which a container ended that are told; any other is only its exit code. */
const ENDED_REASONS = [
  "OOMKilled",
  "Error",
  "Completed",
  "StartError",
  "ContainerCannotRun",
  "ContainerStatusUnknown",
  "DeadlineExceeded",
] as const;

/** How long an end by lack of memory or an eviction is told after it happened. */
const RECENT_MS = 600_000;
/** After the time that a deletion gave the containers. */
const DELETION_SLACK_MS = 60_000;
/** Pods named in a message; of the others it has the number. */
const MAX_NAMED = 3;

export interface Stuck {
  readonly reason: StuckReason;
  /** Closed words and counts, or empty. */
  readonly detail: string;
  /** How long, as far as its conditions tell. */
  readonly forMs: number | undefined;
}

/** Pods as far as they are known, for the kinds that have some. */
export interface PodsView extends View {
  /** Those that the object owns. Left out: not known, and counts alone decide. */
  readonly pods?: readonly Pod[];
  /** What was seen of a Pod before, by its uid: at most ten minutes ago is best. Without it no restart rate is known. */
  readonly before?: (uid: string) => PodObservation | undefined;
  /** When the object was seen to be scaled up from nothing. Left out: not seen. */
  readonly scaledUpAt?: Date | undefined;
}

type ContainerStatus = Pod["status"]["containerStatuses"][number];

const containersOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...status.initContainerStatuses,
  ...status.containerStatuses,
];

/** Undefined: it runs, comes further by itself, or has done its work. */
export function stuckOf(pod: Pod, now: Date): Stuck | undefined {
  const { metadata, status } = pod;
  if (metadata.deletionTimestamp !== undefined) return lateDeletion(metadata.deletionTimestamp, now);
  if (status.phase === "Succeeded") return undefined;
  if (status.phase === "Failed") return status.reason === "Evicted" ? eviction(pod, now) : undefined;
  const scheduled = conditionOf(status.conditions, "PodScheduled");
  if (scheduled?.status === "False" && scheduled.reason === "Unschedulable") {
    return { reason: "Unschedulable", detail: "", forMs: msSince(scheduled.lastTransitionTime, now) };
  }
  const containers = containersOf(pod);
  const waiting = worstWaiting(containers);
  if (waiting !== undefined) {
    return { reason: waiting.reason, detail: detailOf(waiting.container), forMs: notReadyFor(pod, now) };
  }
  for (const container of containers) {
    const ended = [container.state.terminated, container.lastState.terminated].find(
      (end) => end?.reason === "OOMKilled" && isRecent(end.finishedAt, now),
    );
    if (ended !== undefined) {
      return { reason: "OOMKilled", detail: detailOf(container, true), forMs: msSince(ended.finishedAt, now) };
    }
  }
  return undefined;
}

/** `deletionTimestamp` is the end of the period that the deletion gave, not its beginning. */
function lateDeletion(deadline: string, now: Date): Stuck | undefined {
  const late = msSince(deadline, now);
  if (late === undefined || late <= DELETION_SLACK_MS) return undefined;
  return { reason: "Terminating", detail: `${seconds(late)} late`, forMs: late };
}

/** An evicted Pod stays for weeks after its controller has replaced it, and would have its workload be sick as long. */
function eviction(pod: Pod, now: Date): Stuck | undefined {
  const { conditions } = pod.status;
  const at = conditionOf(conditions, "DisruptionTarget") ?? conditionOf(conditions, "Ready");
  const forMs = msSince(at?.lastTransitionTime, now);
  return forMs !== undefined && forMs > RECENT_MS ? undefined : { reason: "Evicted", detail: "", forMs };
}

function worstWaiting(
  containers: readonly ContainerStatus[],
): { readonly reason: StuckReason; readonly container: ContainerStatus } | undefined {
  for (const reason of WAITING_REASONS) {
    const container = containers.find(({ state }) => state.waiting?.reason === reason);
    if (container !== undefined) return { reason, container };
  }
  return undefined;
}

function detailOf({ state, lastState, restartCount }: ContainerStatus, isReasonSaid = false): string {
  const ended = state.terminated ?? lastState.terminated;
  const words: string[] = [];
  const reason = known(ENDED_REASONS, ended?.reason);
  if (reason !== undefined && !isReasonSaid) words.push(reason);
  if (ended !== undefined) words.push(`exit ${ended.exitCode}`);
  if (restartCount > 0) words.push(counted(restartCount, "restart"));
  return words.join(", ");
}

function isRecent(time: string | undefined, now: Date): boolean {
  const ms = msSince(time, now);
  return ms !== undefined && ms <= RECENT_MS;
}

function notReadyFor({ metadata, status }: Pod, now: Date): number | undefined {
  const ready = conditionOf(status.conditions, "Ready");
  return msSince(ready?.status === "False" ? ready.lastTransitionTime : metadata.creationTimestamp, now);
}

/**
 * What is wrong with the Pods: the worst by name, of the rest the number.
 *
 * @param whyUnschedulable in closed words and plain names, where more is known than the scheduler's refusal.
 */
export function podFindings(
  { pods = [], before, now }: PodsView,
  whyUnschedulable?: (pod: Pod) => string | undefined,
): readonly Finding[] {
  const stuck = pods
    .flatMap((pod) => {
      const found = stuckOf(pod, now);
      if (found === undefined) return [];
      const why = found.reason === "Unschedulable" ? whyUnschedulable?.(pod) : undefined;
      return [{ name: pod.metadata.name, ...found, detail: why ?? found.detail }];
    })
    .toSorted((a, b) => rank(a.reason) - rank(b.reason) || compare(a.name, b.name));
  const restarting = pods
    .flatMap((pod) => {
      const earlier = before?.(pod.metadata.uid);
      const found = earlier === undefined ? undefined : restartsSince(earlier, pod, now);
      return found === undefined ? [] : [{ name: pod.metadata.name, ...found }];
    })
    .toSorted((a, b) => b.restarts - a.restarts || compare(a.name, b.name));
  return [
    ...limited(stuck.map(({ name, reason, detail }) => `${plainName(name)}: ${reason}${detail && ` (${detail})`}`)),
    ...limited(
      restarting.map(
        ({ name, restarts, ms }) =>
          `${plainName(name)}: ${counted(restarts, "restart")} in ${seconds(Math.max(ms, 1_000))}`,
      ),
    ),
  ];
}

function limited(texts: readonly string[]): readonly Finding[] {
  const named = texts.slice(0, MAX_NAMED).map((text) => ({ health: "degraded" as const, text }));
  const rest = texts.length - named.length;
  return rest === 0 ? named : [...named, { health: "degraded", text: `and ${counted(rest, "more Pod")}` }];
}

const rank = (reason: StuckReason): number => STUCK_REASONS.indexOf(reason);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
