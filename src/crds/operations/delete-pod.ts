import { GROUP } from "../group.ts";
import { namespacedOperation } from "./operation.ts";
import { integer, objectName, required } from "./params.ts";
import { POD_DELETION } from "./result-words.ts";
import { pods } from "./rules.ts";

/** No API serves this resource: the policy sallyport-pod-deletion asks for the right on it. */
export const UNREPLACED_PODS = "unreplacedpods";

export const DELETE_POD = namespacedOperation({
  name: "delete-pod",
  tier: "destructive",
  summary: "Deletes one pod, also one that nothing replaces.",
  params: { pod: required(objectName), gracePeriodSeconds: integer(0, 3_600) },
  rules: [pods("get", "delete"), { apiGroups: [GROUP], resources: [UNREPLACED_PODS], verbs: ["delete"] }],
  result: POD_DELETION,
});
