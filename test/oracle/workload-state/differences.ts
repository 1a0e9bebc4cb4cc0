/** A kind of object that an oracle sees otherwise, and why ours is meant. */
export interface Difference {
  readonly kind: string;
  /** Lifecycle and health. */
  readonly ours: string;
  readonly theirs: string;
  readonly why: string;
}

export const KSTATUS_DIFFERENCES: readonly Difference[] = [
  {
    kind: "CronJob",
    ours: "creating healthy",
    theirs: "Current",
    why: "each CronJob is current there; here its first run is told as its creation",
  },
  {
    kind: "DaemonSet",
    ours: "running degraded",
    theirs: "Current",
    why: "kstatus does not look at Pods on nodes that they are not for",
  },
  {
    kind: "DaemonSet",
    ours: "running degraded",
    theirs: "InProgress",
    why: "whether a change has arrived is asked there, here whether it works: a rollout that is complete makes no progress when Pods fall out",
  },
  {
    kind: "DaemonSet",
    ours: "running healthy",
    theirs: "InProgress",
    why: "OnDelete: nothing moves until a Pod is deleted by hand, so this is complete",
  },
  {
    kind: "Deployment",
    ours: "failed unhealthy",
    theirs: "InProgress",
    why: "a quota or a policy that refuses the Pods does not give in by waiting; ReplicaFailure is no progress",
  },
  {
    kind: "Deployment",
    ours: "running degraded",
    theirs: "InProgress",
    why: "whether a change has arrived is asked there, here whether it works: a rollout that is complete makes no progress when Pods fall out",
  },
  {
    kind: "Deployment",
    ours: "running healthy",
    theirs: "InProgress",
    why: "paused and complete: kstatus waits for a condition that a paused Deployment does not get",
  },
  {
    kind: "Deployment",
    ours: "stopped healthy",
    theirs: "InProgress",
    why: "nothing is desired any more: Pods that still end are no work that somebody waits for",
  },
  {
    kind: "Job",
    ours: "creating healthy",
    theirs: "Current",
    why: "a Job that has begun is current there; here it is being created until a Pod has succeeded or a minute has passed",
  },
  {
    kind: "Job",
    ours: "stopped healthy",
    theirs: "InProgress",
    why: "a suspended Job waits for the one who suspended it, and is not on its way to anything",
  },
  {
    kind: "PersistentVolumeClaim",
    ours: "failed unhealthy",
    theirs: "InProgress",
    why: "a lost volume does not come back by waiting, so it has failed",
  },
  {
    kind: "Pod",
    ours: "creating degraded",
    theirs: "Failed",
    why: "a Pod that crashes or finds no node may still come up, so only the phase Failed is final; its health says the rest",
  },
  {
    kind: "Pod",
    ours: "failed unhealthy",
    theirs: "Current",
    why: "a Pod that has ended is done there, however it ended; here a failed one has failed",
  },
  {
    kind: "Pod",
    ours: "running degraded",
    theirs: "Current",
    why: "ready again, but it was out of memory less than ten minutes ago",
  },
  {
    kind: "Pod",
    ours: "running degraded",
    theirs: "Failed",
    why: "a Pod that crashes or finds no node may still come up, so only the phase Failed is final; its health says the rest",
  },
  {
    kind: "Pod",
    ours: "running unknown",
    theirs: "InProgress",
    why: "its phase is Running, so its lifecycle is; that it is not ready yet is its health",
  },
  {
    kind: "PodDisruptionBudget",
    ours: "running degraded",
    theirs: "Current",
    why: "each budget is current there; here one that its Pods do not meet, or that was not looked at yet, is told",
  },
  {
    kind: "PodDisruptionBudget",
    ours: "updating unknown",
    theirs: "Current",
    why: "each budget is current there; here one that its Pods do not meet, or that was not looked at yet, is told",
  },
  {
    kind: "ReplicaSet",
    ours: "failed unhealthy",
    theirs: "InProgress",
    why: "a quota or a policy that refuses the Pods does not give in by waiting; ReplicaFailure is no progress",
  },
  {
    kind: "ReplicaSet",
    ours: "running degraded",
    theirs: "InProgress",
    why: "whether a change has arrived is asked there, here whether it works: a rollout that is complete makes no progress when Pods fall out",
  },
  {
    kind: "ReplicaSet",
    ours: "stopped healthy",
    theirs: "InProgress",
    why: "nothing is desired any more: Pods that still end are no work that somebody waits for",
  },
  {
    kind: "StatefulSet",
    ours: "running degraded",
    theirs: "InProgress",
    why: "whether a change has arrived is asked there, here whether it works: a rollout that is complete makes no progress when Pods fall out",
  },
  {
    kind: "StatefulSet",
    ours: "scaling healthy",
    theirs: "Current",
    why: "OnDelete: kstatus takes each such set for current without looking at its counts",
  },
  {
    kind: "StatefulSet",
    ours: "updating unknown",
    theirs: "Current",
    why: "OnDelete: kstatus takes each such set for current without looking at its counts",
  },
];

export const ENGINE_DIFFERENCES: readonly Difference[] = [
  {
    kind: "DaemonSet",
    ours: "creating degraded",
    theirs: "Healthy",
    why: "the engine looks neither at Pods on wrong nodes nor, with OnDelete, at whether the Pods are ready",
  },
  {
    kind: "DaemonSet",
    ours: "running degraded",
    theirs: "Healthy",
    why: "the engine looks neither at Pods on wrong nodes nor, with OnDelete, at whether the Pods are ready",
  },
  {
    kind: "DaemonSet",
    ours: "running degraded",
    theirs: "Progressing",
    why: "whether a change has arrived is asked there, here whether it works: a rollout that is complete makes no progress when Pods fall out",
  },
  {
    kind: "Deployment",
    ours: "failed unhealthy",
    theirs: "Progressing",
    why: "the engine does not look at ReplicaFailure; a quota or a policy that refuses does not give in by waiting",
  },
  {
    kind: "Deployment",
    ours: "running degraded",
    theirs: "Progressing",
    why: "whether a change has arrived is asked there, here whether it works: a rollout that is complete makes no progress when Pods fall out",
  },
  {
    kind: "Deployment",
    ours: "running healthy",
    theirs: "Suspended",
    why: "the engine has a word for a paused Deployment; here it is what its counts say, with the word in its message",
  },
  {
    kind: "Deployment",
    ours: "updating degraded",
    theirs: "Suspended",
    why: "the engine has a word for a paused Deployment; here it is what its counts say, with the word in its message",
  },
  {
    kind: "Deployment",
    ours: "updating healthy",
    theirs: "Suspended",
    why: "the engine has a word for a paused Deployment; here it is what its counts say, with the word in its message",
  },
  {
    kind: "Job",
    ours: "creating healthy",
    theirs: "Healthy",
    why: "the engine takes a Job that was resumed for complete, because it has a condition Suspended",
  },
  {
    kind: "Job",
    ours: "running healthy",
    theirs: "Progressing",
    why: "a Job that runs is in progress there until it ends; here it does what it is to do",
  },
  {
    kind: "Job",
    ours: "stopped healthy",
    theirs: "Progressing",
    why: "suspended in its spec, before its controller has written the condition that the engine looks at",
  },
  {
    kind: "Pod",
    ours: "creating degraded",
    theirs: "Degraded",
    why: "a Pod that crashes or waits for its image may still come up, so only the phase Failed is final; its health says degraded too",
  },
  {
    kind: "Pod",
    ours: "running degraded",
    theirs: "Degraded",
    why: "a Pod that crashes or waits for its image may still come up, so only the phase Failed is final; its health says degraded too",
  },
  {
    kind: "Pod",
    ours: "running degraded",
    theirs: "Healthy",
    why: "ready again, but it was out of memory less than ten minutes ago",
  },
  {
    kind: "Pod",
    ours: "running healthy",
    theirs: "Progressing",
    why: "a Pod that is not restarted is a hook to the engine, in progress until it ends; here it runs and is ready",
  },
  {
    kind: "Pod",
    ours: "running unknown",
    theirs: "Progressing",
    why: "its phase is Running, so its lifecycle is; that it is not ready yet is its health",
  },
  {
    kind: "ReplicaSet",
    ours: "running degraded",
    theirs: "Progressing",
    why: "whether a change has arrived is asked there, here whether it works: a rollout that is complete makes no progress when Pods fall out",
  },
  {
    kind: "StatefulSet",
    ours: "running degraded",
    theirs: "Progressing",
    why: "whether a change has arrived is asked there, here whether it works: a rollout that is complete makes no progress when Pods fall out",
  },
  {
    kind: "StatefulSet",
    ours: "scaling healthy",
    theirs: "Healthy",
    why: "the engine does not look at Pods beyond the desired number, or of an old revision within a partition",
  },
];
