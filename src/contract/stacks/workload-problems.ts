import { quantity } from "./quantity.ts";
import type { StackProblem } from "./stack-problem.ts";
import type { ContainerConfig, DaemonConfig, WorkerConfig } from "./workload-config.ts";

export type WorkloadConfig = ContainerConfig | WorkerConfig | DaemonConfig;

/** Keys of another type: the config keeps unknown ones, and these would look as if they did something. */
const FOREIGN = {
  container: ["schedule", "triggers", "tolerations"],
  worker: ["ports", "tolerations"],
  daemon: ["ports", "replicas", "autoscale", "schedule", "triggers"],
} as const;

/** What the schema cannot say of one workload. */
export function* workloadProblems(config: WorkloadConfig, path: string): Generator<StackProblem> {
  for (const key of FOREIGN[config.type]) {
    if (Object.hasOwn(config, key)) yield { path: `${path}.${key}`, message: `is not for a ${config.type}` };
  }
  yield* twice(config.env ?? [], ({ name }) => name, `${path}.env`, "name");
  yield* probeProblems(config, path);
  yield* volumeProblems(config, path);
  yield* updateProblems(config, path);
  yield* needProblems(config, path);
  if (config.type !== "daemon") yield* scaleProblems(config, path);
  if (config.type === "container") {
    const ports = config.ports ?? [];
    yield* twice(ports, ({ port, protocol }) => `${port} ${protocol ?? "TCP"}`, `${path}.ports`, "port");
    yield* twice(ports, ({ name }) => name, `${path}.ports`, "name");
  }
}

/** Those whose key an earlier one has. */
function* twice<T>(
  all: readonly T[],
  keyOf: (each: T) => string | undefined,
  path: string,
  field: string,
): Generator<StackProblem> {
  const seen = new Set<string>();
  for (const [index, each] of all.entries()) {
    const key = keyOf(each);
    if (key === undefined) continue;
    if (seen.has(key)) yield { path: `${path}.${index}.${field}`, message: "is given twice" };
    seen.add(key);
  }
}

function* probeProblems({ probes = {} }: WorkloadConfig, path: string): Generator<StackProblem> {
  for (const [name, probe] of Object.entries(probes)) {
    const at = `${path}.probes.${name}`;
    if ((probe.port === undefined) === (probe.command === undefined)) {
      yield { path: at, message: "needs port or command, and not both" };
    } else if (probe.path !== undefined && probe.port === undefined) {
      yield { path: `${at}.path`, message: "needs a port" };
    }
  }
}

function* volumeProblems({ type, volumes = [] }: WorkloadConfig, path: string): Generator<StackProblem> {
  yield* twice(volumes, ({ name }) => name, `${path}.volumes`, "name");
  yield* twice(volumes, ({ mountPath }) => mountPath, `${path}.volumes`, "mountPath");
  for (const [index, { persistent, size }] of volumes.entries()) {
    if (persistent !== true) continue;
    const at = `${path}.volumes.${index}`;
    if (type !== "container") yield { path: `${at}.persistent`, message: `is not for a ${type}` };
    else if (size === undefined) yield { path: `${at}.size`, message: "is required of what is persistent" };
  }
}

function* needProblems(config: WorkloadConfig, path: string): Generator<StackProblem> {
  for (const name of ["cpu", "memory"] as const) {
    const need = config[name];
    if (typeof need !== "object" || (quantity(need.desired) ?? 0) >= (quantity(need.min) ?? 0)) continue;
    yield { path: `${path}.${name}.desired`, message: "is less than min" };
  }
}

function* updateProblems({ update }: WorkloadConfig, path: string): Generator<StackProblem> {
  const isNone = (share: number | string | undefined): boolean => share === 0 || share === "0%";
  if (isNone(update?.maxUnavailable) && isNone(update?.maxSurge)) {
    yield { path: `${path}.update`, message: "lets no copy be replaced: maxUnavailable and maxSurge are both 0" };
  }
}

function* scaleProblems(config: ContainerConfig | WorkerConfig, path: string): Generator<StackProblem> {
  const { replicas, autoscale, cpu } = config;
  if (config.type === "worker" && config.schedule !== undefined) {
    for (const key of ["replicas", "autoscale"] as const) {
      if (config[key] !== undefined) yield { path: `${path}.${key}`, message: "is not for what runs by a schedule" };
    }
  }
  if (autoscale === undefined) return;
  if (replicas !== undefined) yield { path: `${path}.replicas`, message: "is what autoscale decides: leave one out" };
  if (autoscale.min > autoscale.max) yield { path: `${path}.autoscale.min`, message: "is more than max" };
  if (cpu === undefined) yield { path: `${path}.cpu`, message: "is required: cpuPercent is a part of it" };
}
