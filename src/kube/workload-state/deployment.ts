import { REVISION_ANNOTATION } from "../projection/common-shapes.ts";
import type { Deployment, Pod, ReplicaSet } from "../projection/shapes.ts";
import type { Finding } from "./message.ts";
import { type PodsView, podFindings } from "./pods.ts";
import { isStarting, readinessFindings } from "./replicas.ts";
import { conditionOf, isTrue, isYoung, known, msSince, seconds, stateOf, type WorkloadState } from "./state.ts";
import type { Lifecycle } from "./words.ts";

export interface DeploymentView extends PodsView {
  /** Those that the Deployment owns. Left out: not known, and all its Pods count. */
  readonly replicaSets?: readonly ReplicaSet[];
}

/** What the API server takes for "no deadline". */
const NO_DEADLINE = 2_147_483_647;
const DEFAULT_DEADLINE = 600;
/** Share of the deadline after which a rollout is worth a look. */
const LATE = 0.8;
const COMPLETE = "NewReplicaSetAvailable";

export function deploymentState(deployment: Deployment, view: DeploymentView): WorkloadState {
  const { metadata, spec, status } = deployment;
  const desired = spec.replicas ?? 1;
  const young = isYoung(metadata, view.now);
  const lifecycle = lifecycleOf(deployment, desired, young);
  const notes: readonly Finding[] = spec.paused ? [{ health: "healthy", text: "paused" }] : [];
  if (desired <= 0) return stateOf(lifecycle, notes);
  const counts = { desired, present: status.replicas, ready: status.readyReplicas };
  const current = { ...view, pods: currentPods(deployment, view) };
  const findings = [
    ...failureFindings(deployment, desired, lifecycle),
    ...readinessFindings(counts, lifecycle, isStarting(metadata, current)),
    ...podFindings(current),
    ...rolloutFindings(deployment, desired, lifecycle, view.now),
    ...notes,
  ];
  return stateOf(lifecycle, findings);
}

/** The first that holds. Nothing can fail in a Deployment of no Pods, whatever its conditions say from before. */
function lifecycleOf({ metadata, status }: Deployment, desired: number, young: boolean): Lifecycle {
  if (metadata.deletionTimestamp !== undefined) return "deleting";
  if (status.observedGeneration < metadata.generation) return "updating";
  if (desired <= 0) return "stopped";
  const progressing = conditionOf(status.conditions, "Progressing");
  if (progressing?.status === "False" || isTrue(status.conditions, "ReplicaFailure")) return "failed";
  // Once a rollout is complete only a change of the number leaves replicas that are not made yet.
  const isRolledOut = progressing?.reason === COMPLETE && status.updatedReplicas >= status.replicas;
  if (!isRolledOut && status.updatedReplicas < desired) return "updating";
  if (status.replicas > status.updatedReplicas) return "updating";
  if (status.replicas !== desired) return "scaling";
  return young && status.readyReplicas <= 0 ? "creating" : "running";
}

const REPLICA_FAILURES = ["FailedCreate", "FailedDelete"] as const;

function failureFindings({ spec, status }: Deployment, desired: number, lifecycle: Lifecycle): readonly Finding[] {
  if (lifecycle !== "failed") return [];
  const findings: Finding[] = [];
  const failure = conditionOf(status.conditions, "ReplicaFailure");
  if (failure?.status === "True") {
    findings.push({ health: "unhealthy", text: replicaFailure(failure.reason) });
  }
  const progressing = conditionOf(status.conditions, "Progressing");
  if (progressing?.status === "False") {
    const exceeded = progressing.reason === "ProgressDeadlineExceeded";
    const end = exceeded
      ? `deadline of ${spec.progressDeadlineSeconds ?? DEFAULT_DEADLINE} s exceeded`
      : "no ReplicaSet made";
    findings.push({ health: "unhealthy", text: `rollout ${status.updatedReplicas}/${desired} updated, ${end}` });
  }
  return findings;
}

/** A quota or an admission policy that refuses the Pods. */
export function replicaFailure(reason: string | undefined): string {
  const word = known(REPLICA_FAILURES, reason);
  return word === undefined ? "ReplicaFailure" : `ReplicaFailure (${word})`;
}

/** How far a rollout is, and how much of its deadline it has used since it last came forward. */
function rolloutFindings(
  { spec, status }: Deployment,
  desired: number,
  lifecycle: Lifecycle,
  now: Date,
): readonly Finding[] {
  const progressing = conditionOf(status.conditions, "Progressing");
  if (lifecycle === "failed" || progressing?.status !== "True" || progressing.reason === COMPLETE) return [];
  const text = `rollout ${status.updatedReplicas}/${desired} updated`;
  const deadline = spec.progressDeadlineSeconds ?? DEFAULT_DEADLINE;
  const usedMs = msSince(progressing.lastUpdateTime, now);
  if (deadline >= NO_DEADLINE || usedMs === undefined) return [{ health: "healthy", text }];
  const isLate = usedMs > deadline * 1_000 * LATE;
  return [{ health: isLate ? "degraded" : "healthy", text: `${text}, ${seconds(usedMs)} of ${deadline} s` }];
}

/**
 * The Pods of the current template: of the ReplicaSet with the Deployment's revision. Those of a ReplicaSet that is
 * scaled down may crash as they like, they are about to go.
 */
function currentPods({ metadata }: Deployment, { pods = [], replicaSets }: DeploymentView): readonly Pod[] {
  const revision = metadata.annotations[REVISION_ANNOTATION];
  const current = replicaSets?.find((each) => {
    const isOwn = each.metadata.ownerReferences.some(({ uid }) => uid === metadata.uid);
    return isOwn && revision !== undefined && each.metadata.annotations[REVISION_ANNOTATION] === revision;
  });
  if (current === undefined) return pods;
  return pods.filter((pod) => pod.metadata.ownerReferences.some(({ uid }) => uid === current.metadata.uid));
}
