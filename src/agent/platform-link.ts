import type { Attempt } from "../api-client/client.ts";
import { KEY_EXPIRES_HEADER } from "../contract/api-keys.ts";
import type { Clock } from "../kube/clock.ts";
import type { Reconcile } from "../kube/controller.ts";
import type { Logger } from "../kube/log.ts";
import type { Channel, LinkMetrics } from "./link-metrics.ts";
import { RETRY_AFTER_CAP_MS } from "./reconnect-rule.ts";

export interface PlatformLinkOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: LinkMetrics;
}

/** Ends of a connection that had worked, seen from here. */
const CLOSED_CODES: ReadonlySet<string> = new Set(["TRUNCATED_RESPONSE"]);

/**
 * What is known of the connection to the platform, from every attempt of the client. It being away is no failure of
 * this process: it is logged once, shown in metrics, and healed by trying.
 */
export class PlatformLink {
  readonly #options: PlatformLinkOptions;
  readonly #recovered = new Set<() => void>();
  /** Undefined before the first attempt. */
  readonly #connected = new Map<Channel, boolean>();
  #heldUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: PlatformLinkOptions) {
    this.#options = options;
  }

  /** Called each time the platform answers again after it did not. */
  onRecovered(listener: () => void): void {
    this.#recovered.add(listener);
  }

  /** For the client's `observe`. */
  readonly observe = (attempt: Attempt): void => {
    const { metrics, clock } = this.#options;
    metrics.attempted(attempt);
    this.#readHeaders(attempt);
    const channel: Channel = attempt.route === "work" ? "work" : "sync";
    if (attempt.retryAfterMs !== undefined) {
      this.#heldUntilMs = clock.monotonicMs() + Math.min(attempt.retryAfterMs, RETRY_AFTER_CAP_MS);
    }
    // Any word of the platform's own is a connection, also a refusal; a key that it does not take is none.
    const isConnected = attempt.status !== 0 && attempt.status < 500 && attempt.status !== 401;
    const before = this.#connected.get(channel);
    this.#connected.set(channel, isConnected);
    if (isConnected && before !== true) this.#found(channel, before === false);
    if (!isConnected && before !== false) this.#lost(channel, attempt);
  };

  /** Milliseconds for which the platform has asked to be left alone (`Retry-After`); 0: it may be called. */
  heldForMs(): number {
    return Math.max(0, this.#heldUntilMs - this.#options.clock.monotonicMs());
  }

  /** `reconcile`, put off while the platform wants to be left alone. */
  politely(reconcile: Reconcile): Reconcile {
    return async (key, context) => {
      const heldMs = this.heldForMs();
      return heldMs > 0 ? { requeueAfterMs: heldMs } : await reconcile(key, context);
    };
  }

  #readHeaders({ status, header }: Attempt): void {
    const { metrics, clock } = this.#options;
    const date = Date.parse(header("date") ?? "");
    // It is cut to the second, so half of one is missing on average.
    if (!Number.isNaN(date)) metrics.clockSkew((date + 500 - clock.wallNow().getTime()) / 1_000);
    if (status < 200 || status >= 300) return;
    const expiresAt = new Date(header(KEY_EXPIRES_HEADER) ?? "");
    metrics.keyExpires(Number.isNaN(expiresAt.getTime()) ? undefined : expiresAt);
  }

  #found(channel: Channel, again: boolean): void {
    const { metrics, clock, log } = this.#options;
    metrics.connection(channel, "connected", clock.wallNow());
    log.info({ channel }, "connected to the platform");
    if (again && channel === "sync") for (const listener of this.#recovered) listener();
  }

  #lost(channel: Channel, { code, status, area, route }: Attempt): void {
    const { metrics, clock, log } = this.#options;
    metrics.connection(channel, CLOSED_CODES.has(code ?? "") ? "closed" : "failed", clock.wallNow());
    log.warn({ channel, code, status, route: `${area}.${route}` }, "the platform does not answer; work here goes on");
  }
}
