import type { Clock } from "../../../base/clock.ts";
import { PlatformError } from "../errors.ts";

/** Sustained requests a minute, and how many may arrive at once (§0.9). */
export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

export const RATES = {
  standard: { perMinute: 600, burst: 100 },
  /** Shared by all keys of one customer: its tokens and the keys that they mint. */
  customer: { perMinute: 3000, burst: 500 },
  /** Shared by all other keys of a workspace: a key that mints more keys does not raise the total. */
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

/** Names the rate that is used up: a caller with many keys must know whether its own or the shared rate refused it. */
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
 * Bounds memory (about 10 MB). A caller that the limiter has forgotten starts with a full bucket again. An attacker
 * could use that only with more than 60 000 addresses, which already give it 60 000 buckets.
 */
const MAX_BUCKETS = 60_000;

/** One token bucket for each caller. The least recently used bucket is forgotten first. */
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
