import { GROUP } from "../group.ts";
import { clusterOperation } from "./operation.ts";
import { objectName, required } from "./params.ts";
import { NODE_SCHEDULING } from "./result-words.ts";
import { nodes } from "./rules.ts";

/** A policy narrows its `patch` as for `cordon-node`. */
export const UNCORDON_NODE = clusterOperation({
  name: "uncordon-node",
  tier: "mutating",
  summary: "Lets new pods onto one node again.",
  params: { name: required(objectName) },
  rules: [nodes("get", "patch"), { apiGroups: [GROUP], resources: ["nodes"], verbs: ["uncordon"] }],
  result: NODE_SCHEDULING,
});
