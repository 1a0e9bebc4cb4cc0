import type { Clock } from "../../base/clock.ts";
import { ApiError } from "../client/api-error.ts";
import type { Lease, LeaseClient } from "../election/lease.ts";

/** How the network treats one request. Times on the test's clock. */
export interface Fate {
  /** Until the server acts. */
  readonly thereMs: number;
  /** From then until the answer is here. */
  readonly backMs: number;
  /** `refused`: the server answers 503 and does nothing. */
  readonly lost: "never" | "request" | "answer" | "refused";
}

const QUICK: Fate = { thereMs: 0, backMs: 0, lost: "never" };

/**
 * One Lease on an API server that keeps its promises (a write with an old resourceVersion is refused) behind a network
 * that keeps none: late, lost, and carried out after the sender gave up.
 */
export class FakeLeases {
  lease: Lease | undefined;
  /** Every state the lease was in, oldest first. */
  readonly history: Lease[] = [];
  readonly requests: ("get" | "create" | "replace")[] = [];
  readonly #clock: Clock;
  #version = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A client whose requests meet `fate`. */
  client(fate: () => Fate = () => QUICK): LeaseClient {
    const send = <T>(verb: "get" | "create" | "replace", signal: AbortSignal, act: () => unknown): Promise<T> => {
      this.requests.push(verb);
      // The cast is the client's own promise: type parameters are not checked.
      return this.#send(fate(), signal, act) as Promise<T>;
    };
    return {
      get: (_resource, _key, signal) => send("get", signal, () => this.lease),
      create: (_resource, object, signal) => send("create", signal, () => this.#create(object)),
      replace: (_resource, object, _options, signal) => send("replace", signal, () => this.#replace(object)),
    };
  }

  #send(fate: Fate, signal: AbortSignal, act: () => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      // An abort reaches the caller, not the server.
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      if (fate.lost === "request") return;
      this.#after(fate.thereMs, () => {
        let answer: () => void;
        try {
          if (fate.lost === "refused") throw new ApiError("busy", { status: 503, reason: "ServiceUnavailable" });
          const value = act();
          answer = () => resolve(value);
        } catch (error) {
          answer = () => reject(error);
        }
        if (fate.lost !== "answer") this.#after(fate.backMs, answer);
      });
    });
  }

  #after(ms: number, task: () => void): void {
    if (ms === 0) task();
    else this.#clock.after(ms, task);
  }

  #create(object: object): Lease {
    if (this.lease) throw new ApiError("exists", { status: 409, reason: "AlreadyExists" });
    return this.#store(object);
  }

  #replace(object: Lease): Lease {
    if (!this.lease) throw new ApiError("gone", { status: 404, reason: "NotFound" });
    if (object.metadata.resourceVersion !== this.lease.metadata.resourceVersion) {
      throw new ApiError("moved on", { status: 409, reason: "Conflict" });
    }
    return this.#store(object);
  }

  #store(object: object): Lease {
    this.#version += 1;
    const lease = structuredClone(object) as Lease;
    const metadata = { ...lease.metadata, resourceVersion: `${this.#version}` };
    this.lease = Object.freeze({ ...lease, metadata });
    this.history.push(this.lease);
    return this.lease;
  }
}
