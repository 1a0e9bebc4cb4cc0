import type { Clock } from "../../base/clock.ts";
import type { QueueMetrics, QueueState } from "../metrics/metrics.ts";
import { DelayHeap } from "./delay-heap.ts";
import { Fifo } from "./fifo.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly metrics?: QueueMetrics | undefined;
}

type Phase = "open" | "draining" | "closed";

/**
 * Which key to reconcile next. A key is `namespace/name`, never an object: the worker reads the
 * object when it starts, so ten events on one key cost one reconcile of the newest state.
 * Guarantees, each a test beside this file:
 * - a key is never with two workers at once;
 * - an `add` after a `get` makes the key come again, after its `done`;
 * - keys leave in the order they became ready;
 * - at most one timer is armed, whatever the number of delayed keys.
 *
 * Once `signal` aborts, workers get `undefined` and queued keys are dropped. That loses nothing:
 * the next leader lists everything. Work in hand is not interrupted here; it has its own signal. Where a key is the
 * only copy of the work, `drain` first.
 *
 * Sources: client-go `util/workqueue`; delay rules, controller-runtime `controller/priorityqueue`.
 */
export class WorkQueue {
  /** To be processed, since when: in line, or in hand and changed since. */
  readonly #dirty = new Map<string, number>();
  /** In a worker's hands, between `get` and `done`, since when. */
  readonly #processing = new Map<string, number>();
  /** Waiting for a worker, oldest first. Every key in it is dirty and not processing. */
  readonly #line = new Fifo<string>();
  readonly #delayed = new DelayHeap();
  readonly #idleWorkers: ((key: string | undefined) => void)[] = [];
  #timer: { readonly atMs: number; readonly cancel: () => void } | undefined;
  #phase: Phase = "open";
  readonly #drained = Promise.withResolvers<void>();
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  readonly #stopObserving: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#metrics = options.metrics;
    this.#stopObserving = options.metrics?.observe(() => this.#state());
    if (options.signal.aborted) this.#close();
    else options.signal.addEventListener("abort", () => this.#close(), { once: true });
  }

  /** Keys in line, for the depth metric only: it may change before the caller can act on it. */
  get depth(): number {
    return this.#line.size;
  }

  /** Puts `key` in line. Absorbs a delayed `key`: the coming run decides its next delay itself. */
  add(key: string): void {
    if (this.#phase !== "open") return;
    this.#delayed.delete(key);
    this.#markDirty(key);
    this.#arm();
  }

  /** Like `add`, `delayMs` from now. Earliest wins; a key already in line is not pushed back. */
  addAfter(key: string, delayMs: number): void {
    if (this.#phase !== "open") return;
    this.#metrics?.retried();
    if (this.#dirty.has(key)) return;
    this.#delayed.offer(key, this.#clock.monotonicMs() + Math.max(delayMs, 0));
    this.#moveReady(); // a delay of 0 or less is an add
  }

  /** Waits for a key; `undefined` means closed, stop working. Each key needs one `done`. */
  get(): Promise<string | undefined> {
    const key = this.#line.shift();
    if (key !== undefined) return Promise.resolve(this.#take(key));
    if (this.#phase !== "open") return Promise.resolve(undefined);
    return new Promise((resolve) => this.#idleWorkers.push(resolve));
  }

  /** Hands `key` back; call it in `finally`. Throws if it is not out: a bug in the worker loop. */
  done(key: string): void {
    const sinceMs = this.#processing.get(key);
    if (sinceMs === undefined) throw new Error(`done("${key}") without get`);
    this.#processing.delete(key);
    this.#metrics?.worked((this.#clock.monotonicMs() - sinceMs) / 1000);
    if (this.#dirty.has(key)) this.#enqueue(key);
    this.#settle();
  }

  /**
   * Takes no more keys and forgets the delayed ones; workers get what is in line, then `undefined`. Resolves when the
   * last of it is `done`, or at once when the signal aborts.
   */
  drain(): Promise<void> {
    if (this.#phase === "open") {
      this.#phase = "draining";
      this.#stopTimer();
      for (const wake of this.#idleWorkers.splice(0)) wake(undefined);
    }
    this.#settle();
    return this.#drained.promise;
  }

  #markDirty(key: string): void {
    if (this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.monotonicMs());
    this.#metrics?.added();
    if (!this.#processing.has(key)) this.#enqueue(key);
  }

  #enqueue(key: string): void {
    const worker = this.#idleWorkers.shift();
    if (worker) worker(this.#take(key));
    else this.#line.push(key);
  }

  #take(key: string): string {
    const nowMs = this.#clock.monotonicMs();
    this.#metrics?.waited((nowMs - (this.#dirty.get(key) ?? nowMs)) / 1000);
    this.#dirty.delete(key);
    this.#processing.set(key, nowMs);
    return key;
  }

  #moveReady(): void {
    for (const key of this.#delayed.takeReady(this.#clock.monotonicMs())) this.#markDirty(key);
    this.#arm();
  }

  /** Keeps the one timer on the earliest delayed key. Firing early (MAX_TIMER_MS) is harmless. */
  #arm(): void {
    const atMs = this.#delayed.nextMs;
    if (atMs === this.#timer?.atMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (atMs === undefined) return;
    const cancel = this.#clock.after(atMs - this.#clock.monotonicMs(), () => {
      this.#timer = undefined;
      this.#moveReady();
    });
    this.#timer = { atMs, cancel };
  }

  #stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** A key in hand that changed counts as in line: its worker will come back for it. */
  #settle(): void {
    const isEmpty = this.#line.size === 0 && this.#processing.size === 0;
    if (this.#phase === "closed" || (this.#phase === "draining" && isEmpty)) this.#drained.resolve();
  }

  #close(): void {
    this.#phase = "closed";
    this.#stopTimer();
    this.#line.clear();
    this.#dirty.clear();
    for (const wake of this.#idleWorkers.splice(0)) wake(undefined);
    this.#settle();
    this.#stopObserving?.();
  }

  #state(): QueueState {
    const nowMs = this.#clock.monotonicMs();
    let unfinishedMs = 0;
    let longestMs = 0;
    for (const sinceMs of this.#processing.values()) {
      unfinishedMs += nowMs - sinceMs;
      longestMs = Math.max(longestMs, nowMs - sinceMs);
    }
    return { depth: this.#line.size, unfinishedSeconds: unfinishedMs / 1000, longestRunningSeconds: longestMs / 1000 };
  }
}
