import type { Clock } from "../clock.ts";

/**
 * Real time, run faster: for tests in which real sockets and long waits meet, where a fake clock would have to guess
 * when the socket is done.
 */
export function scaledClock(factor: number): Clock {
  return {
    monotonicMs: () => performance.now() * factor,
    wallNow: () => new Date(),
    after(delayMs, task) {
      const timer = setTimeout(task, Math.max(delayMs, 0) / factor);
      return () => clearTimeout(timer);
    },
  };
}
