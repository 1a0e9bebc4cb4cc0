import { ApiError } from "../../api-client/api-error.ts";
import type { Attempt } from "../../api-client/client.ts";
import type { Clock, Random } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { httpDateMs } from "../../base/peer-numbers.ts";
import { KEY_EXPIRES_HEADER } from "../../contract/api-keys/api-keys.ts";
import type { Reconcile } from "../../kube/controller/controller.ts";
import type { Channel, LinkMetrics } from "./link-metrics.ts";
import type { Trouble } from "./platform-trouble.ts";
import { RETRY_AFTER_CAP_MS } from "./reconnect-rule.ts";

export interface PlatformLinkOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  readonly metrics: LinkMetrics;
  /** Finds out why an attempt failed, in words for the operator of the installation. */
  readonly explain: (attempt: Attempt) => Promise<Trouble>;
}

/** Ends of a connection that had worked, seen from here. */
const CLOSED_CODES: ReadonlySet<string> = new Set(["TRUNCATED_RESPONSE"]);

/**
 * Each of what waits for the platform also looks for itself, so that a found platform is noticed within this or twice
 * it.
 */
const OUTAGE_RETRY_MS = 15_000;
/** Between two diagnoses of one outage: its cause may change while people work on it. */
const EXPLAIN_EVERY_MS = 30_000;

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
  readonly #troubled = new Set<() => void>();
  #trouble: Trouble | undefined;
  #explainedAtMs = Number.NEGATIVE_INFINITY;
  #isExplaining = false;

  constructor(options: PlatformLinkOptions) {
    this.#options = options;
  }

  /** Called each time the platform answers again after it did not. */
  onRecovered(listener: () => void): void {
    this.#recovered.add(listener);
  }

  /** What keeps us from the platform; undefined: nothing, or nothing is known yet. */
  get trouble(): Trouble | undefined {
    return this.#trouble;
  }

  /** Whether the platform has answered, by the last attempts. */
  get isConnected(): boolean {
    return this.#connected.size > 0 && [...this.#connected.values()].every(Boolean);
  }

  /** Called when {@link trouble} begins, changes or ends, and when the platform answers for the first time. */
  onTrouble(listener: () => void): void {
    this.#troubled.add(listener);
  }

  /** For the client's `observe`. */
  readonly observe = (attempt: Attempt): void => {
    const { metrics, clock } = this.#options;
    metrics.attempted(attempt);
    this.#readHeaders(attempt);
    const channel: Channel = attempt.route === "work" ? "work" : "sync";
    // A budget is one tenant's, as a deployment's: calls for others are served.
    if (attempt.retryAfterMs !== undefined && attempt.budget === undefined) {
      this.#heldUntilMs = clock.monotonicMs() + Math.min(attempt.retryAfterMs, RETRY_AFTER_CAP_MS);
    }
    // Any word of the platform's own is a connection, also a refusal; a key that it does not take is none.
    const isConnected = attempt.status !== 0 && attempt.status < 500 && attempt.status !== 401;
    const before = this.#connected.get(channel);
    this.#connected.set(channel, isConnected);
    if (isConnected && before !== true) this.#found(channel, before === false);
    if (!isConnected && before !== false) this.#lost(channel, attempt);
    // Never rejects: what cannot be explained is logged as it came.
    if (!isConnected) void this.#look(channel, attempt);
  };

  /** There is nothing to ask the platform with, so that no attempt shows the trouble. Over with the first one that succeeds. */
  cannotAsk(trouble: Trouble): void {
    const { reason, message } = trouble;
    this.#options.log.warn({ reason, fix: message }, "the platform cannot be asked; work here goes on");
    this.#became(trouble);
  }

  /** Milliseconds for which the platform has asked to be left alone (`Retry-After`); 0: it may be called. */
  heldForMs(): number {
    return Math.max(0, this.#heldUntilMs - this.#options.clock.monotonicMs());
  }

  /** `reconcile`, put off while the platform wants to be left alone. */
  politely(reconcile: Reconcile): Reconcile {
    return async (key, context) => {
      const heldMs = this.heldForMs();
      if (heldMs > 0) return { requeueAfterMs: heldMs };
      try {
        return await reconcile(key, context);
      } catch (error) {
        if (this.isConnected || !isOutage(error)) throw error;
        // Logged once, by this link; all controllers are triggered when it is over.
        context.log.debug({ err: error }, "waits for the platform");
        return { requeueAfterMs: OUTAGE_RETRY_MS * (1 + this.#options.random()) };
      }
    };
  }

  #readHeaders({ status, header }: Attempt): void {
    const { metrics, clock } = this.#options;
    const date = httpDateMs(header("date"));
    // It is cut to the second, so half of one is missing on average.
    if (date !== undefined) metrics.clockSkew((date + 500 - clock.wallNow().getTime()) / 1_000);
    if (status < 200 || status >= 300) return;
    const expiresAt = new Date(header(KEY_EXPIRES_HEADER) ?? "");
    metrics.keyExpires(Number.isNaN(expiresAt.getTime()) ? undefined : expiresAt);
  }

  #found(channel: Channel, again: boolean): void {
    const { metrics, clock, log } = this.#options;
    metrics.connection(channel, "connected", clock.wallNow());
    log.info({ channel }, "connected to the platform");
    if (this.isConnected) this.#became(undefined);
    if (again && channel === "sync") for (const listener of this.#recovered) listener();
  }

  #lost(channel: Channel, { code }: Attempt): void {
    const { metrics, clock } = this.#options;
    metrics.connection(channel, CLOSED_CODES.has(code ?? "") ? "closed" : "failed", clock.wallNow());
  }

  /** One line an outage, and one more when its cause turns out to be another. */
  async #look(channel: Channel, attempt: Attempt): Promise<void> {
    const { clock, log, explain } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#explainedAtMs < EXPLAIN_EVERY_MS && this.#trouble !== undefined) return;
    if (this.#isExplaining) return;
    this.#isExplaining = true;
    const { code = "no code", status } = attempt;
    const trouble = await explain(attempt).catch(
      (): Trouble => ({ reason: "PlatformUnreachable", message: `the platform does not answer (${code})` }),
    );
    this.#isExplaining = false;
    this.#explainedAtMs = clock.monotonicMs();
    if (this.isConnected || trouble.message === this.#trouble?.message) return;
    const { reason, message } = trouble;
    const route = `${attempt.area}.${attempt.route}`;
    log.warn({ channel, reason, fix: message, code, status, route }, "the platform does not answer; work here goes on");
    this.#became(trouble);
  }

  #became(trouble: Trouble | undefined): void {
    this.#trouble = trouble;
    if (trouble === undefined) this.#explainedAtMs = Number.NEGATIVE_INFINITY;
    for (const listener of this.#troubled) listener();
  }
}

/** The platform cannot be reached at all, as opposed to one refused call. */
function isOutage(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status === 401 || error.status >= 500);
}
