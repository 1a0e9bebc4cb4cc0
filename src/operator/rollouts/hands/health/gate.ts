import { isRecord } from "../../../../base/is-record.ts";
import { printable } from "../../../../crds/printable.ts";
import type { Pod } from "../../../../kube/projection/shapes.ts";
import { isReady } from "../../../../kube/workload-state/pod.ts";
import { STUCK_REASONS, type StuckReason, stuckOf } from "../../../../kube/workload-state/pods.ts";
import { conditionOf, msSince, seconds } from "../../../../kube/workload-state/state.ts";
import { REVISION_LABEL } from "../../../../kube/workload-state/update-stopped.ts";
import { HEALTHS } from "../../../../kube/workload-state/words.ts";
import type { ResourceState, WaveHealth } from "../hands.ts";
import type { LiveObject } from "../release-api.ts";
import { type ObjectState, objectState } from "./object-state.ts";

/** One object of the wave, as it was read. */
export interface Watched {
  readonly ref: string;
  readonly resourceId: string;
  /** Kind and group: `Deployment.apps`. */
  readonly kind: string;
  /** Undefined: it is not there. */
  readonly live: LiveObject | undefined;
  /** Those that it owns. */
  readonly pods: readonly Pod[];
}

/** Pods have to be ready for so long. */
const MIN_READY_MS = 10_000;
/** A reason that may pass by itself fails the wave when it has lasted so long. */
const STUCK_MS = 120_000;
const DEFAULT_DEADLINE_MS = 600_000;
const MAX_DEADLINE_MS = 3_600_000;
/** After a Deployment's own deadline, so that its own words are there. */
const SLACK_MS = 60_000;
const MIN_AGAIN_MS = 250;
const MAX_AGAIN_MS = 5_000;
const MAX_MESSAGE = 512;

/** Why a container does not start. Want of room on the nodes and evictions are none: machines and others heal them. */
const STUCK: ReadonlySet<StuckReason> = new Set(STUCK_REASONS.slice(0, STUCK_REASONS.indexOf("Unschedulable")));

/** On pods of Deployments, and of StatefulSets and DaemonSets: the template that they were made from. */
const TEMPLATE_LABELS = ["pod-template-hash", REVISION_LABEL];

/** Whether a wave has come up, cannot come up, or is to be looked at again. */
export function waveHealth(watched: readonly Watched[], waveStartedAt: Date, until: Date, now: Date): WaveHealth {
  const elapsedMs = Math.max(0, now.getTime() - waveStartedAt.getTime());
  const seen = watched.map((each) => ({ ...each, state: stateOf(each, now) }));
  const resources = resourceStates(seen);
  for (const each of seen) {
    const failure = failureOf(each, elapsedMs, now);
    if (failure !== undefined) return failed(`${each.ref}: ${failure}`, resources);
  }
  const steadyInMs = Math.max(...seen.map((each) => untilSteadyMs(each, elapsedMs, now)), 0);
  if (steadyInMs === 0) return { verdict: "healthy", resources, againMs: 0 };
  const leftMs = Math.min(deadlineMs(watched) - elapsedMs, until.getTime() - now.getTime());
  if (leftMs <= 0) {
    const [slowest] = seen.filter((each) => untilSteadyMs(each, elapsedMs, now) > 0);
    const why = slowest?.state?.message ?? (slowest?.live === undefined ? "it is not there" : "it has not come up");
    return failed(`${slowest?.ref}: not healthy after ${seconds(elapsedMs)}: ${why}`, resources);
  }
  const pauseMs = Number.isFinite(steadyInMs) ? steadyInMs : elapsedMs / 10;
  return { verdict: "waiting", resources, againMs: Math.max(MIN_AGAIN_MS, Math.min(pauseMs, MAX_AGAIN_MS, leftMs)) };
}

interface Seen extends Watched {
  readonly state: ObjectState | undefined;
}

function failed(message: string, resources: readonly ResourceState[]): WaveHealth {
  return { verdict: "failed", message: printable(message, MAX_MESSAGE), resources, againMs: 0 };
}

function stateOf({ kind, live, pods }: Watched, now: Date): ObjectState | undefined {
  return live === undefined ? undefined : objectState(kind, live, pods, now);
}

/** What of the time before this wave began is not held against it: pods of the release before may still be there. */
function failureOf({ state, pods }: Seen, elapsedMs: number, now: Date): string | undefined {
  if (state === undefined || state.isSettled) return undefined;
  if (state.failure !== undefined) {
    const { text, forMs } = state.failure;
    if (forMs === undefined || Math.min(forMs, elapsedMs) >= STUCK_MS) return text;
  }
  if (elapsedMs < STUCK_MS) return undefined;
  for (const pod of ofNewestTemplate(pods)) {
    const stuck = stuckOf(pod, now);
    if (stuck === undefined || !STUCK.has(stuck.reason) || (stuck.forMs ?? 0) < STUCK_MS) continue;
    const why = waitingMessage(pod, stuck.reason);
    return `${state.message ?? stuck.reason}${why === undefined ? "" : `: ${why}`}`;
  }
  return undefined;
}

/**
 * Without those of the template before: pods of a release that crashed go one by one, as the new ones come up. The
 * youngest pod is of the new template.
 */
function ofNewestTemplate(pods: readonly Pod[]): readonly Pod[] {
  const [youngest] = pods.toSorted((a, b) => (a.metadata.creationTimestamp > b.metadata.creationTimestamp ? -1 : 1));
  const of = ({ metadata }: Pod): string | undefined =>
    TEMPLATE_LABELS.map((label) => metadata.labels[label]).find((each) => each !== undefined);
  return youngest === undefined ? [] : pods.filter((pod) => of(pod) === of(youngest));
}

function waitingMessage({ status }: Pod, reason: StuckReason): string | undefined {
  const containers = [...status.initContainerStatuses, ...status.containerStatuses];
  return containers.find(({ state }) => state.waiting?.reason === reason)?.state.waiting?.message;
}

/** 0: it has come up for good. Infinity: it has not come up. */
function untilSteadyMs({ kind, state, pods, live }: Seen, elapsedMs: number, now: Date): number {
  if (state === undefined || !state.isSettled) return Number.POSITIVE_INFINITY;
  // A Job has no pod that has to stay; other kinds have none at all.
  if (kind === "Job.batch" || !mayRun(kind, live, state)) return 0;
  const ready = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && isReady(pod));
  const ages = ready.map(({ status }) => msSince(conditionOf(status.conditions, "Ready")?.lastTransitionTime, now));
  const youngest = ages.length === 0 ? elapsedMs : Math.min(...ages.map((age) => age ?? 0));
  return Math.max(0, MIN_READY_MS - youngest);
}

function mayRun(kind: string, live: LiveObject | undefined, { lifecycle }: ObjectState): boolean {
  return kind.endsWith(".apps") && live !== undefined && lifecycle !== "stopped";
}

/** That of the slowest Deployment. */
function deadlineMs(watched: readonly Watched[]): number {
  const deadlines = watched.map(({ live }) => {
    const own = isRecord(live?.spec) ? live.spec.progressDeadlineSeconds : undefined;
    return typeof own === "number" ? own * 1_000 + SLACK_MS : DEFAULT_DEADLINE_MS;
  });
  return Math.min(Math.max(...deadlines), MAX_DEADLINE_MS);
}

const WORST_FIRST = ["failed", "pending", "deleting", "provisioning", "updating", "running", "deleted"] as const;

/** One line a resource of the stack: the worst of its objects. */
function resourceStates(seen: readonly Seen[]): readonly ResourceState[] {
  const worst = new Map<string, ResourceState>();
  for (const { resourceId, state } of seen) {
    const next = resourceState(resourceId, state);
    const known = worst.get(resourceId);
    if (known === undefined || rank(next) < rank(known)) worst.set(resourceId, next);
  }
  return [...worst.values()];
}

function rank({ state, health }: ResourceState): number {
  return WORST_FIRST.indexOf(state as (typeof WORST_FIRST)[number]) * HEALTHS.length + HEALTHS.indexOf(health);
}

function resourceState(resourceId: string, state: ObjectState | undefined): ResourceState {
  if (state === undefined) return { resourceId, state: "pending", health: "unknown", message: "" };
  const { health, message = "" } = state;
  return { resourceId, state: wordOf(state), health, message: printable(message, MAX_MESSAGE) };
}

function wordOf({ lifecycle }: ObjectState): ResourceState["state"] {
  switch (lifecycle) {
    case "deleting":
    case "failed":
      return lifecycle;
    case "creating":
      return "provisioning";
    case "updating":
    case "scaling":
      return "updating";
    default:
      return "running";
  }
}
