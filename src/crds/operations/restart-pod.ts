import { namespacedOperation } from "./operation.ts";
import { objectName, required } from "./params.ts";
import { POD_DELETION } from "./result-words.ts";
import { pods } from "./rules.ts";

/**
 * `delete-pod` has the same right on pods. The policy sallyport-pod-deletion tells them apart by the extra right of
 * delete-pod.
 */
export const RESTART_POD = namespacedOperation({
  name: "restart-pod",
  tier: "mutating",
  summary: "Deletes one pod that a controller replaces.",
  params: { pod: required(objectName) },
  rules: [pods("get", "delete")],
  result: { ...POD_DELETION, replacedBy: ["kind and name of the pod's controller", "ReplicaSet/api-7d9c5"] },
});
