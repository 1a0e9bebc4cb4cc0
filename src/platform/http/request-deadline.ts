import type { FastifyRequest } from "fastify";
import type { Clock } from "../../base/clock.ts";
import { PlatformError } from "../kernel/errors.ts";

/** Server time of one request; a long-poll adds its `wait` (§0.9). */
export const REQUEST_LIMIT_MS = 30_000;

/** The end of one request's time. */
export interface RequestDeadline {
  /** Stops the work, and with it its transaction, which rolls back. */
  readonly signal: AbortSignal;
  /** Rejects with TIMEOUT. */
  readonly expired: Promise<never>;
  /** To be called when the request is answered. */
  clear(): void;
}

/**
 * Gives each request its end of time. Held polls also end when the server drains. The set is ours because ten thousand
 * of them are held at once: an `AbortSignal.any` each costs the collector weak references on one long-lived signal, and
 * `addEventListener` reads all earlier listeners.
 */
export class RequestDeadlines {
  readonly #clock: Pick<Clock, "after">;
  readonly #held = new Set<(reason: unknown) => void>();
  readonly #draining: AbortSignal;

  constructor(clock: Pick<Clock, "after">, draining: AbortSignal) {
    this.#clock = clock;
    this.#draining = draining;
    draining.addEventListener("abort", () => {
      for (const end of this.#held) end(draining.reason);
    });
  }

  /** Work that is not held runs to its end, also when the client hangs up or the server drains. */
  of(): RequestDeadline {
    return this.#start(REQUEST_LIMIT_MS).deadline;
  }

  /** A long-poll also ends when the client hangs up or the server drains. */
  ofPoll({ socket }: FastifyRequest["raw"], waitMs: number): RequestDeadline {
    const { deadline, end } = this.#start(REQUEST_LIMIT_MS + waitMs);
    const hangUp = (): void => end(new Error("the client hung up"));
    socket.once("close", hangUp);
    this.#held.add(end);
    if (this.#draining.aborted) end(this.#draining.reason);
    return {
      ...deadline,
      clear: () => {
        deadline.clear();
        socket.off("close", hangUp);
        this.#held.delete(end);
      },
    };
  }

  #start(limitMs: number) {
    const controller = new AbortController();
    const { promise: expired, reject } = Promise.withResolvers<never>();
    const clear = this.#clock.after(limitMs, () => {
      const timeout = new PlatformError("TIMEOUT");
      controller.abort(timeout);
      reject(timeout);
    });
    const deadline: RequestDeadline = { signal: controller.signal, expired, clear };
    return { deadline, end: (reason: unknown) => controller.abort(reason) };
  }
}
