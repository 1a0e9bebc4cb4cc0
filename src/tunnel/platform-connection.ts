import { Agent } from "node:https";
import { type Dispatcher, EnvHttpProxyAgent } from "undici";
import { RuntimeKey } from "../api-client/runtime-key.ts";
import { clientOf } from "../api-client/table-client.ts";
import { undiciTransport } from "../api-client/undici-transport.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { type Environment, proxyFor } from "../kube/client/proxy.ts";
import type { TunnelConfig } from "./kernel/config.ts";
import type { TunnelMetrics } from "./kernel/metrics.ts";
import { type Platform, TUNNEL_ROUTES } from "./kernel/routes.ts";

export interface PlatformConnection {
  readonly platform: Platform;
  /** For the WebSocket, where there is a proxy. */
  readonly proxyAgent: Agent | undefined;
  /** The way to the platform's storage, which may be on another host, by the same proxy settings. */
  readonly storage: Dispatcher;
  close(): Promise<void>;
}

/** The platform's client with the key that may change. Opens no socket yet: the first call does. */
export function connectPlatform(
  config: Pick<TunnelConfig, "platformUrl" | "runtimeKeyFile" | "runtimeKeyOverlapMs">,
  tools: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly metrics: Pick<TunnelMetrics, "keyReloaded">;
    readonly userAgent: string;
    readonly environment: Environment;
  },
): PlatformConnection {
  const { clock, log, metrics, userAgent, environment } = tools;
  const { platformUrl: baseUrl, runtimeKeyFile: file, runtimeKeyOverlapMs: overlapMs } = config;
  const proxy = proxyFor(new URL(baseUrl), environment);
  const credential = new RuntimeKey({
    file,
    overlapMs,
    clock,
    reloaded(result, detail) {
      metrics.keyReloaded(result);
      log[result === "failed" ? "warn" : "info"]({ result, detail }, "runtime key file read");
    },
  });
  // No retries here: every caller is a loop with a rule of its own.
  const transport = undiciTransport(proxy ?? "direct");
  const options = { baseUrl, transport, credential, userAgent, clock, retries: 0 };
  const platform = clientOf(TUNNEL_ROUTES, options);
  const storage = storageDispatcher(environment);
  const proxyAgent =
    proxy === undefined ? undefined : new Agent({ proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } });
  return {
    ...{ platform, proxyAgent, storage },
    async close() {
      proxyAgent?.destroy();
      await Promise.all([platform.close(), storage.destroy()]);
    },
  };
}

function storageDispatcher(environment: Environment): Dispatcher {
  const httpProxy = environment.http_proxy ?? environment.HTTP_PROXY ?? "";
  const httpsProxy = environment.https_proxy ?? environment.HTTPS_PROXY ?? "";
  const noProxy = environment.no_proxy ?? environment.NO_PROXY ?? "";
  return new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy, allowH2: false });
}
