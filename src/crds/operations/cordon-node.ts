import { GROUP } from "../group.ts";
import { clusterOperation } from "./operation.ts";
import { objectName, required } from "./params.ts";
import { NODE_SCHEDULING } from "./result-words.ts";
import { nodes } from "./rules.ts";

/**
 * `patch` on a node could change its labels, taints and addresses: the policy sallyport-node-scheduling narrows it to
 * `spec.unschedulable`, and by the second rule, on a resource that is not served, to the direction.
 */
export const CORDON_NODE = clusterOperation({
  name: "cordon-node",
  tier: "mutating",
  summary: "Keeps new pods off one node.",
  params: { name: required(objectName) },
  rules: [nodes("get", "patch"), { apiGroups: [GROUP], resources: ["nodes"], verbs: ["cordon"] }],
  result: NODE_SCHEDULING,
});
