import { isRecord } from "../../../base/is-record.ts";
import type { Stack } from "../../../contract/deployments/stack.ts";
import { quantity } from "../../../contract/stacks/quantity.ts";
import { enabledResources } from "../releases/record/resources.ts";

/** The needs of one copy of a compute resource, and the number of copies. */
export interface Workload {
  readonly id: string;
  readonly pool: string;
  readonly replicas: number;
  readonly cpu: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly architecture: "arm64" | "x86_64" | undefined;
  readonly gpu: { readonly type: string; readonly count: number } | undefined;
}

const COMPUTE_TYPES: readonly unknown[] = ["container", "worker", "daemon"];
const DEFAULT_POOL = "default";

/** The enabled compute resources of a stack. A need that the resource does not state counts as zero. */
export function workloadsOf(stack: Stack): readonly Workload[] {
  return enabledResources(stack)
    .filter(({ config }) => COMPUTE_TYPES.includes(config.type))
    .map(({ id, config }) => toWorkload(id, config));
}

function toWorkload(id: string, config: Readonly<Record<string, unknown>>): Workload {
  const { pool, architecture, gpu } = config;
  return {
    id,
    pool: typeof pool === "string" && pool !== "" ? pool : DEFAULT_POOL,
    replicas: wholeNumber(config.replicas) ?? 1,
    cpu: quantity(mostOf(config.cpu)) ?? 0,
    memoryBytes: quantity(config.memoryBytes ?? mostOf(config.memory)) ?? 0,
    diskBytes: quantity(config.ephemeralStorageBytes ?? config.ephemeralStorage) ?? 0,
    architecture: architecture === "arm64" || architecture === "x86_64" ? architecture : undefined,
    gpu: isGpu(gpu) ? gpu : undefined,
  };
}

/** Machines are planned for what a workload may use, and not for its least. */
function mostOf(need: unknown): unknown {
  return isRecord(need) ? need.desired : need;
}

function wholeNumber(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}

function isGpu(value: unknown): value is { type: string; count: number } {
  if (typeof value !== "object" || value === null) return false;
  const { type, count } = value as Readonly<Record<string, unknown>>;
  return typeof type === "string" && Number.isSafeInteger(count) && Number(count) > 0;
}
