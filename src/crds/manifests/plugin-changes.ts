import { RESTARTED_AT } from "../operations/rollout-restart.ts";
import { MAX_REPLICAS } from "../operations/scale.ts";
import { isSameBut, type Levels } from "./admission/same-but.ts";

// What the policies let the account of a plugin change of workloads and pods: in the words of the policies, and as functions with
// which `plugin test` shows an author what a customer's cluster refuses. An integration test holds the two together.

/** The fields of a workload that a plugin's account may change. What its pods are, and run as, is not among them. */
export const BY_PLUGINS: Levels = [
  ["spec", "metadata"],
  [
    ...(["template", "replicas", "paused", "strategy", "updateStrategy", "minReadySeconds"] as const),
    ...["progressDeadlineSeconds", "revisionHistoryLimit"],
  ],
  ["metadata"],
  ["annotations"],
  [RESTARTED_AT],
];
export const METADATA_BY_PLUGINS: Levels = [
  ["labels", "annotations", "managedFields", "generation", "resourceVersion"],
];

export const WORKLOAD_WORDS =
  "the account of a plugin may change labels and annotations of a workload, its replicas and how it is rolled out, and nothing of its pods";
export const REPLICAS_WORDS: string = `a grant account may scale to at most ${MAX_REPLICAS} replicas`;
export const UNREPLACED_POD_WORDS =
  "a grant account may only delete a pod that a controller replaces, unless it holds the operation delete-pod";

interface WorkloadOrScale {
  readonly metadata: object;
  readonly spec?: unknown;
}

/** Why the policies refuse the patch that makes `now` of the Deployment, StatefulSet or DaemonSet `was`; undefined: they do not. */
export function refusedWorkload(now: WorkloadOrScale, was: WorkloadOrScale): string | undefined {
  const isBound = isSameBut(now, was, BY_PLUGINS) && isSameBut(now.metadata, was.metadata, METADATA_BY_PLUGINS);
  return isBound ? refusedReplicas(now) : WORKLOAD_WORDS;
}

/** The same for a patch of the subresource `scale`. */
export function refusedReplicas({ spec }: WorkloadOrScale): string | undefined {
  const replicas = typeof spec === "object" && spec !== null && "replicas" in spec ? Number(spec.replicas) : 1;
  return replicas <= MAX_REPLICAS ? undefined : REPLICAS_WORDS;
}

interface Pod {
  readonly metadata: { readonly ownerReferences?: unknown };
}

/** Why the policies refuse to have the pod deleted; undefined: they do not. */
export function refusedPodDeletion({ metadata: { ownerReferences } }: Pod): string | undefined {
  const owners: readonly { readonly controller?: unknown; readonly kind?: unknown }[] = Array.isArray(ownerReferences)
    ? ownerReferences
    : [];
  const isReplaced = owners.some(({ controller, kind }) => controller === true && kind !== "Node");
  return isReplaced ? undefined : UNREPLACED_POD_WORDS;
}
