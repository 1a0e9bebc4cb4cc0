import type { Words } from "./egress-words.ts";

const NAMESPACE = ["the command's own parameter", "shop"] as const;
const GIVEN = ["the command's own parameter", "api"] as const;
const EVENTS: Words = {
  "events[].at": ["newest time of the event", "2026-11-20T10:00:00Z"],
  "events[].type": ["its `type`", "Warning"],
  "events[].reason": ["its `reason`", "BackOff"],
  "events[].regarding": ["kind and name of the object", "Pod/api-7d9c5-x2x4z"],
  "events[].count": ["how often", 4],
  "events[].note": ["its `note`, at most 512 characters, redacted", "Back-off restarting failed container"],
};
const COUNTS: Words = {
  desired: ["replicas wanted", 3],
  updated: ["replicas of the new version", 3],
  available: ["replicas available", 3],
};
const DELETION: Words = {
  namespace: NAMESPACE,
  pod: GIVEN,
  uid: ["the pod's `metadata.uid`", "6f3e…"],
  alreadyGone: ["whether somebody else was first", false],
  terminating: ["whether it is still going", true],
};

/** What the result of each operation may carry, by `plugin/operation`: the fields of `body.result` of a completed command. */
export const RESULT_WORDS: Readonly<Record<string, Words>> = {
  "kubernetes/get-pods": {
    namespace: NAMESPACE,
    "pods[].name": ["`metadata.name`", "api-7d9c5-x2x4z"],
    "pods[].phase": ["`status.phase`", "Running"],
    "pods[].ready": ["ready containers of all", "1/1"],
    "pods[].restarts": ["restarts, added up", 0],
    "pods[].createdAt": ["`metadata.creationTimestamp`", "2026-11-20T09:00:00Z"],
    "pods[].node": ["`spec.nodeName`", "node-1"],
    "pods[].reason": ["`status.reason`", "Evicted"],
    more: ["whether there are more", false],
  },
  "kubernetes/describe": {
    kind: GIVEN,
    namespace: NAMESPACE,
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
  "kubernetes/logs": {
    namespace: NAMESPACE,
    pod: GIVEN,
    container: ["the container read", "api"],
    log: ["**the newest lines of that container's log**: at most 2,000 lines and 30,000 characters, redacted", "…"],
    cut: ["whether older lines were left out", true],
  },
  "kubernetes/events": { namespace: NAMESPACE, ...EVENTS },
  "kubernetes/rollout-status": {
    namespace: NAMESPACE,
    kind: GIVEN,
    name: GIVEN,
    complete: ["whether the rollout is over", true],
    message: ["what it waits for, in the operator's words", "the rollout is complete"],
    ...COUNTS,
  },
  "kubernetes/restart-pod": {
    ...DELETION,
    replacedBy: ["kind and name of the pod's controller", "ReplicaSet/api-7d9c5"],
  },
  "kubernetes/delete-pod": DELETION,
  "kubernetes/rollout-restart": {
    namespace: NAMESPACE,
    kind: GIVEN,
    name: GIVEN,
    restartedAt: ["the mark that was set", "2026-11-20T10:00:00.000Z"],
    generation: ["the workload's `metadata.generation` after it", 5],
  },
  "kubernetes/scale": {
    namespace: NAMESPACE,
    kind: GIVEN,
    name: GIVEN,
    from: ["replicas before", 3],
    to: ["replicas set", 5],
    running: ["pods that there are now", 3],
  },
};

/** Of any operation. */
export const RESULT_MARKS: Words = {
  truncated: ["something was left out: a result holds at most 60,000 characters", true],
  omitted: ["the API server refused to store the result", "the API server refused to store the result"],
};
