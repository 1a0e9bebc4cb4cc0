import { namespacedOperation } from "./operation.ts";
import { integer, labelSelector, withDefault } from "./params.ts";
import { pods } from "./rules.ts";

export const GET_PODS = namespacedOperation({
  name: "get-pods",
  tier: "read-only",
  summary: "Lists the pods of a namespace.",
  params: { labelSelector, limit: withDefault(integer(1, 500), 100) },
  rules: [pods("get", "list")],
  result: {
    namespace: ["the command's own parameter", "shop"],
    "pods[].name": ["`metadata.name`", "api-7d9c5-x2x4z"],
    "pods[].phase": ["`status.phase`", "Running"],
    "pods[].ready": ["ready containers of all", "1/1"],
    "pods[].restarts": ["restarts, added up", 0],
    "pods[].createdAt": ["`metadata.creationTimestamp`", "2026-11-20T09:00:00Z"],
    "pods[].node": ["`spec.nodeName`", "node-1"],
    "pods[].reason": ["`status.reason`", "Evicted"],
    more: ["whether there are more", false],
  },
});
