import { isRecord } from "../../../../base/is-record.ts";
import { printable } from "../../../../crds/printable.ts";
import type { Pod } from "../../../../kube/projection/shapes.ts";
import { isReady } from "../../../../kube/workload-state/pod.ts";
import { STUCK_REASONS, type StuckReason, stuckOf } from "../../../../kube/workload-state/pods.ts";
import { conditionOf, msSince, seconds } from "../../../../kube/workload-state/state.ts";
import { REVISION_LABEL } from "../../../../kube/workload-state/update-stopped.ts";
import type { Awaited, WaveHealth } from "../hands.ts";
import type { LiveObject } from "../release-api.ts";
import { availabilityOf, slowestMs } from "./availability.ts";
import { nodeNeed } from "./node-need.ts";
import { type ObjectState, objectState } from "./object-state.ts";
import { MAX_MESSAGE, resourceRows } from "./resource-rows.ts";

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
  /** The rollout has not touched it: how it is does not hold its wave up. */
  readonly isLeftAlone?: boolean;
}

/** Pods have to be ready for so long. */
const MIN_READY_MS = 10_000;
/** A reason that may pass by itself fails the wave when it has lasted so long. */
const STUCK_MS = 120_000;
const DEFAULT_DEADLINE_MS = 600_000;
const MAX_DEADLINE_MS = 3_600_000;
/** After the deadline of a Deployment or a Job, so that its own words are there. */
const SLACK_MS = 60_000;
const MIN_AGAIN_MS = 250;
const MAX_AGAIN_MS = 5_000;

/** Why a container does not start. Want of room on the nodes and evictions are none: machines and others heal them. */
const STUCK: ReadonlySet<StuckReason> = new Set(STUCK_REASONS.slice(0, STUCK_REASONS.indexOf("Unschedulable")));

/** On pods of Deployments, and of StatefulSets and DaemonSets: the template that they were made from. */
const TEMPLATE_LABELS = ["pod-template-hash", REVISION_LABEL];

/** Whether a wave has come up, cannot come up, or is to be looked at again. */
export function waveHealth(watched: readonly Watched[], waveStartedAt: Date, until: Date, now: Date): WaveHealth {
  const elapsedMs = Math.max(0, now.getTime() - waveStartedAt.getTime());
  const seen = watched.map((each) => ({ ...each, state: stateOf(each, waveStartedAt, now) }));
  const touched = seen.filter(({ isLeftAlone = false }) => !isLeftAlone);
  const failing = touched.flatMap((each) => {
    const text = failureOf(each, elapsedMs, now);
    return text === undefined ? [] : [{ each, text }];
  });
  if (failing.length > 0) return failed(seen, failing);
  const steadyInMs = Math.max(...touched.map((each) => untilSteadyMs(each, elapsedMs, now)), 0);
  if (steadyInMs === 0) return { verdict: "healthy", resources: resourceRows(seen), againMs: 0 };
  const leftMs = Math.min(deadlineLeftMs(touched, waveStartedAt, now), until.getTime() - now.getTime());
  if (leftMs <= 0) {
    const late = touched.filter((each) => untilSteadyMs(each, elapsedMs, now) > 0);
    const text = (each: Seen): string => `not healthy after ${seconds(elapsedMs)}: ${whyNot(each)}`;
    return failed(
      seen,
      late.map((each) => ({ each, text: text(each) })),
    );
  }
  const pauseMs = Number.isFinite(steadyInMs) ? steadyInMs : elapsedMs / 10;
  const againMs = Math.max(MIN_AGAIN_MS, Math.min(pauseMs, MAX_AGAIN_MS, leftMs));
  const needsNodes = firstNodeNeed(touched, now);
  const waitsFor = firstAwaited(touched, elapsedMs, now);
  const waiting = {
    verdict: "waiting",
    resources: resourceRows(seen),
    againMs,
    ...(waitsFor && { waitsFor }),
  } as const;
  return needsNodes === undefined ? waiting : { ...waiting, needsNodes };
}

function whyNot({ state, live }: Seen): string {
  return state?.message ?? (live === undefined ? "it is not there" : "it has not come up");
}

function firstAwaited(touched: readonly Seen[], elapsedMs: number, now: Date): Awaited | undefined {
  const first = touched.find((each) => untilSteadyMs(each, elapsedMs, now) === Number.POSITIVE_INFINITY);
  return first && { ref: first.ref, message: printable(whyNot(first), MAX_MESSAGE) };
}

function firstNodeNeed(touched: readonly Seen[], now: Date): string | undefined {
  for (const { ref, kind, pods, state } of touched) {
    // Pods of the object that end leave their room to the others.
    const isEnding = pods.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
    if (isEnding || state?.isSettled === true) continue;
    const need = nodeNeed(kind, ofNewestTemplate(pods), now);
    if (need !== undefined) return printable(`${ref}: ${need}`, MAX_MESSAGE);
  }
  return undefined;
}

interface Seen extends Watched {
  readonly state: ObjectState | undefined;
}

/** The wave tells of the first, and each resource of its own. */
function failed(seen: readonly Seen[], failing: readonly { readonly each: Seen; readonly text: string }[]): WaveHealth {
  const [first] = failing;
  const texts = new Map(failing.map(({ each, text }) => [each, text]));
  const rows = resourceRows(seen.map((each) => ({ ...each, failure: texts.get(each) })));
  const message = printable(`${first?.each.ref}: ${first?.text}`, MAX_MESSAGE);
  return { verdict: "failed", message, resources: rows, againMs: 0 };
}

/** What is left alone and is gone had done its work. */
const DONE: ObjectState = { lifecycle: "stopped", health: "healthy", isSettled: true };

function stateOf(
  { kind, live, pods, isLeftAlone = false }: Watched,
  waveStartedAt: Date,
  now: Date,
): ObjectState | undefined {
  if (live === undefined) return isLeftAlone ? DONE : undefined;
  return objectState(kind, live, pods, { now, waveStartedAt });
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

/** Of the slowest object; the whole wave has an hour. */
function deadlineLeftMs(watched: readonly Watched[], waveStartedAt: Date, now: Date): number {
  const elapsedMs = Math.max(0, now.getTime() - waveStartedAt.getTime());
  const left = watched.map(({ kind, live }) => {
    if (live === undefined) return DEFAULT_DEADLINE_MS - elapsedMs;
    const progressedMs = Math.min(msSince(progressOf(live), now) ?? elapsedMs, elapsedMs);
    return deadlineMs(kind, live) - Math.max(0, progressedMs);
  });
  return Math.min(Math.max(...left), MAX_DEADLINE_MS - elapsedMs);
}

/** A Deployment's deadline begins again with each pod that comes up. */
function progressOf({ status }: LiveObject): string | undefined {
  const conditions = isRecord(status) && Array.isArray(status.conditions) ? status.conditions.filter(isRecord) : [];
  const progressing = conditions.find(({ type }) => type === "Progressing");
  return typeof progressing?.lastUpdateTime === "string" ? progressing.lastUpdateTime : undefined;
}

/** Its own, where its kind has one. */
function deadlineMs(kind: string, live: LiveObject): number {
  const spec = isRecord(live.spec) ? live.spec : {};
  const own = kind === "Job.batch" ? spec.activeDeadlineSeconds : spec.progressDeadlineSeconds;
  if (typeof own === "number") return own * 1_000 + SLACK_MS;
  const availability = availabilityOf(kind, live);
  return DEFAULT_DEADLINE_MS + (availability === undefined ? 0 : slowestMs(kind, availability));
}
