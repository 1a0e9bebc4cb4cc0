import { namespacedOperation } from "./operation.ts";
import { objectName, oneOf, required } from "./params.ts";
import { WORKLOAD } from "./result-words.ts";
import { workloads } from "./rules.ts";
import { WORKLOAD_KINDS } from "./workload-kinds.ts";

export const ROLLOUT_STATUS = namespacedOperation({
  name: "rollout-status",
  tier: "read-only",
  summary: "Tells how far a rollout is.",
  params: { kind: required(oneOf(WORKLOAD_KINDS)), name: required(objectName) },
  rules: [workloads("get")],
  result: {
    ...WORKLOAD,
    complete: ["whether the rollout is over", true],
    message: ["what it waits for, in the operator's words", "the rollout is complete"],
    desired: ["replicas wanted", 3],
    updated: ["replicas of the new version", 3],
    available: ["replicas available", 3],
  },
});
