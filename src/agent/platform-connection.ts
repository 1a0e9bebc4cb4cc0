import type { Attempt } from "../api-client/client.ts";
import { RuntimeKey } from "../api-client/runtime-key.ts";
import { clientOf } from "../api-client/table-client.ts";
import { undiciTransport } from "../api-client/undici-transport.ts";
import { type Clock, systemRandom } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { type Environment, proxyFor } from "../kube/client/proxy.ts";
import type { AgentConfig } from "./kernel/config.ts";
import type { AgentMetrics } from "./kernel/metrics.ts";
import { PlatformLink } from "./platform-link/platform-link.ts";
import { type Trouble, troubleOf } from "./platform-link/platform-trouble.ts";
import { AGENT_ROUTES, type Platform } from "./platform-link/routes.ts";

export interface PlatformConnection {
  readonly platform: Platform;
  readonly link: PlatformLink;
}

const FIX = "mount a valid one; it is read again when it changes";

/** The platform's client with the key that may change, watched by a link. Opens no socket yet: the first call does. */
export function connectPlatform(
  config: Pick<AgentConfig, "platformUrl" | "runtimeKeyFile" | "runtimeKeyOverlapMs">,
  tools: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly metrics: AgentMetrics;
    readonly userAgent: string;
    readonly environment: Environment;
  },
): PlatformConnection {
  const { clock, log, metrics, userAgent, environment } = tools;
  const { platformUrl } = config;
  // Go's rules, as on the way to the API server: a NO_PROXY with a CIDR range means the same for both.
  const proxy = proxyFor(new URL(platformUrl), environment);
  const explain = (attempt: Attempt): Promise<Trouble> => troubleOf(attempt, { platformUrl, proxy }, clock);
  const link = new PlatformLink({ clock, random: systemRandom, log, metrics, explain });
  let hasKey = false;
  const credential = new RuntimeKey({
    file: config.runtimeKeyFile,
    overlapMs: config.runtimeKeyOverlapMs,
    clock,
    reloaded(result, detail) {
      metrics.keyReloaded(result);
      hasKey ||= result === "changed";
      if (hasKey) log[result === "failed" ? "warn" : "info"]({ result, detail }, "runtime key file read");
      else link.cannotAsk({ reason: "KeyRefused", message: `the runtime key file gives no key (${detail}): ${FIX}` });
    },
  });
  // No retries here: every caller is a loop with a rule of its own.
  const transport = undiciTransport(proxy ?? "direct");
  const common = { baseUrl: platformUrl, transport, credential, userAgent, clock };
  const options = { ...common, retries: 0, observe: link.observe };
  return { platform: clientOf(AGENT_ROUTES, options), link };
}
