import type { ContainerConfig, DaemonConfig, Need, WorkerConfig } from "../../../contract/stacks/workload-config.ts";
import type { Environment } from "./environment.ts";
import { lastingLabels, type ReleaseIdentity } from "./release-labels.ts";

export type WorkloadConfig = ContainerConfig | WorkerConfig | DaemonConfig;
type Probe = NonNullable<NonNullable<WorkloadConfig["probes"]>["readiness"]>;

/** A pod whose configuration has changed is replaced. */
const CONFIG_HASH_ANNOTATION = "sallyport.dev/config-hash";

/** A new volume belongs to root: by this group a process that is not root can write to it, as any user. */
const VOLUME_GROUP = 65_532;

export interface PodTemplate {
  readonly metadata: object;
  readonly spec: object;
}

/**
 * The pod of a workload, as Pod Security `restricted` takes it. What differs from release to release only in words, such
 * as the version, is not in it: every difference replaces the pod.
 */
export function podTemplate(identity: ReleaseIdentity, config: WorkloadConfig, environment: Environment): PodTemplate {
  return {
    metadata: {
      labels: lastingLabels(identity, config.id),
      annotations: { [CONFIG_HASH_ANNOTATION]: environment.hash },
    },
    spec: {
      serviceAccountName: config.id,
      automountServiceAccountToken: config.automountServiceAccountToken ?? false,
      // Else each Service of the namespace adds variables, which differ from customer to customer.
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
        ...(isStateful(config) && { fsGroup: VOLUME_GROUP, fsGroupChangePolicy: "OnRootMismatch" }),
      },
      containers: [containerOf(config, environment)],
      ...volumesOf(config),
      ...(config.type === "daemon" && { tolerations: config.tolerations }),
    },
  };
}

/** Whether copies keep data of their own. */
export function isStateful({ volumes = [] }: WorkloadConfig): boolean {
  return volumes.some(({ persistent }) => persistent === true);
}

function containerOf(config: WorkloadConfig, { env, envFrom }: Environment): object {
  const { cpu, memory, probes = {}, volumes = [] } = config;
  const overridden = new Set(env.map(({ name }) => name));
  // The deployment's own come first: the author's may refer to them, and only to what stands before.
  const all = [...env, ...(config.env ?? []).filter(({ name }) => !overridden.has(name))];
  return {
    name: config.id,
    image: config.image,
    command: config.command,
    args: config.args,
    ...(all.length > 0 && { env: all }),
    ...(envFrom.length > 0 && { envFrom }),
    ...(config.type === "container" && { ports: config.ports?.map(containerPort) }),
    ...(cpu === undefined && memory === undefined ? {} : { resources: resourcesOf(cpu, memory) }),
    readinessProbe: probes.readiness && probeOf(probes.readiness),
    livenessProbe: probes.liveness && probeOf(probes.liveness),
    startupProbe: probes.startup && probeOf(probes.startup),
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    ...(volumes.length > 0 && { volumeMounts: volumes.map(({ name, mountPath }) => ({ name, mountPath })) }),
  };
}

/** Without its name, which a container's port may not have in every form that a Service's may. */
function containerPort({ port, protocol = "TCP" }: { readonly port: number; readonly protocol?: string }): object {
  return { containerPort: port, protocol };
}

/**
 * Memory is a limit too, because what one takes is gone for the others; cpu is shared out again when it is short, unless
 * the stack says up to how much.
 */
function resourcesOf(cpu: Need | undefined, memory: Need | undefined): object {
  const requests = { cpu: leastOf(cpu), memory: leastOf(memory) };
  const limits = {
    ...(typeof cpu === "object" && { cpu: cpu.desired }),
    ...(memory !== undefined && { memory: typeof memory === "object" ? memory.desired : memory }),
  };
  return { requests, ...(Object.keys(limits).length > 0 && { limits }) };
}

function leastOf(need: Need | undefined): string | undefined {
  return typeof need === "object" ? need.min : need;
}

function probeOf({ path, port, command, ...times }: Probe): object {
  if (command !== undefined) return { exec: { command }, ...times };
  return path === undefined ? { tcpSocket: { port }, ...times } : { httpGet: { path, port }, ...times };
}

function volumesOf({ volumes = [] }: WorkloadConfig): object {
  const passing = volumes.filter(({ persistent }) => persistent !== true);
  if (passing.length === 0) return {};
  return { volumes: passing.map(({ name, size }) => ({ name, emptyDir: { ...(size && { sizeLimit: size }) } })) };
}
