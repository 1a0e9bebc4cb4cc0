import type { PolicyRule } from "./operation.ts";

// Rules that several operations have.

export function pods(...verbs: string[]): PolicyRule {
  return { apiGroups: [""], resources: ["pods"], verbs };
}

export function workloads(...verbs: string[]): PolicyRule {
  return { apiGroups: ["apps"], resources: ["deployments", "statefulsets", "daemonsets"], verbs };
}

export function nodes(...verbs: string[]): PolicyRule {
  return { apiGroups: [""], resources: ["nodes"], verbs };
}

export const LIST_EVENTS: PolicyRule = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["list"] };
