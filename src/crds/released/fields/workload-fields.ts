import { type Types, values, words } from "./field-types.ts";

const HEAD = words("apiVersion kind status");
const object = (spec: string): Types[string] => ({ own: HEAD, of: { metadata: "ObjectMeta", spec } });

export const WORKLOAD_FIELDS: Types = {
  Deployment: object("DeploymentSpec"),
  StatefulSet: object("StatefulSetSpec"),
  DaemonSet: object("DaemonSetSpec"),
  Job: object("JobSpec"),
  CronJob: object("CronJobSpec"),
  ObjectMeta: {
    // What the API server itself writes, it takes from nobody.
    own: words("creationTimestamp deletionGracePeriodSeconds deletionTimestamp generation name namespace selfLink"),
    mayUse: { annotations: "annotations", labels: "labels" },
    refused: words("finalizers generateName managedFields ownerReferences resourceVersion uid"),
  },
  // What a controller makes of it has all of it: finalizers and owners, too.
  "ObjectMeta@within": {
    own: words("creationTimestamp name"),
    mayUse: { annotations: "annotations", labels: "labels" },
    refused: words(
      "deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation managedFields namespace ownerReferences " +
        "resourceVersion selfLink uid",
    ),
  },
  LabelSelector: { own: ["matchLabels"], of: { matchExpressions: "LabelSelectorRequirement" } },
  LabelSelectorRequirement: { own: words("key operator values") },
  DeploymentSpec: {
    own: words("minReadySeconds paused progressDeadlineSeconds revisionHistoryLimit"),
    of: { strategy: "DeploymentStrategy", template: "PodTemplateSpec" },
    ruled: words("replicas selector"),
  },
  DeploymentStrategy: { own: ["type"], of: { rollingUpdate: "RollingUpdateDeployment" } },
  RollingUpdateDeployment: { own: words("maxSurge maxUnavailable") },
  StatefulSetSpec: {
    own: words("minReadySeconds podManagementPolicy revisionHistoryLimit"),
    of: {
      ordinals: "StatefulSetOrdinals",
      template: "PodTemplateSpec",
      updateStrategy: "StatefulSetUpdateStrategy",
      volumeClaimTemplates: "PersistentVolumeClaim@within",
    },
    ruled: words("persistentVolumeClaimRetentionPolicy replicas selector"),
    shown: { serviceName: "Service" },
  },
  StatefulSetOrdinals: { own: ["start"] },
  StatefulSetUpdateStrategy: { own: ["type"], of: { rollingUpdate: "RollingUpdateStatefulSetStrategy" } },
  RollingUpdateStatefulSetStrategy: { own: words("maxUnavailable partition") },
  DaemonSetSpec: {
    own: words("minReadySeconds revisionHistoryLimit"),
    of: { template: "PodTemplateSpec", updateStrategy: "DaemonSetUpdateStrategy" },
    ruled: ["selector"],
  },
  DaemonSetUpdateStrategy: { own: ["type"], of: { rollingUpdate: "RollingUpdateDaemonSet" } },
  RollingUpdateDaemonSet: { own: words("maxSurge maxUnavailable") },
  JobSpec: {
    own: words(
      "activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions maxFailedIndexes " +
        "podReplacementPolicy suspend ttlSecondsAfterFinished",
    ),
    of: {
      podFailurePolicy: "PodFailurePolicy",
      selector: "LabelSelector",
      successPolicy: "SuccessPolicy",
      template: "PodTemplateSpec",
    },
    // By hand, a selector chooses pods of others.
    refused: ["manualSelector"],
    ruled: ["parallelism"],
    // Another controller than the cluster's own carries it out.
    shown: values("managedBy"),
  },
  PodFailurePolicy: { of: { rules: "PodFailurePolicyRule" } },
  PodFailurePolicyRule: {
    own: ["action"],
    of: {
      onExitCodes: "PodFailurePolicyOnExitCodesRequirement",
      onPodConditions: "PodFailurePolicyOnPodConditionsPattern",
    },
  },
  PodFailurePolicyOnExitCodesRequirement: { own: words("containerName operator values") },
  PodFailurePolicyOnPodConditionsPattern: { own: words("status type") },
  SuccessPolicy: { of: { rules: "SuccessPolicyRule" } },
  SuccessPolicyRule: { own: words("succeededCount succeededIndexes") },
  CronJobSpec: {
    own: words(
      "concurrencyPolicy failedJobsHistoryLimit schedule startingDeadlineSeconds successfulJobsHistoryLimit suspend timeZone",
    ),
    of: { jobTemplate: "JobTemplateSpec" },
  },
  JobTemplateSpec: { of: { metadata: "ObjectMeta@within", spec: "JobSpec" } },
  PodDisruptionBudget: object("PodDisruptionBudgetSpec"),
  PodDisruptionBudgetSpec: {
    own: words("maxUnavailable minAvailable unhealthyPodEvictionPolicy"),
    ruled: ["selector"],
  },
  HorizontalPodAutoscaler: object("HorizontalPodAutoscalerSpec"),
  HorizontalPodAutoscalerSpec: {
    own: words("minReplicas targetCPUUtilizationPercentage"),
    of: { behavior: "HorizontalPodAutoscalerBehavior", metrics: "MetricSpec" },
    ruled: words("maxReplicas scaleTargetRef"),
  },
  HorizontalPodAutoscalerBehavior: { of: { scaleDown: "HPAScalingRules", scaleUp: "HPAScalingRules" } },
  HPAScalingRules: {
    own: words("selectPolicy stabilizationWindowSeconds tolerance"),
    of: { policies: "HPAScalingPolicy" },
  },
  HPAScalingPolicy: { own: words("periodSeconds type value") },
  MetricSpec: {
    own: ["type"],
    of: {
      containerResource: "ContainerResourceMetricSource",
      object: "ObjectMetricSource",
      pods: "PodsMetricSource",
      resource: "ResourceMetricSource",
    },
    // Of what is outside of the cluster.
    shown: values("external"),
  },
  ContainerResourceMetricSource: { own: words("container name"), of: { target: "MetricTarget" } },
  MetricTarget: { own: words("averageUtilization averageValue type value") },
  ObjectMetricSource: {
    of: { metric: "MetricIdentifier", target: "MetricTarget" },
    shown: values("describedObject"),
  },
  MetricIdentifier: { own: ["name"], of: { selector: "LabelSelector" } },
  PodsMetricSource: { of: { metric: "MetricIdentifier", target: "MetricTarget" } },
  ResourceMetricSource: { own: ["name"], of: { target: "MetricTarget" } },
  ConfigMap: { own: words("apiVersion binaryData data immutable kind"), of: { metadata: "ObjectMeta" } },
  ServiceAccount: {
    own: words("apiVersion automountServiceAccountToken kind"),
    of: { metadata: "ObjectMeta" },
    refused: words("imagePullSecrets secrets"),
  },
};
