import type { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import type { Clock } from "../../base/clock.ts";
import { PlatformError } from "../kernel/errors.ts";

/** Time limit of one request; a long-poll adds its `wait` (§0.9). */
export const REQUEST_LIMIT_MS = 30_000;

/** The deadline of one request. */
export interface RequestDeadline {
  /** Aborts the work and its transaction, which rolls back. */
  readonly signal: AbortSignal;
  /** Rejects with TIMEOUT. */
  readonly expired: Promise<never>;
  /** Must be called when the request is answered. */
  clear(): void;
}

/**
 * Gives each request its deadline. Long-polls also end when the server drains. The class keeps its own set because ten
 * thousand polls may be held at once: with one `AbortSignal.any` each, the garbage collector would track as many weak
 * references on one signal, and `addEventListener` reads all earlier listeners.
 */
export class RequestDeadlines {
  readonly #clock: Pick<Clock, "after">;
  readonly #held = new Set<(reason: unknown) => void>();
  readonly #draining: AbortSignal;
  /** The polls of each connection. One listener ends them all: a client may send many requests before an answer. */
  readonly #ofSocket = new WeakMap<Socket, Set<() => void>>();

  constructor(clock: Pick<Clock, "after">, draining: AbortSignal) {
    this.#clock = clock;
    this.#draining = draining;
    draining.addEventListener("abort", () => {
      for (const end of this.#held) end(draining.reason);
    });
  }

  /**
   * For requests other than long-polls: they run to their end, also when the client disconnects or the server drains.
   */
  of(): RequestDeadline {
    return this.#start(REQUEST_LIMIT_MS).deadline;
  }

  /** For long-polls: they also end when the client disconnects or the server drains. */
  ofPoll({ socket }: FastifyRequest["raw"], waitMs: number): RequestDeadline {
    const { deadline, end } = this.#start(REQUEST_LIMIT_MS + waitMs);
    const hangUp = (): void => end(new Error("the client hung up"));
    const polls = this.#ofSocket.get(socket) ?? this.#watched(socket);
    polls.add(hangUp);
    this.#held.add(end);
    if (this.#draining.aborted) end(this.#draining.reason);
    return {
      ...deadline,
      clear: () => {
        deadline.clear();
        polls.delete(hangUp);
        this.#held.delete(end);
      },
    };
  }

  #watched(socket: Socket): Set<() => void> {
    const polls = new Set<() => void>();
    this.#ofSocket.set(socket, polls);
    socket.once("close", () => {
      for (const hangUp of polls) hangUp();
    });
    return polls;
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
