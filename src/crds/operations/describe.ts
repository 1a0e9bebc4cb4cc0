import { namespacedOperation } from "./operation.ts";
import { objectName, oneOf, required } from "./params.ts";
import { EVENTS, GIVEN } from "./result-words.ts";
import { LIST_EVENTS, pods, workloads } from "./rules.ts";
import { WORKLOAD_KINDS } from "./workload-kinds.ts";

export const DESCRIBE = namespacedOperation({
  name: "describe",
  tier: "read-only",
  summary: "Shows one pod or workload with its recent events.",
  params: { kind: required(oneOf(["pod", ...WORKLOAD_KINDS])), name: required(objectName) },
  rules: [pods("get"), workloads("get"), LIST_EVENTS],
  result: {
    kind: GIVEN,
    namespace: ["the command's own parameter", "shop"],
    name: GIVEN,
    createdAt: ["`metadata.creationTimestamp`", "2026-11-20T09:00:00Z"],
    "labels.*": ["`metadata.labels`; never annotations", "api"],
    phase: ["`status.phase` of a pod", "Running"],
    terminating: ["whether a pod is being deleted", false],
    node: ["`spec.nodeName` of a pod", "node-1"],
    controlledBy: ["kind and name of a pod's controller", "ReplicaSet/api-7d9c5"],
    replicas: ["`spec.replicas` of a workload", 3],
    paused: ["`spec.paused` of a workload", false],
    strategy: ["its update strategy's type", "RollingUpdate"],
    "selector.*": ["`matchLabels` of its selector", "api"],
    "containers[].name": ["a container's name", "api"],
    "containers[].image": ["its image", "registry.example.com/api:1.4.2"],
    "containers[].environmentNames[]": ["**names** of its environment variables; never a value", "DATABASE_URL"],
    "containers[].ports[]": ["its ports", "8080/TCP"],
    "containers[].requests.*": ["`resources.requests`", "100m"],
    "containers[].limits.*": ["`resources.limits`", "256Mi"],
    "containers[].ready": ["of a pod's container", true],
    "containers[].restarts": ["of a pod's container", 0],
    "containers[].state[].name": ["`running`, `waiting` or `terminated`", "waiting"],
    "containers[].state[].reason": ["its `reason`; never its message", "CrashLoopBackOff"],
    "containers[].state[].exitCode": ["its `exitCode`", 137],
    "status.updated": ["replicas of the new version", 3],
    "status.ready": ["replicas ready", 3],
    "status.available": ["replicas available", 3],
    "conditions[].type": ["a condition's `type`", "Available"],
    "conditions[].status": ["its `status`", "True"],
    "conditions[].reason": ["its `reason`", "MinimumReplicasAvailable"],
    "conditions[].message": ["its `message`, at most 512 characters, redacted", "Deployment has minimum availability."],
    ...EVENTS,
  },
});
