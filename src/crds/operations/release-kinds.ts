/**
 * What a release may install: kind and group, and the resource as RBAC names it. The role that a rollout is lent, the
 * policy for its account and the operator's own judgement are made of this list.
 */
export const RELEASE_RESOURCES = {
  "Deployment.apps": "deployments",
  "StatefulSet.apps": "statefulsets",
  "DaemonSet.apps": "daemonsets",
  "Job.batch": "jobs",
  "CronJob.batch": "cronjobs",
  Service: "services",
  ConfigMap: "configmaps",
  PersistentVolumeClaim: "persistentvolumeclaims",
  ServiceAccount: "serviceaccounts",
  "PodDisruptionBudget.policy": "poddisruptionbudgets",
  "HorizontalPodAutoscaler.autoscaling": "horizontalpodautoscalers",
  "Ingress.networking.k8s.io": "ingresses",
  "NetworkPolicy.networking.k8s.io": "networkpolicies",
} as const;

/** Those that run pods. */
export const POD_KINDS = [
  "Deployment.apps",
  "StatefulSet.apps",
  "DaemonSet.apps",
  "Job.batch",
  "CronJob.batch",
] as const;

/** `Deployment.apps`: `apps`; `Service`: the core group, which has no name. */
export function groupOf(kind: string): string {
  const dot = kind.indexOf(".");
  return dot < 0 ? "" : kind.slice(dot + 1);
}
