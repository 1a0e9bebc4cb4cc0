import type { ContainerConfig, WorkerConfig } from "../../../contract/stacks/workload-config.ts";
import type { Manifest } from "../../../crds/manifest.ts";
import type { Environment } from "./environment.ts";
import { isStateful, type PodTemplate, podTemplate, type WorkloadConfig } from "./pod-template.ts";
import { lastingLabels, type ReleaseIdentity, releaseLabels, selectorOf } from "./release-labels.ts";

type ScaledConfig = ContainerConfig | WorkerConfig;

/** One object without what all of a resource's have in common: its name, namespace and labels. */
interface Bare {
  readonly apiVersion: string;
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** Everything that a container, a worker or a daemon is in a cluster; all bear the resource's id as their name. */
export function workloadObjects(
  identity: ReleaseIdentity,
  namespace: string,
  config: WorkloadConfig,
  environment: Environment,
): readonly Manifest[] {
  const labels = releaseLabels(identity, config.id);
  return bareObjects(identity, config, environment).map(({ apiVersion, kind, ...rest }) => ({
    ...{ apiVersion, kind },
    metadata: { name: config.id, namespace, labels },
    ...rest,
  }));
}

function bareObjects(identity: ReleaseIdentity, config: WorkloadConfig, environment: Environment): readonly Bare[] {
  const template = podTemplate(identity, config, environment);
  const selector = { matchLabels: selectorOf(identity, config.id) };
  const account = { apiVersion: "v1", kind: "ServiceAccount", automountServiceAccountToken: false };
  if (config.type === "daemon") {
    const updateStrategy = daemonUpdate(config.update);
    return [account, { apiVersion: "apps/v1", kind: "DaemonSet", spec: { selector, template, ...updateStrategy } }];
  }
  const workload = scaledWorkload(identity, config, selector, template);
  const { replicas = 1, autoscale } = config;
  return [
    account,
    workload,
    ...(config.type === "container" ? serviceOf(config, selector.matchLabels) : []),
    ...(replicas > 1 || autoscale !== undefined ? [disruptionBudget(selector)] : []),
    ...(autoscale === undefined ? [] : [autoscaler(config.id, workload, autoscale)]),
  ];
}

function scaledWorkload(
  identity: ReleaseIdentity,
  config: ScaledConfig,
  selector: object,
  template: PodTemplate,
): Bare {
  if (config.type === "worker" && config.schedule !== undefined) return cronJob(config.schedule, template);
  // With autoscale the number is the autoscaler's to write.
  const scale = config.autoscale === undefined ? { replicas: config.replicas ?? 1 } : {};
  if (isStateful(config)) {
    const spec = {
      ...{ ...scale, selector, template, serviceName: config.id },
      // In order, a copy that never becomes ready would keep the former template from being put back.
      podManagementPolicy: "Parallel",
      volumeClaimTemplates: claimsOf(identity, config),
    };
    return { apiVersion: "apps/v1", kind: "StatefulSet", spec };
  }
  const { progressDeadlineSeconds, ...rollingUpdate } = config.update ?? {};
  const strategy = { type: "RollingUpdate", rollingUpdate };
  const isPaced = Object.keys(rollingUpdate).length > 0;
  const spec = { ...scale, selector, template, progressDeadlineSeconds, ...(isPaced && { strategy }) };
  return { apiVersion: "apps/v1", kind: "Deployment", spec };
}

/** In UTC, wherever the cluster is; a run that takes longer than the interval is not joined by another. */
function cronJob(schedule: string, { metadata, spec }: PodTemplate): Bare {
  const template = { metadata, spec: { ...spec, restartPolicy: "Never" } };
  return {
    ...{ apiVersion: "batch/v1", kind: "CronJob" },
    spec: { schedule, timeZone: "Etc/UTC", concurrencyPolicy: "Forbid", jobTemplate: { spec: { template } } },
  };
}

/** A StatefulSet takes no other claims later: only what lasts is in them. */
function claimsOf(identity: ReleaseIdentity, { id, volumes = [] }: ScaledConfig): readonly object[] {
  return volumes
    .filter(({ persistent }) => persistent === true)
    .map(({ name, size }) => ({
      metadata: { name, labels: lastingLabels(identity, id) },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: size } } },
    }));
}

/** One of both has to be 0, and the API server's own default is 1 unavailable. */
function daemonUpdate({ maxUnavailable, maxSurge }: WorkloadConfig["update"] = {}): object {
  if (maxUnavailable === undefined && maxSurge === undefined) return {};
  const isSurging = maxSurge !== undefined && maxSurge !== 0 && maxSurge !== "0%";
  const rollingUpdate = { maxSurge, ...(isSurging ? { maxUnavailable: maxUnavailable ?? 0 } : { maxUnavailable }) };
  return { updateStrategy: { type: "RollingUpdate", rollingUpdate } };
}

/** Only inside of the cluster: who leads from outside to it is the customer. Names of copies need one without an address. */
function serviceOf(config: ContainerConfig, selector: object): readonly Bare[] {
  const { ports = [] } = config;
  if (ports.length === 0 && !isStateful(config)) return [];
  const spec = {
    selector,
    ...(isStateful(config) ? { clusterIP: "None" } : { type: "ClusterIP" }),
    ...(ports.length > 0 && { ports: ports.map(servicePort) }),
  };
  return [{ apiVersion: "v1", kind: "Service", spec }];
}

/** A name of ours begins with a digit, so that it is none of the author's. */
function servicePort({ name, port, protocol = "TCP" }: NonNullable<ContainerConfig["ports"]>[number]): object {
  return { name: name ?? `${port}-${protocol.toLowerCase()}`, port, targetPort: port, protocol };
}

/** One copy at a time may be evicted, and one that does not run keeps no node from being emptied. */
function disruptionBudget(selector: object): Bare {
  const spec = { selector, maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow" };
  return { apiVersion: "policy/v1", kind: "PodDisruptionBudget", spec };
}

function autoscaler(
  name: string,
  { apiVersion, kind }: Bare,
  { min, max, cpuPercent }: NonNullable<ScaledConfig["autoscale"]>,
): Bare {
  const target = { type: "Utilization", averageUtilization: cpuPercent };
  return {
    ...{ apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler" },
    spec: {
      scaleTargetRef: { apiVersion, kind, name },
      ...{ minReplicas: min, maxReplicas: max, metrics: [{ type: "Resource", resource: { name: "cpu", target } }] },
    },
  };
}
