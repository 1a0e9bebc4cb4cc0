import { type Clock, sleep } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import type { Connection } from "../../kube/client/connection.ts";

export interface TokenOptions {
  readonly client: Pick<Client, "createToken">;
  readonly connection: Connection;
  readonly account: { readonly namespace: string; readonly name: string };
  readonly leftSeconds: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Limits of the API server and of the policy on the tunnel's tokens. */
const [LEAST_SECONDS, MOST_SECONDS] = [600, 3_600];
const RETRY_MS = 5_000;
const FIRST_RETRY_MS = 2_000;
/** An API server that has just started refuses everything until it has read its rules. As in the informer. */
const REFUSED_AFTER_MS = 10_000;

/** The token of one session's account, kept in memory and renewed at two thirds of its life. */
export class SessionToken {
  readonly #options: TokenOptions;
  #connection: Connection | undefined;
  #renewMs = 0;
  /** Since when the API server has refused without an answer of another kind in between. */
  #refusedSinceMs: number | undefined;

  constructor(options: TokenOptions) {
    this.#options = options;
  }

  /** The API server, as the session's account. @throws Error before the first token */
  get upstream(): Connection {
    if (this.#connection === undefined) throw new Error("the session has no token yet");
    return this.#connection;
  }

  /** Tries until there is one. False: the account or the right to it is gone, or `signal` has aborted. */
  async first(signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#options;
    for (;;) {
      try {
        await this.#mint(signal);
        return true;
      } catch (err) {
        if (signal.aborted || this.#isGone(err)) return false;
        log.warn({ err }, "no token for a debug session yet");
        await sleep(clock, FIRST_RETRY_MS, signal).catch(() => undefined);
      }
    }
  }

  async #mint(signal: AbortSignal): Promise<void> {
    const { client, connection, account, leftSeconds } = this.#options;
    const expirationSeconds = Math.max(LEAST_SECONDS, Math.min(MOST_SECONDS, Math.ceil(leftSeconds())));
    const { token } = await client.createToken(account, { expirationSeconds }, signal);
    this.#connection = connection.withToken(token);
    this.#renewMs = (expirationSeconds * 2_000) / 3;
    this.#refusedSinceMs = undefined;
  }

  /** Renews until `signal` aborts. Returns when the account or the right to it is gone. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      try {
        await sleep(clock, this.#renewMs, signal);
        await this.#mint(signal);
      } catch (err) {
        if (signal.aborted || this.#isGone(err)) return;
        log.warn({ err }, "the token of a debug session was not renewed");
        this.#renewMs = RETRY_MS;
      }
    }
  }

  #isGone(error: unknown): boolean {
    if (error instanceof ApiError && error.isNotFound) return true;
    const nowMs = this.#options.clock.monotonicMs();
    this.#refusedSinceMs = error instanceof ApiError && error.isForbidden ? (this.#refusedSinceMs ?? nowMs) : undefined;
    return this.#refusedSinceMs !== undefined && nowMs - this.#refusedSinceMs >= REFUSED_AFTER_MS;
  }
}
