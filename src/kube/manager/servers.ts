import type { Registry } from "prom-client";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { MetricsServing } from "../../base/metrics-settings.ts";
import type { Client } from "../client/client.ts";
import { MetricsServer } from "../serving/metrics-server.ts";
import { ReaderAccess } from "../serving/reader-access.ts";
import { HealthServer } from "./health.ts";

export interface ServerSettings extends MetricsServing {
  readonly healthHost: string;
  readonly healthPort: number;
}

export interface ServerTools {
  readonly client: Pick<Client, "tokenReview" | "subjectAccessReview">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

/** What a process listens with, as it is configured. Without TLS the metrics are on the health port, in plain HTTP. */
export function processServers(
  { healthHost: host, healthPort, metricsTlsFolder: folder, metricsPort, metricsAuth }: ServerSettings,
  tools: ServerTools,
): { readonly health: HealthServer; readonly metrics?: MetricsServer } {
  const { registry } = tools;
  if (folder === "") return { health: new HealthServer({ port: healthPort, host, registry }) };
  const access = metricsAuth === "token" ? new ReaderAccess(tools) : undefined;
  return {
    health: new HealthServer({ port: healthPort, host }),
    metrics: new MetricsServer({ ...tools, folder, port: metricsPort, host, access }),
  };
}
