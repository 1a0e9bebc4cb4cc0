import type { Clock } from "../clock.ts";

/**
 * Wakes sleepers by manager id. Only a hint: whoever sleeps looks at the table after each wake and every few seconds
 * anyway, so a wake that is lost costs latency and nothing else.
 */
export class Waker {
  readonly #clock: Clock;
  readonly #sleepers = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(managerId: string): void {
    for (const resume of [...(this.#sleepers.get(managerId) ?? [])]) resume();
  }

  /** Wakes everyone: after a reconnect of LISTEN, wakes may have been missed. */
  wakeAll(): void {
    for (const managerId of [...this.#sleepers.keys()]) this.wake(managerId);
  }

  get sleeping(): number {
    return this.#sleepers.size;
  }

  /**
   * Starts to listen now and resolves at the first wake, after `timeoutMs`, or on abort; never rejects. Call it before
   * looking at the table and await it after, so that nothing falls between.
   */
  sleep(managerId: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleepers = this.#sleepers.get(managerId) ?? new Set();
      const resume = (): void => {
        sleepers.delete(resume);
        if (sleepers.size === 0) this.#sleepers.delete(managerId);
        cancel();
        signal.removeEventListener("abort", resume);
        resolve();
      };
      const cancel = this.#clock.after(timeoutMs, resume);
      this.#sleepers.set(managerId, sleepers);
      sleepers.add(resume);
      signal.addEventListener("abort", resume, { once: true });
      if (signal.aborted) resume();
    });
  }
}
