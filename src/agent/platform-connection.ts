import { clientOf } from "../api-client/table-client.ts";
import type { Clock } from "../kube/clock.ts";
import type { Logger } from "../kube/log.ts";
import type { AgentConfig } from "./config.ts";
import type { AgentMetrics } from "./metrics.ts";
import { PlatformLink } from "./platform-link.ts";
import { AGENT_ROUTES, type Platform } from "./routes.ts";
import { RuntimeKey } from "./runtime-key.ts";

export interface PlatformConnection {
  readonly platform: Platform;
  readonly link: PlatformLink;
}

/** The platform's client with the key that may change, watched by a link. Opens no socket yet: the first call does. */
export function connectPlatform(
  config: Pick<AgentConfig, "platformUrl" | "runtimeKeyFile" | "runtimeKeyOverlapMs">,
  tools: { readonly clock: Clock; readonly log: Logger; readonly metrics: AgentMetrics; readonly userAgent: string },
): PlatformConnection {
  const { clock, log, metrics, userAgent } = tools;
  const link = new PlatformLink({ clock, log, metrics });
  const credential = new RuntimeKey({
    file: config.runtimeKeyFile,
    overlapMs: config.runtimeKeyOverlapMs,
    clock,
    reloaded(result, detail) {
      metrics.keyReloaded(result);
      log[result === "failed" ? "warn" : "info"]({ result, detail }, "runtime key file read");
    },
  });
  // No retries here: every caller is a loop with a rule of its own.
  const options = { baseUrl: config.platformUrl, credential, userAgent, clock, retries: 0, observe: link.observe };
  return { platform: clientOf(AGENT_ROUTES, options), link };
}
