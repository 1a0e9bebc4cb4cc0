import { coreConditionShape, leanMetadataShape } from "./common-shapes.ts";
import { bool, int, interned, list, optional, string, time } from "./field-types.ts";
import { field, message, type Projected } from "./projection.ts";

// Kinds beside the workloads that run Pods for ever. Field numbers: generated.proto of k8s.io/api/{batch,core,policy}/v1.

export const jobShape = message({
  metadata: field(1, leanMetadataShape),
  spec: field(
    2,
    message({
      parallelism: field(1, optional(int)),
      completions: field(2, optional(int)),
      activeDeadlineSeconds: field(3, optional(int)),
      backoffLimit: field(7, optional(int)),
      suspend: field(10, bool),
      backoffLimitPerIndex: field(12, optional(int)),
    }),
  ),
  status: field(
    3,
    message({
      conditions: field(1, list(coreConditionShape)),
      startTime: field(2, optional(time)),
      completionTime: field(3, optional(time)),
      active: field(4, int),
      succeeded: field(5, int),
      failed: field(6, int),
      ready: field(9, optional(int)),
    }),
  ),
});
export type Job = Projected<typeof jobShape>;

export const cronJobShape = message({
  metadata: field(1, leanMetadataShape),
  spec: field(2, message({ schedule: field(1, string), suspend: field(4, bool) })),
  status: field(
    3,
    message({
      active: field(1, list(message({ name: field(3, string), uid: field(4, string) }))),
      lastScheduleTime: field(4, optional(time)),
      lastSuccessfulTime: field(5, optional(time)),
    }),
  ),
});
export type CronJob = Projected<typeof cronJobShape>;

export const persistentVolumeClaimShape = message({
  metadata: field(1, leanMetadataShape),
  spec: field(2, message({ volumeName: field(3, optional(string)), storageClassName: field(5, optional(interned)) })),
  status: field(3, message({ phase: field(1, interned) })),
});
export type PersistentVolumeClaim = Projected<typeof persistentVolumeClaimShape>;

export const podDisruptionBudgetShape = message({
  metadata: field(1, leanMetadataShape),
  status: field(
    3,
    message({
      observedGeneration: field(1, int),
      disruptionsAllowed: field(3, int),
      currentHealthy: field(4, int),
      desiredHealthy: field(5, int),
      expectedPods: field(6, int),
    }),
  ),
});
export type PodDisruptionBudget = Projected<typeof podDisruptionBudgetShape>;
