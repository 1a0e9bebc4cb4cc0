/** The platform's time, injected. The same three lines as the Kubernetes runtime's: types match by shape. */
export interface Clock {
  /** Milliseconds since an arbitrary origin; never goes back. For deadlines, rates and durations. */
  monotonicMs(): number;
  /** Calendar time. For rows and answers. */
  wallNow(): Date;
  /** Runs `task` once after `delayMs`. Returns the cancel function; calling it again is harmless. */
  after(delayMs: number, task: () => void): () => void;
}

/** Longest delay Node accepts, 2^31-1 ms; a longer one fires after 1 ms. A timer may fire early: re-check what is due. */
const MAX_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallNow: () => new Date(),
  after(delayMs, task) {
    const timer = setTimeout(task, Math.min(Math.max(delayMs, 0), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
