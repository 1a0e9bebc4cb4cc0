export interface BackoffOptions {
  /** Delay after the first failure. */
  readonly baseMs: number;
  readonly maxMs: number;
}

/** client-go's `DefaultTypedItemBasedRateLimiter`: 5 ms, doubling, at most 1,000 s; reached after 18 failures. */
export const DEFAULT_BACKOFF: BackoffOptions = { baseMs: 5, maxMs: 1_000_000 };

/** For keys whose work is at the API server: a conflict or a blip is retried soon, a broken server not hotter than every half minute. */
export const API_SERVER_BACKOFF: BackoffOptions = { baseMs: 10, maxMs: 30_000 };

/**
 * How long a key waits after its n-th failure in a row: `baseMs · 2^(n-1)`, at most `maxMs`. No jitter: keys fail at
 * times of their own. Remembers failing keys only; `forget` them on success, or the map grows with every key seen.
 */
export class Backoff {
  readonly #failures = new Map<string, number>();
  readonly #options: BackoffOptions;

  constructor(options: BackoffOptions = DEFAULT_BACKOFF) {
    this.#options = options;
  }

  /** Failures of `key` since it was last forgotten. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Counts a failure; returns the delay in milliseconds. */
  next(key: string): number {
    const before = this.failures(key);
    this.#failures.set(key, before + 1);
    return Math.min(this.#options.baseMs * 2 ** before, this.#options.maxMs);
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }
}
