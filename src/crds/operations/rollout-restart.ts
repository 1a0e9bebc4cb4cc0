import { namespacedOperation } from "./operation.ts";
import { objectName, oneOf, required } from "./params.ts";
import { WORKLOAD } from "./result-words.ts";
import { workloads } from "./rules.ts";
import { WORKLOAD_KINDS } from "./workload-kinds.ts";

/** What `kubectl rollout restart` sets, and the one thing that the account of a grant may write into a workload. */
export const RESTARTED_AT = "kubectl.kubernetes.io/restartedAt";

/** `patch` on a workload could change its image: the policy sallyport-rollout-restart narrows it to one annotation. */
export const ROLLOUT_RESTART = namespacedOperation({
  name: "rollout-restart",
  tier: "mutating",
  summary: "Restarts a workload's pods one after the other.",
  params: { kind: required(oneOf(WORKLOAD_KINDS)), name: required(objectName) },
  rules: [workloads("get", "patch")],
  result: {
    ...WORKLOAD,
    restartedAt: ["the mark that was set", "2026-11-20T10:00:00.000Z"],
    generation: ["the workload's `metadata.generation` after it", 5],
  },
});
