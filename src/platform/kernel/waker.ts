import type { Clock } from "../clock.ts";

/**
 * Wakes sleepers by manager id. Only a hint: whoever sleeps looks at the table after each wake and every few seconds
 * anyway, so a wake that is lost costs latency and nothing else.
 */
export class Waker {
  readonly #clock: Clock;
  #hearsAll = true;
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

  /**
   * How long a sleeper may trust in being woken, before it looks by itself. A feed promises one second (§14.4); when
   * every wake is heard, looking is only for keys that were revoked, which end a poll within five (§1.1).
   */
  get pollMs(): number {
    return this.#hearsAll ? 4_000 : 900;
  }

  /** False while other replicas write and LISTEN is down. */
  set hearsAll(hears: boolean) {
    this.#hearsAll = hears;
  }

  /** Milliseconds left of `waitMs`, from now on; may be negative. */
  timer(waitMs: number): () => number {
    const endsMs = this.#clock.monotonicMs() + waitMs;
    return () => endsMs - this.#clock.monotonicMs();
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
