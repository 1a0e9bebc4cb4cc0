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

const TEMPLATE_LABELS = ["template", "metadata", "labels"];
const MATCH_LABELS = ["selector", "matchLabels"];

/** Under `spec`, where the labels are of the pods that an object makes. */
export const POD_LABELS: Readonly<Record<(typeof POD_KINDS)[number], readonly string[]>> = {
  "Deployment.apps": TEMPLATE_LABELS,
  "StatefulSet.apps": TEMPLATE_LABELS,
  "DaemonSet.apps": TEMPLATE_LABELS,
  "Job.batch": TEMPLATE_LABELS,
  "CronJob.batch": ["jobTemplate", "spec", ...TEMPLATE_LABELS],
};

/** Under `spec`, where the labels are by which an object chooses pods. */
export const POD_SELECTORS = {
  "Deployment.apps": MATCH_LABELS,
  "StatefulSet.apps": MATCH_LABELS,
  "DaemonSet.apps": MATCH_LABELS,
  Service: ["selector"],
  "PodDisruptionBudget.policy": MATCH_LABELS,
  "NetworkPolicy.networking.k8s.io": ["podSelector", "matchLabels"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Those that choose every pod of the namespace when their selector is empty; the others choose none, or are no object. */
export const CHOOSE_ALL: readonly string[] = ["PodDisruptionBudget.policy", "NetworkPolicy.networking.k8s.io"];

/** What an autoscaler may scale. */
export const SCALED_KINDS: readonly string[] = ["Deployment.apps", "StatefulSet.apps"];

/** Kind and group, as the keys of {@link RELEASE_RESOURCES}: `Deployment.apps`, `Service`. */
export function kindAndGroup({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return apiVersion.includes("/") ? `${kind}.${apiVersion.split("/", 1)[0]}` : kind;
}

/** `Deployment.apps`: `apps`; `Service`: the core group, which has no name. */
export function groupOf(kind: string): string {
  const dot = kind.indexOf(".");
  return dot < 0 ? "" : kind.slice(dot + 1);
}
