import { collectDefaultMetrics, Registry } from "prom-client";
import { debugGauges } from "../../../src/agent/kernel/debug-metrics.ts";
import { machineGauges } from "../../../src/agent/kernel/machine-metrics.ts";
import { agentMetrics, deploymentsGauge } from "../../../src/agent/kernel/metrics.ts";
import { rightsGauge as agentRights } from "../../../src/agent/rights.ts";
import { buildInfo } from "../../../src/cli/services/process-metrics.ts";
import { ROUTES } from "../../../src/contract/table.ts";
import { MUTATING_POLICIES, VALIDATING_POLICIES } from "../../../src/crds/manifests/admission/admission.ts";
import { DEBUG_VALIDATING_POLICIES } from "../../../src/crds/manifests/admission/debug-admission.ts";
import { joinMetrics as joinServerMetrics } from "../../../src/join/kernel/metrics.ts";
import { kubeMetrics } from "../../../src/kube/metrics/kube-metrics.ts";
import { drainMetrics } from "../../../src/machine-controller/kernel/drain-metrics.ts";
import { joinMetrics } from "../../../src/machine-controller/kernel/join-metrics.ts";
import { rightsGauge as operatorRights } from "../../../src/operator/access/rights.ts";
import { debugMetrics } from "../../../src/operator/kernel/debug-metrics.ts";
import { operatorMetrics } from "../../../src/operator/kernel/metrics.ts";
import { rolloutMetrics } from "../../../src/operator/kernel/rollout-metrics.ts";
import { SWEEP_NAMES } from "../../../src/platform/areas/sweeps.ts";
import { NON_API_ROUTES } from "../../../src/platform/http/non-api-routes.ts";
import { platformMetrics } from "../../../src/platform/kernel/metrics/metrics.ts";
import { tunnelMetrics } from "../../../src/tunnel/kernel/metrics.ts";

export const COMPONENTS = ["agent", "operator", "tunnel", "join", "machine-controller", "platform"] as const;
export type Component = (typeof COMPONENTS)[number];

/** One metric as the code declares it. */
export interface CatalogueMetric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly help: string;
  /** Labels, with the values that exist from the start; an empty list: values appear when they are first used. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  readonly components: readonly Component[];
  /** Of the process itself, by prom-client: `process_…` and `nodejs_…`. */
  readonly isDefault: boolean;
}

/**
 * Every metric of every process, read from the registries in which the code declares them, so that no second list can
 * differ. Every series begins at 0, so the registries also know the labels' values.
 */
export async function metricCatalogue(): Promise<readonly CatalogueMetric[]> {
  const found = new Map<string, CatalogueMetric>();
  for (const component of COMPONENTS) {
    const [own, defaults] = [registryOf(component), new Registry()];
    collectDefaultMetrics({ register: defaults });
    const all = [...(await declaredIn(own, false)), ...(await declaredIn(defaults, true))];
    for (const metric of all) {
      const before = found.get(metric.name)?.components ?? [];
      found.set(metric.name, { ...metric, components: [...before, component] });
    }
  }
  return [...found.values()];
}

/** The names under which a scrape shows it. */
export function seriesNames({ name, type }: Pick<CatalogueMetric, "name" | "type">): readonly string[] {
  if (type === "histogram") return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
  return type === "summary" ? [name, `${name}_sum`, `${name}_count`] : [name];
}

function registryOf(component: Component): Registry {
  const registry = new Registry();
  buildInfo(registry, component, { version: "0.0.0", revision: "unknown" });
  if (component === "platform") {
    const table = Object.values(ROUTES).flatMap((area) => Object.values(area).map((route) => ({ route })));
    const endpoints = [...table, ...NON_API_ROUTES];
    const connections = () => ({ busy: 0, waiting: 0, most: 0 });
    platformMetrics(registry, { endpoints, sweeps: SWEEP_NAMES, connections });
    return registry;
  }
  kubeMetrics(registry);
  const now = () => new Date(0);
  if (component === "agent") {
    agentMetrics(registry, () => [], { heartbeatIntervalMs: 0 });
    agentRights(registry, () => []);
    deploymentsGauge(registry, () => []);
    debugGauges(registry, [], () => [], { wallNow: now });
    machineGauges(registry, () => [], { wallNow: now });
  } else if (component === "tunnel") {
    tunnelMetrics(registry);
  } else if (component === "join") {
    joinServerMetrics(registry);
  } else if (component === "machine-controller") {
    drainMetrics(registry, () => []);
    joinMetrics(
      registry,
      () => [],
      () => [],
    );
  } else {
    const { policies } = operatorMetrics(registry, { grants: () => [], isLeader: () => false, now });
    const known = [...VALIDATING_POLICIES, ...MUTATING_POLICIES, ...DEBUG_VALIDATING_POLICIES];
    const none = Object.fromEntries(known.map((name) => [name, false]));
    policies({ presence: none, required: none });
    debugMetrics(registry);
    rolloutMetrics(registry, () => []);
    operatorRights(registry, () => []);
  }
  return registry;
}

async function declaredIn(registry: Registry, isDefault: boolean): Promise<readonly CatalogueMetric[]> {
  const families = await registry.getMetricsAsJSON();
  return families.map(({ name, help, type, values }) => {
    const declared: unknown = registry.getSingleMetric(name);
    const labels = labelNames(declared).map((label) => [label, valuesOf(label, values)] as const);
    return { name, help, type: wordOf(type), labels: Object.fromEntries(labels), components: [], isDefault };
  });
}

function labelNames(metric: unknown): readonly string[] {
  if (typeof metric !== "object" || metric === null || !("labelNames" in metric)) return [];
  return Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [];
}

function valuesOf(label: string, values: readonly { readonly labels: object }[]): readonly string[] {
  const all = values.flatMap(({ labels }) => Object.entries(labels).filter(([name]) => name === label));
  return [...new Set(all.map(([, value]) => String(value)))];
}

/** prom-client declares an enum and gives words. */
function wordOf(type: unknown): CatalogueMetric["type"] {
  const words = ["counter", "gauge", "histogram", "summary"] as const;
  const found = words.find((each) => each === type);
  if (found === undefined) throw new Error(`unknown type of metric: ${String(type)}`);
  return found;
}
