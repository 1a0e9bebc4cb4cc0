import type { Clock } from "../../../base/clock.ts";
import { PlatformError } from "../errors.ts";

/** Sustained requests a minute, and how many may come at once (§0.9). */
export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

export const RATES = {
  standard: { perMinute: 600, burst: 100 },
  /** All the keys that a customer's tokens are, and can mint. */
  customer: { perMinute: 3000, burst: 500 },
  /** All the other keys of a workspace: what one key mints does not multiply what it may. */
  workspace: { perMinute: 12_000, burst: 2000 },
  manager: { perMinute: 6000, burst: 1000 },
  unauthenticated: { perMinute: 60, burst: 20 },
} as const satisfies Readonly<Record<string, Rate>>;

const PAYERS: Readonly<Record<keyof typeof RATES, string>> = {
  standard: "one key or user",
  customer: "all the keys of one customer's deployment group together",
  workspace: "all the keys of one workspace together, without those of customers' groups",
  manager: "one manager",
  unauthenticated: "one address without a credential that holds",
};

/** Says which of the rates is used up: a caller with many keys would else look at the wrong one. */
export function tooManyRequests(rate: keyof typeof RATES, { retryAfterSeconds }: Allowance): PlatformError {
  const { perMinute, burst } = RATES[rate];
  return new PlatformError("RATE_LIMITED", {
    message: `too many requests: ${PAYERS[rate]} may send ${perMinute} a minute, and ${burst} at once`,
    context: { rate, perMinute, burst },
    retryAfterSeconds,
  });
}

export interface Allowance {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number;
  /** Whole seconds until one more request fits. */
  readonly retryAfterSeconds: number;
}

interface Bucket {
  tokens: number;
  updatedMs: number;
}

/**
 * A caller that is forgotten gets a full bucket again, so this bounds memory (about 10 MB) and, with 60 000 addresses
 * at hand, an attacker's rate only by what 60 000 addresses have anyway.
 */
const MAX_BUCKETS = 60_000;

/** Token buckets, a caller each, the least recently used forgotten first. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #maxBuckets: number;
  /** In order of last use: a Map keeps insertion order, and each use inserts again. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, maxBuckets: number = MAX_BUCKETS) {
    this.#clock = clock;
    this.#maxBuckets = maxBuckets;
  }

  get size(): number {
    return this.#buckets.size;
  }

  take(caller: string, { perMinute, burst }: Rate): Allowance {
    const nowMs = this.#clock.monotonicMs();
    const perMs = perMinute / 60_000;
    const bucket = this.#buckets.get(caller) ?? { tokens: burst, updatedMs: nowMs };
    bucket.tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.updatedMs) * perMs);
    bucket.updatedMs = nowMs;
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens -= 1;
    this.#touch(caller, bucket);
    return {
      allowed,
      limit: burst,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: Math.ceil((burst - bucket.tokens) / perMs / 1000),
      retryAfterSeconds: Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000)),
    };
  }

  #touch(caller: string, bucket: Bucket): void {
    this.#buckets.delete(caller);
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > this.#maxBuckets) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
  }
}
