/** The three readings this client needs. The Kubernetes runtime's `Clock` has the same shape, so one object serves both. */
export interface Clock {
  /** Milliseconds since an arbitrary origin; never goes back. */
  monotonicMs(): number;
  /** Calendar time, to read a `Retry-After` that is a date. */
  wallNow(): Date;
  /** Runs `task` once after `delayMs`; returns the cancel function. */
  after(delayMs: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallNow: () => new Date(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`; rejects with `signal.reason` as soon as it aborts, and leaves no timer behind. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
