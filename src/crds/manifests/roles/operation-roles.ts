import { GROUP } from "../../group.ts";
import type { Tier } from "../../plan.ts";

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
  /** One sentence, for people who read what an installation may do. */
  readonly about: string;
  readonly rules: readonly PolicyRule[];
}

const pods = (...verbs: string[]): PolicyRule => ({ apiGroups: [""], resources: ["pods"], verbs });
const workloads = (...verbs: string[]): PolicyRule => ({
  apiGroups: ["apps"],
  resources: ["deployments", "statefulsets", "daemonsets"],
  verbs,
});
const events: PolicyRule = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["list"] };

/** No resource that is served: the policy sallyport-pod-deletion asks for this right. */
export const UNREPLACED_PODS = "unreplacedpods";

/** What a grant's account may do while it runs one operation; a ClusterRole each. The operator's operations declare the same. */
export const OPERATION_ROLES: readonly OperationRole[] = [
  {
    plugin: "kubernetes",
    operation: "get-pods",
    tier: "read-only",
    about: "Lists the pods of a namespace.",
    rules: [pods("get", "list")],
  },
  {
    plugin: "kubernetes",
    operation: "describe",
    tier: "read-only",
    about: "Shows one pod or workload with its recent events.",
    rules: [pods("get"), workloads("get"), events],
  },
  {
    plugin: "kubernetes",
    operation: "logs",
    tier: "read-only",
    about: "Reads the log of a pod.",
    rules: [pods("get", "list"), { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] }],
  },
  {
    plugin: "kubernetes",
    operation: "events",
    tier: "read-only",
    about: "Lists the events of a namespace.",
    rules: [events],
  },
  {
    plugin: "kubernetes",
    operation: "rollout-status",
    tier: "read-only",
    about: "Tells how far a rollout is.",
    rules: [workloads("get")],
  },
  // Both delete pods: the policy sallyport-pod-deletion tells them apart by the right of the second.
  {
    plugin: "kubernetes",
    operation: "restart-pod",
    tier: "mutating",
    about: "Deletes one pod that a controller replaces.",
    rules: [pods("get", "delete")],
  },
  // `patch` on a workload could change its image: the policy sallyport-rollout-restart narrows it to one annotation.
  {
    plugin: "kubernetes",
    operation: "rollout-restart",
    tier: "mutating",
    about: "Restarts a workload's pods one after the other.",
    rules: [workloads("get", "patch")],
  },
  {
    plugin: "kubernetes",
    operation: "scale",
    tier: "mutating",
    about: "Sets a workload's replicas.",
    rules: [{ apiGroups: ["apps"], resources: ["deployments/scale", "statefulsets/scale"], verbs: ["get", "patch"] }],
  },
  {
    plugin: "kubernetes",
    operation: "delete-pod",
    tier: "destructive",
    about: "Deletes one pod, also one that nothing replaces.",
    rules: [pods("get", "delete"), { apiGroups: [GROUP], resources: [UNREPLACED_PODS], verbs: ["delete"] }],
  },
];
