import { type Clock, systemClock } from "../../src/base/clock.ts";

/** Wall time that a test can shift; waiting takes real time. */
export class ShiftedClock implements Clock {
  shiftMs = 0;
  monotonicMs(): number {
    return systemClock.monotonicMs();
  }
  wallNow(): Date {
    return new Date(systemClock.wallNow().getTime() + this.shiftMs);
  }
  after(delayMs: number, task: () => void): () => void {
    return systemClock.after(delayMs, task);
  }
}
