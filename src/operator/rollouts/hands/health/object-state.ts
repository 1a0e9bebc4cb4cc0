import { counted } from "../../../../base/counted.ts";
import { isRecord } from "../../../../base/is-record.ts";
import { cronJobShape, jobShape, persistentVolumeClaimShape } from "../../../../kube/projection/batch-shapes.ts";
import { Interner } from "../../../../kube/projection/interner.ts";
import {
  type Deployment,
  daemonSetShape,
  deploymentShape,
  type Pod,
  replicaSetShape,
  statefulSetShape,
} from "../../../../kube/projection/shapes.ts";
import { cronJobState } from "../../../../kube/workload-state/cron-job.ts";
import { daemonSetState } from "../../../../kube/workload-state/daemon-set.ts";
import { deploymentState } from "../../../../kube/workload-state/deployment.ts";
import { jobState } from "../../../../kube/workload-state/job.ts";
import { persistentVolumeClaimState } from "../../../../kube/workload-state/persistent-volume-claim.ts";
import { replicaSetState } from "../../../../kube/workload-state/replica-set.ts";
import { conditionOf, isTrue, msSince, type WorkloadState } from "../../../../kube/workload-state/state.ts";
import { statefulSetState } from "../../../../kube/workload-state/stateful-set.ts";
import type { LiveObject } from "../release-api.ts";
import { type Availability, availabilityOf } from "./availability.ts";

/** Kinds that run pods for a release, by kind and group. */
const WITH_PODS = ["Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch"];

export function runsPods(kind: string): boolean {
  return WITH_PODS.includes(kind);
}

export interface ObjectState extends WorkloadState {
  /** Nothing more is to come: it serves, or has done its work. */
  readonly isSettled: boolean;
  /** It will not come up by itself. `forMs`: since when, where it may still heal. */
  readonly failure?: { readonly text: string; readonly forMs?: number };
}

export interface Moment {
  readonly now: Date;
  readonly waveStartedAt: Date;
}

/**
 * What the gate sees of one object. Kinds without health of their own are well when they are there. As `kubectl rollout
 * status`, it waits until pods are available; unlike it, it does not wait for a Deployment that is paused.
 */
export function objectState(kind: string, live: LiveObject, pods: readonly Pod[], moment: Moment): ObjectState {
  const state = ownState(kind, live, pods, moment);
  if (isPaused(kind, live)) return { ...withoutFailure(state), isSettled: state.lifecycle !== "deleting" };
  const availability = availabilityOf(kind, live);
  if (!state.isSettled || availability === undefined) return state;
  const text = awaited(availability);
  if (text === undefined) return state;
  return { ...state, isSettled: false, message: state.message === undefined ? text : `${text}; ${state.message}` };
}

/** Undefined: nothing. */
function awaited({ minReadySeconds, available, desired, present }: Availability): string | undefined {
  if (desired === 0) return present > 0 ? `${counted(present, "pod")} still there` : undefined;
  if (available >= desired) return undefined;
  const after = minReadySeconds > 0 ? `, which takes ${minReadySeconds} s of being ready` : "";
  return `${available} of ${desired} available${after}`;
}

function withoutFailure({ failure: _, ...state }: ObjectState): ObjectState {
  return state;
}

/** By its author, or by a customer who holds an update back: nothing of it comes up until a person resumes it. */
function isPaused(kind: string, { spec }: LiveObject): boolean {
  return kind === "Deployment.apps" && isRecord(spec) && spec.paused === true;
}

function ownState(kind: string, live: LiveObject, pods: readonly Pod[], moment: Moment): ObjectState {
  const { now } = moment;
  const strings = new Interner(6);
  const view = { now, pods };
  switch (kind) {
    case "Deployment.apps":
      return deploymentGate(live, pods, moment);
    case "StatefulSet.apps":
      return serving(statefulSetState(statefulSetShape.fromJson(live, strings), view));
    case "DaemonSet.apps":
      return serving(daemonSetState(daemonSetShape.fromJson(live, strings), view));
    case "ReplicaSet.apps":
      return serving(replicaSetState(replicaSetShape.fromJson(live, strings), view));
    case "Job.batch":
      return jobGate(live, pods, now);
    case "CronJob.batch":
      return present(cronJobState(cronJobShape.fromJson(live, strings), view));
    case "PersistentVolumeClaim":
      return present(persistentVolumeClaimState(persistentVolumeClaimShape.fromJson(live, strings)));
    default:
      return {
        lifecycle: live.metadata.deletionTimestamp === undefined ? "running" : "deleting",
        health: "healthy",
        isSettled: true,
      };
  }
}

function serving(state: WorkloadState): ObjectState {
  const isSettled = (state.lifecycle === "running" || state.lifecycle === "stopped") && state.health === "healthy";
  return withFailure(state, isSettled);
}

/** Of a kind that need not serve: a claim waits for its first pod, a schedule for its time. */
function present(state: WorkloadState): ObjectState {
  return withFailure(state, state.lifecycle !== "failed" && state.lifecycle !== "deleting");
}

function withFailure(state: WorkloadState, isSettled: boolean): ObjectState {
  if (state.lifecycle !== "failed") return { ...state, isSettled };
  return { ...state, isSettled: false, failure: { text: state.message ?? "failed" } };
}

/**
 * A deadline that was over before the wave began is of the template before: when a former one returns, the controller
 * publishes that it has seen it, and takes the condition back at its next sync.
 */
function deploymentGate(live: LiveObject, pods: readonly Pod[], moment: Moment): ObjectState {
  const { metadata, spec, status } = deploymentShape.fromJson(live, new Interner(6));
  const conditions = status.conditions.filter((condition) => !isDeadlineOfBefore(condition, moment));
  const state = serving(
    deploymentState({ metadata, spec, status: { ...status, conditions } }, { now: moment.now, pods }),
  );
  if (state.failure === undefined) return state;
  const refused = conditionOf(conditions, "ReplicaFailure");
  const stopped = conditionOf(conditions, "Progressing");
  if (stopped?.status === "False") {
    // No ReplicaSet could be made: also right after the apply, and then it lasts.
    if (!isOfBefore(stopped, moment)) return state;
    return { ...state, failure: { ...state.failure, forMs: msSince(timeOf(stopped), moment.now) ?? 0 } };
  }
  // Pods that a quota refuses now may be let in when old ones are gone.
  if (refused?.status !== "True") return state;
  const text = [state.message, refused.message].filter((part) => part !== undefined).join(": ");
  return { ...state, failure: { text, forMs: msSince(refused.lastTransitionTime, moment.now) ?? 0 } };
}

type DeploymentCondition = Deployment["status"]["conditions"][number];

function isDeadlineOfBefore(condition: DeploymentCondition, moment: Moment): boolean {
  const { type, status, reason } = condition;
  const isOver = type === "Progressing" && status === "False" && reason === "ProgressDeadlineExceeded";
  return isOver && isOfBefore(condition, moment);
}

/** Times have whole seconds: the one in which the wave began counts as before it. */
function isOfBefore(condition: DeploymentCondition, { waveStartedAt }: Moment): boolean {
  return (msSince(timeOf(condition), waveStartedAt) ?? -1) >= 0;
}

function timeOf({ lastUpdateTime, lastTransitionTime }: DeploymentCondition): string | undefined {
  return lastUpdateTime ?? lastTransitionTime;
}

function jobGate(live: LiveObject, pods: readonly Pod[], now: Date): ObjectState {
  const job = jobShape.fromJson(live, new Interner(6));
  const state = jobState(job, { now, pods });
  return withFailure(state, isTrue(job.status.conditions, "Complete") || job.spec.suspend);
}
