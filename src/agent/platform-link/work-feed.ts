import { ApiError } from "../../api-client/api-error.ts";
import { type Clock, type Random, sleep } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { LinkMetrics } from "./link-metrics.ts";
import type { ManagerIdentity } from "./manager-identity.ts";
import { isUnknownRoute } from "./platform-answer.ts";
import type { ReconnectRule } from "./reconnect-rule.ts";
import type { Platform } from "./routes.ts";

export interface WorkFeedOptions {
  readonly platform: Pick<Platform["managerRuntime"], "work">;
  readonly identity: Pick<ManagerIdentity, "resolve">;
  readonly clock: Clock;
  readonly random: Random;
  readonly rule: ReconnectRule;
  readonly log: Logger;
  readonly metrics: Pick<LinkMetrics, "backingOff">;
  /** Between reads when there is no feed. */
  readonly pollIntervalMs: number;
  /** Something of this topic changed for this deployment. Unknown topics are passed on too. */
  readonly changed: (topic: string, deploymentId: string) => void;
  /** Nothing is known: look at everything. */
  readonly relistAll: () => void;
}

/** Seconds that the platform may hold a poll: the contract's most, less what proxies with 30 s limits need. */
const WAIT_S = 25;
/** An empty answer this much before its time is a platform that drains, not one without news. */
const EARLY_MS = 2_000;
/** Keeps a platform that always has news from turning this into a hot loop; small beside the second a hint may take. */
const MIN_PAUSE_MS = 50;
/** With polling as the fallback, the feed is tried again every so many polls: platforms get upgraded. */
const POLLS_PER_PROBE = 20;
/** A deployment's part of a hint goes into queue keys; nothing longer is an id. */
const MAX_ID = 128;

/**
 * Listens for triggers on what changed at the platform. A trigger is only a hint: each one lost costs latency, up to the
 * next full resync. A platform without a feed (404) is polled.
 */
export class WorkFeed {
  readonly #options: WorkFeedOptions;
  #cursor: string | undefined;

  constructor(options: WorkFeedOptions) {
    this.#options = options;
  }

  /** Ends only by the abort. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics, rule } = this.#options;
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        pauseMs = await this.#poll(signal);
        metrics.backingOff("work", 0);
      } catch (error) {
        if (signal.aborted) return;
        if (isUnknownRoute(error)) {
          await this.#withoutFeed(signal).catch(ignoreAbort(signal));
          continue;
        }
        pauseMs = hasClosed(error) ? rule.closed() : rule.failed(error instanceof ApiError ? error.retryAfterMs : 0);
        metrics.backingOff("work", pauseMs / 1_000);
        log.debug({ err: error, delayMs: pauseMs }, "work feed interrupted");
      }
      await sleep(clock, pauseMs, signal).catch(ignoreAbort(signal));
    }
  }

  /** One long-poll. Returns the pause before the next one. */
  async #poll(signal: AbortSignal): Promise<number> {
    const { platform, identity, clock, rule, changed } = this.#options;
    const id = await identity.resolve(signal);
    const startMs = clock.monotonicMs();
    // Without a cursor the answer is all that is open now, so there is nothing to wait for.
    const query = this.#cursor === undefined ? { wait: 0 } : { wait: WAIT_S, cursor: this.#cursor };
    const { cursor, topics } = await platform.work({ params: { id }, query }, signal);
    rule.connected();
    const list: readonly unknown[] = Array.isArray(topics) ? topics : [];
    for (const each of list) if (isHint(each)) changed(each.topic, each.deploymentId);
    const endedEarly = list.length === 0 && query.wait > 0 && clock.monotonicMs() - startMs < WAIT_S * 1_000 - EARLY_MS;
    this.#cursor = typeof cursor === "string" ? cursor : undefined;
    return endedEarly ? rule.closed() : MIN_PAUSE_MS;
  }

  async #withoutFeed(signal: AbortSignal): Promise<void> {
    const { clock, random, log, pollIntervalMs, relistAll } = this.#options;
    this.#cursor = undefined;
    log.info({ pollIntervalMs }, "the platform has no work feed; polling");
    for (let polls = 0; polls < POLLS_PER_PROBE; polls += 1) {
      relistAll();
      await sleep(clock, pollIntervalMs * (0.9 + 0.2 * random()), signal);
    }
  }
}

function isHint(value: unknown): value is { readonly topic: string; readonly deploymentId: string } {
  if (typeof value !== "object" || value === null || !("topic" in value) || !("deploymentId" in value)) return false;
  const { topic, deploymentId } = value;
  return typeof topic === "string" && typeof deploymentId === "string" && deploymentId.length <= MAX_ID;
}

/** The server ended an open connection: it restarts, and all of its clients reconnect at once. */
function hasClosed(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.code === "TRUNCATED_RESPONSE" || /\b(UND_ERR_SOCKET|ECONNRESET)$/.test(error.message))
  );
}

function ignoreAbort(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error;
  };
}
