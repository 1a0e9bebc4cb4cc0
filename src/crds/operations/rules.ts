import type { PolicyRule } from "./operation.ts";
import { WORKLOAD_RESOURCES } from "./workload-kinds.ts";

// Rules that several operations have.

export function pods(...verbs: string[]): PolicyRule {
  return { apiGroups: [""], resources: ["pods"], verbs };
}

export function workloads(...verbs: string[]): PolicyRule {
  return { apiGroups: ["apps"], resources: WORKLOAD_RESOURCES, verbs };
}

export function nodes(...verbs: string[]): PolicyRule {
  return { apiGroups: [""], resources: ["nodes"], verbs };
}

export const LIST_EVENTS: PolicyRule = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["list"] };
