import type { Registry } from "prom-client";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { Client } from "../kube/client/client.ts";
import { connect } from "../kube/client/connection.ts";
import type { Environment } from "../kube/client/proxy.ts";
import { Manager } from "../kube/manager/manager.ts";
import { processServers } from "../kube/manager/servers.ts";
import { kubeMetrics } from "../kube/metrics/kube-metrics.ts";
import { TrustedAuthorities } from "../kube/serving/trusted-authorities.ts";
import type { TunnelConfig } from "./kernel/config.ts";
import { tunnelMetrics } from "./kernel/metrics.ts";
import { connectPlatform } from "./platform-connection.ts";

export interface TunnelTools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** Reported to the platform. */
  readonly version?: string;
  /** Where HTTP_PROXY, HTTPS_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS are read from. Default: none of them. */
  readonly environment?: Environment;
}

const NAME = "sallyport-tunnel";

/**
 * Runs the tunnel until `signal` aborts, then stops it in order. It opens all connections itself: to the platform and
 * to the API server.
 */
export async function runTunnel(config: TunnelConfig, tools: TunnelTools, signal: AbortSignal): Promise<void> {
  const { clock, log, registry, version = "unknown", environment = {} } = tools;
  const where = config.kubeconfig === "" ? ({ inCluster: true } as const) : { kubeconfig: config.kubeconfig };
  const connection = await connect({ ...where, userAgent: NAME }, clock);
  const client = new Client(connection, { clock, metrics: kubeMetrics(registry).client });
  const metrics = tunnelMetrics(registry);
  const userAgent = `${NAME}/${version}`;
  const { platform } = connectPlatform(config, { clock, log, metrics, userAgent, environment });
  try {
    const manager = new Manager({ clock, log, ...processServers(config, { client, clock, log, registry }) });
    const { NODE_EXTRA_CA_CERTS: file } = environment;
    if (file) manager.addRunnable(new TrustedAuthorities(file, { clock, log }));
    await manager.run(signal);
  } finally {
    await Promise.all([platform.close(), connection.close()]);
  }
}
