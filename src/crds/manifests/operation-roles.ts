import type { Tier } from "../plan.ts";

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface OperationRole {
  readonly plugin: string;
  readonly operation: string;
  readonly tier: Tier;
  readonly rules: readonly PolicyRule[];
}

const pods = (...verbs: string[]): PolicyRule => ({ apiGroups: [""], resources: ["pods"], verbs });
const workloads = (...verbs: string[]): PolicyRule => ({
  apiGroups: ["apps"],
  resources: ["deployments", "statefulsets", "daemonsets"],
  verbs,
});
const events: PolicyRule = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["list"] };

/** What a grant's account may do while it runs one operation; a ClusterRole each. The operator's operations declare the same. */
export const OPERATION_ROLES: readonly OperationRole[] = [
  { plugin: "kubernetes", operation: "get-pods", tier: "read-only", rules: [pods("get", "list")] },
  { plugin: "kubernetes", operation: "describe", tier: "read-only", rules: [pods("get"), workloads("get"), events] },
  {
    plugin: "kubernetes",
    operation: "logs",
    tier: "read-only",
    rules: [pods("get", "list"), { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] }],
  },
  { plugin: "kubernetes", operation: "events", tier: "read-only", rules: [events] },
  { plugin: "kubernetes", operation: "rollout-status", tier: "read-only", rules: [workloads("get")] },
  { plugin: "kubernetes", operation: "restart-pod", tier: "mutating", rules: [pods("get", "delete")] },
  // `patch` on a workload could change its image: the policy sallyport-rollout-restart narrows it to one annotation.
  { plugin: "kubernetes", operation: "rollout-restart", tier: "mutating", rules: [workloads("get", "patch")] },
  {
    plugin: "kubernetes",
    operation: "scale",
    tier: "mutating",
    rules: [{ apiGroups: ["apps"], resources: ["deployments/scale", "statefulsets/scale"], verbs: ["get", "patch"] }],
  },
  { plugin: "kubernetes", operation: "delete-pod", tier: "destructive", rules: [pods("get", "delete")] },
];
