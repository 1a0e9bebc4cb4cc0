import { readFile } from "node:fs/promises";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { version } from "../kernel/version-command.ts";

export interface Build {
  readonly version: string;
  /** Commit that the image was built from; `unknown` in a checkout. */
  readonly revision: string;
}

/** What the image's build wrote beside package.json. */
export async function buildOf(): Promise<Build> {
  const revision = await readFile(new URL("../../../revision", import.meta.url), "utf8").catch(() => "");
  return { version: await version(), revision: /^[0-9a-f]{7,64}$/.exec(revision.trim())?.[0] ?? "unknown" };
}

/**
 * The registry of one process, with the series that every process has: which build it is, and prom-client's own series
 * on CPU, memory, event loop and garbage collection. To be called once in a process: prom-client's observers never end.
 *
 * @param component `agent`, `operator` or `platform`.
 */
export function processRegistry(component: string, build: Build): Registry {
  const registry = new Registry();
  buildInfo(registry, component, build);
  // Samples the event loop every 100 ms. Ten wake-ups a second cost little, and the alert asks for delays of 0.5 s.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  return registry;
}

export function buildInfo(registry: Registry, component: string, { version, revision }: Build): void {
  const labels = { version, revision, node_version: process.versions.node };
  new Gauge({
    name: `sallyport_${component.replaceAll("-", "_")}_build_info`,
    help: "Which build is this? Always 1.",
    labelNames: Object.keys(labels),
    registers: [registry],
  }).set(labels, 1);
}
