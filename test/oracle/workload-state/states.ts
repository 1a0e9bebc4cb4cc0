import {
  cronJobShape,
  jobShape,
  persistentVolumeClaimShape,
  podDisruptionBudgetShape,
} from "../../../src/kube/projection/batch-shapes.ts";
import { Interner } from "../../../src/kube/projection/interner.ts";
import type { Projection } from "../../../src/kube/projection/projection.ts";
import {
  daemonSetShape,
  deploymentShape,
  podShape,
  replicaSetShape,
  statefulSetShape,
} from "../../../src/kube/projection/shapes.ts";
import { cronJobState } from "../../../src/kube/workload-state/cron-job.ts";
import { daemonSetState } from "../../../src/kube/workload-state/daemon-set.ts";
import { deploymentState } from "../../../src/kube/workload-state/deployment.ts";
import { jobState } from "../../../src/kube/workload-state/job.ts";
import { persistentVolumeClaimState } from "../../../src/kube/workload-state/persistent-volume-claim.ts";
import { podState } from "../../../src/kube/workload-state/pod.ts";
import { podDisruptionBudgetState } from "../../../src/kube/workload-state/pod-disruption-budget.ts";
import { replicaSetState } from "../../../src/kube/workload-state/replica-set.ts";
import type { WorkloadState } from "../../../src/kube/workload-state/state.ts";
import { statefulSetState } from "../../../src/kube/workload-state/stateful-set.ts";
import type { RecordedKind, Seen } from "./record/world.ts";
import { type Recorded, readRecorded } from "./recorded.ts";

const strings = new Interner();
const RECORDED = readRecorded();

const read = <T>(projection: Projection<T>, object: Seen): T => projection.fromJson(object, strings);

/** What was recorded at one step, by kind. */
function recordedAt(step: string): { readonly now: Date; readonly of: (kind: RecordedKind) => readonly Seen[] } {
  const lines = RECORDED.filter(({ at }) => at[step] !== undefined);
  const [first] = lines;
  if (first === undefined) throw new Error(`nothing was recorded at ${step}`);
  return {
    now: new Date(first.at[step] ?? ""),
    of: (kind) => lines.map(({ object }) => object).filter((object) => object.kind === kind),
  };
}

const ownedBy = (owner: Seen, objects: readonly Seen[]): readonly Seen[] =>
  objects.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false);

interface Others {
  readonly replicaSets: readonly Seen[];
  readonly pods: readonly Seen[];
  readonly jobs: readonly Seen[];
}
const NO_OTHERS: Others = { replicaSets: [], pods: [], jobs: [] };

/** The state of a recorded object, with the objects that it owns. */
function judged(object: Seen, others: Others, now: Date): WorkloadState {
  const replicaSets = ownedBy(object, others.replicaSets);
  const owners = [object, ...replicaSets];
  const pods = owners.flatMap((owner) => ownedBy(owner, others.pods)).map((pod) => read(podShape, pod));
  const view = { now, pods };
  switch (object.kind) {
    case "Deployment": {
      const sets = replicaSets.map((set) => read(replicaSetShape, set));
      return deploymentState(read(deploymentShape, object), { ...view, replicaSets: sets });
    }
    case "ReplicaSet":
      return replicaSetState(read(replicaSetShape, object), view);
    case "StatefulSet":
      return statefulSetState(read(statefulSetShape, object), view);
    case "DaemonSet":
      return daemonSetState(read(daemonSetShape, object), view);
    case "Job":
      return jobState(read(jobShape, object), view);
    case "CronJob": {
      const jobs = ownedBy(object, others.jobs).map((job) => read(jobShape, job));
      return cronJobState(read(cronJobShape, object), { now, jobs });
    }
    case "Pod":
      return podState(read(podShape, object), { now });
    case "PersistentVolumeClaim":
      return persistentVolumeClaimState(read(persistentVolumeClaimShape, object));
    case "PodDisruptionBudget":
      return podDisruptionBudgetState(read(podDisruptionBudgetShape, object));
    default:
      throw new Error(`no state for ${object.kind}`);
  }
}

/** The state of the one object of a kind at a step, `later` milliseconds after it was recorded. */
export function stateAt(step: string, kind: RecordedKind, later = 0, own = true): WorkloadState {
  const { now, of } = recordedAt(step);
  const [object, ...more] = of(kind).filter(({ metadata }) => !own || (metadata.ownerReferences ?? []).length === 0);
  if (object === undefined || more.length > 0) throw new Error(`not one ${kind} at ${step}`);
  const others = { replicaSets: of("ReplicaSet"), pods: of("Pod"), jobs: of("Job") };
  return judged(object, others, new Date(now.getTime() + later));
}

/** All recorded objects in the order of the file, each judged by itself when it was first seen. */
export function allAlone(): readonly {
  readonly line: Recorded;
  readonly step: string;
  readonly state: WorkloadState;
}[] {
  return RECORDED.map((line) => {
    const [[step, at] = ["", ""]] = Object.entries(line.at);
    return { line, step, state: judged(line.object, NO_OTHERS, new Date(at)) };
  });
}
