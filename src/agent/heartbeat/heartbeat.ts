import { ApiError } from "../../api-client/api-error.ts";
import { type Clock, type Random, sleep } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { ROUTES } from "../../contract/table.ts";
import type { BodyOf } from "../../contract/wire/route.ts";
import type { AgentMetrics } from "../kernel/metrics.ts";
import type { ManagerIdentity } from "../platform-link/manager-identity.ts";
import type { ReconnectRule } from "../platform-link/reconnect-rule.ts";
import type { Platform } from "../platform-link/routes.ts";

export type HeartbeatBody = BodyOf<(typeof ROUTES)["managerRuntime"]["heartbeat"]>;

export interface HeartbeatOptions {
  readonly platform: Pick<Platform["managerRuntime"], "heartbeat">;
  readonly identity: Pick<ManagerIdentity, "resolve">;
  readonly clock: Clock;
  readonly random: Random;
  readonly rule: ReconnectRule;
  readonly log: Logger;
  readonly metrics: Pick<AgentMetrics, "heartbeat" | "backingOff">;
  readonly intervalMs: number;
  /** What to say now. */
  readonly body: () => HeartbeatBody;
}

/** Spread of the interval, so that agents installed together do not beat together. */
const JITTER = 0.1;

/** Tells the platform that this manager lives. Nothing waits for it, and its failures are only counted. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Ends only by the abort. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, intervalMs, log, rule, metrics } = this.#options;
    while (!signal.aborted) {
      let pauseMs = intervalMs * (1 + JITTER * (2 * random() - 1));
      const startMs = clock.monotonicMs();
      try {
        await this.#send(signal);
        rule.connected();
        metrics.backingOff("sync", 0);
      } catch (error) {
        if (signal.aborted) return;
        pauseMs = rule.failed(error instanceof ApiError ? error.retryAfterMs : 0);
        metrics.backingOff("sync", pauseMs / 1_000);
        metrics.heartbeat("failed", (clock.monotonicMs() - startMs) / 1_000, clock.wallNow());
        log.debug({ err: error, delayMs: pauseMs }, "heartbeat failed");
      }
      await sleep(clock, pauseMs, signal).catch(() => undefined);
    }
  }

  async #send(signal: AbortSignal): Promise<void> {
    const { platform, identity, clock, metrics, body } = this.#options;
    const id = await identity.resolve(signal);
    const startMs = clock.monotonicMs();
    await platform.heartbeat({ params: { id }, body: body() }, signal);
    metrics.heartbeat("ok", (clock.monotonicMs() - startMs) / 1_000, clock.wallNow());
  }
}
