import { RuntimeKey } from "../api-client/runtime-key.ts";
import { clientOf } from "../api-client/table-client.ts";
import { undiciTransport } from "../api-client/undici-transport.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { type Environment, proxyFor } from "../kube/client/proxy.ts";
import type { JoinConfig } from "./kernel/config.ts";
import type { JoinMetrics } from "./kernel/metrics.ts";
import { JOIN_ROUTES, type Platform } from "./kernel/routes.ts";

/** A machine waits for the answer. */
const TIMEOUT_MS = 15_000;

/** The platform's client with the key that may change. Opens no socket yet: the first call does. */
export function connectPlatform(
  { platformUrl: baseUrl, runtimeKeyFile: file, runtimeKeyOverlapMs: overlapMs }: JoinConfig,
  tools: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly metrics: Pick<JoinMetrics, "keyReloaded">;
    readonly userAgent: string;
    readonly environment: Environment;
  },
): Platform {
  const { clock, log, metrics, userAgent, environment } = tools;
  const credential = new RuntimeKey({
    file,
    overlapMs,
    clock,
    reloaded(result, detail) {
      metrics.keyReloaded(result);
      log[result === "failed" ? "warn" : "info"]({ result, detail }, "runtime key file read");
    },
  });
  const transport = undiciTransport(proxyFor(new URL(baseUrl), environment) ?? "direct");
  // No retries here: a machine asks again by itself, and the reports are a loop.
  return clientOf(JOIN_ROUTES, { baseUrl, transport, credential, userAgent, clock, retries: 0, timeoutMs: TIMEOUT_MS });
}
