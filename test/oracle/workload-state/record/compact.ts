import type { Seen } from "./world.ts";

/**
 * Fields that say nothing of an object's state and would be most of the recording: what admission and defaults add to
 * each Pod.
 */
const NOISE: ReadonlySet<string> = new Set([
  "managedFields",
  "tolerations",
  "dnsPolicy",
  "schedulerName",
  "securityContext",
  "terminationMessagePath",
  "terminationMessagePolicy",
  "imagePullPolicy",
  "enableServiceLinks",
  "preemptionPolicy",
  "priority",
  "serviceAccount",
  "serviceAccountName",
  "automountServiceAccountToken",
  "hostIP",
  "hostIPs",
  "lastProbeTime",
  // Prose, and a number that only tells two versions apart.
  "message",
  "resourceVersion",
  "podManagementPolicy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "blockOwnerDeletion",
  "imageID",
  "completionMode",
  "successfulJobsHistoryLimit",
  "concurrencyPolicy",
  "uncountedTerminatedPods",
  "allocatedResources",
  "containerID",
  "volumeMode",
  "startedAt",
  "pod-template-generation",
  "started",
  "generateName",
  "terminationGracePeriodSeconds",
  "controller-uid",
  "batch.kubernetes.io/controller-uid",
  "batch.kubernetes.io/job-name",
  "job-name",
  "podReplacementPolicy",
  "deprecated.daemonset.template.generation",
  "deployment.kubernetes.io/desired-replicas",
  "deployment.kubernetes.io/max-replicas",
  "terminatingReplicas",
]);

/** Without {@link NOISE}, deep. */
export function compact(object: Seen): Seen {
  const text = JSON.stringify(object, (key, value: unknown) =>
    key === "template"
      ? withoutDefaults(value as Template)
      : NOISE.has(key) ||
          (value !== null && typeof value === "object" && Object.keys(value).length === 0 && key !== "status")
        ? undefined
        : value,
  );
  return JSON.parse(text) as Seen;
}

interface Template {
  readonly metadata?: object;
  readonly spec?: { readonly restartPolicy?: string };
}

/** What a Pod is made from; how its containers restart is told by the Pod itself. */
function withoutDefaults({ metadata, spec }: Template): Template {
  const { restartPolicy: _, ...others } = spec ?? {};
  return { ...(metadata !== undefined && { metadata }), spec: others };
}

/** What makes two versions of an object different states: all but times and versions. */
export function signature(object: Seen): string {
  return JSON.stringify(compact(object), (key, value: unknown) => {
    if (key === "resourceVersion" || key === "uid" || key === "message") return undefined;
    if (key === "deletionTimestamp") return true;
    return typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) ? undefined : value;
  });
}
