import { randomUUID } from "node:crypto";
import { Backoff, type BackoffOptions, DEFAULT_BACKOFF } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { DeadlineError, withDeadline } from "../../base/deadline.ts";
import type { Logger } from "../../base/log.ts";
import type { ControllerMetrics, KubeMetrics, QueueMetrics } from "../metrics/metrics.ts";
import type { Source } from "./sources.ts";
import { WorkQueue } from "./work-queue.ts";

/** Nothing: done until the next event. Otherwise: look again after the delay, whatever happens. */
// biome-ignore lint/suspicious/noConfusingVoidType: a reconcile without return is the common case
export type Result = { readonly requeueAfterMs: number } | undefined | void;

export interface ReconcileContext {
  /** Aborts on shutdown, lost leadership or the time limit. Pass it to every call; check it between two writes. */
  readonly signal: AbortSignal;
  /** Bears `controller`, `key` and `reconcileId`. */
  readonly log: Logger;
  /** Unique to this run, to find its lines again. */
  readonly reconcileId: string;
}

/**
 * Brings the world of one key to where it should be. Reads the object itself: it may have changed since the event, or
 * be gone. A throw means "again later", with growing delay.
 */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Result>;

/** A retry cannot help until the object is edited: counted and logged, not retried. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

export interface ControllerOptions {
  /** Label of its metrics, binding of its log lines; unique in the process. */
  readonly name: string;
  readonly reconcile: Reconcile;
  readonly sources: readonly Source[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<KubeMetrics, "controller" | "queue">;
  /** Workers; default 1. One key is with one worker at most, whatever the number. */
  readonly concurrency?: number;
  /** Aborts a reconcile that takes longer; default none. The worker waits until it returns: one key, one run. */
  readonly reconcileTimeoutMs?: number;
  /** Retry delays, `baseMs · 2^failures` up to `maxMs`; default 5 ms up to 1,000 s. Remote services want seconds. */
  readonly backoff?: BackoffOptions;
  /** `run` throws when a source has not synced by then; default 120,000. `"never"`: it waits, and readiness tells. */
  readonly cacheSyncTimeoutMs?: number | "never";
  /** Whether it runs on the leader only; default true. Read by the manager. */
  readonly needsLeader?: boolean;
}

/** How one run ended. */
type Outcome =
  | { readonly result: "success" }
  | { readonly result: "requeue_after"; readonly afterMs: number }
  | { readonly result: "error"; readonly error: unknown; readonly isTerminal: boolean; readonly isPanic: boolean }
  | { readonly result: "aborted"; readonly error: unknown };

/**
 * Calls `reconcile` for the keys of its sources: one run a key at a time, ten events during a run are one more run,
 * failures come again later and later.
 *
 * - error → counted, logged, again after the backoff; `TerminalError` → counted, logged, dropped;
 * - `requeueAfterMs` → failures forgotten, again after the delay or the next event, whichever is first;
 * - a bug (a throw before the first await, something thrown that is no Error, a `TypeError`) → counted as panic, then
 * an error;
 * - a throw after the run's signal aborted for shutdown or lost leadership → not counted, not retried.
 *
 * Source: controller-runtime `pkg/internal/controller`.
 */
export class Controller {
  readonly name: string;
  readonly needsLeader: boolean;
  readonly #options: ControllerOptions;
  readonly #concurrency: number;
  readonly #metrics: ControllerMetrics;
  readonly #queueMetrics: QueueMetrics;
  #active = 0;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.needsLeader = options.needsLeader ?? true;
    this.#options = options;
    this.#concurrency = options.concurrency ?? 1;
    // Here and not in `run`: the series of a controller that waits for leadership are there, at 0.
    this.#metrics = options.metrics.controller(options.name, this.#concurrency);
    this.#queueMetrics = options.metrics.queue(options.name);
  }

  /**
   * Works until `signal` aborts, then returns once the running reconciles have ended.
   *
   * @throws Error when a source has not synced within `cacheSyncTimeoutMs`.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const { clock, log } = this.#options;
    const forward = (): void => stop.abort(signal.reason);
    signal.addEventListener("abort", forward, { once: true });
    if (signal.aborted) forward();
    try {
      const queue = new WorkQueue({ clock, signal: stop.signal, metrics: this.#queueMetrics });
      await this.#startSources(queue, stop.signal);
      log.info({ controller: this.name, workers: this.#concurrency }, "controller started");
      const backoff = new Backoff(this.#options.backoff ?? DEFAULT_BACKOFF);
      const workers = Array.from({ length: this.#concurrency }, () => this.#work(queue, backoff, stop.signal));
      await Promise.all(workers);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      // After a failed start too: sources must not go on enqueueing.
      stop.abort();
      signal.removeEventListener("abort", forward);
    }
  }

  async #startSources(queue: WorkQueue, signal: AbortSignal): Promise<void> {
    const { sources, clock, cacheSyncTimeoutMs = 120_000 } = this.#options;
    for (const source of sources) {
      source.start((key, afterMs) => (afterMs === undefined ? queue.add(key) : queue.addAfter(key, afterMs)), signal);
    }
    const waiting = new Set(sources);
    const sync = (deadline: AbortSignal): Promise<unknown> =>
      Promise.all(sources.map(async (each) => each.whenSynced(deadline).then(() => waiting.delete(each))));
    try {
      await withDeadline(clock, cacheSyncTimeoutMs === "never" ? undefined : cacheSyncTimeoutMs, signal, sync);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      const names = [...waiting].map((source) => source.name).join(", ");
      const limit = `${error.limitMs / 1000} s`;
      throw new Error(`controller ${this.name}: not synced within ${limit}: ${names}`, { cause: error });
    }
  }

  async #work(queue: WorkQueue, backoff: Backoff, signal: AbortSignal): Promise<void> {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      this.#metrics.active(++this.#active);
      try {
        await this.#process(key, queue, backoff, signal);
      } finally {
        this.#metrics.active(--this.#active);
        queue.done(key);
      }
    }
  }

  async #process(key: string, queue: WorkQueue, backoff: Backoff, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const reconcileId = randomUUID();
    const log = this.#options.log.child({ controller: this.name, key, reconcileId });
    const startedMs = clock.monotonicMs();
    const outcome = await this.#reconcile(key, { log, reconcileId }, signal);
    const seconds = (clock.monotonicMs() - startedMs) / 1000;
    if (outcome.result !== "aborted") this.#metrics.reconciled(outcome.result, seconds);
    const failures = backoff.failures(key);
    if (failures > 0 && outcome.result !== "error" && outcome.result !== "aborted")
      log.info({ failures }, "reconcile healed");
    switch (outcome.result) {
      case "success":
        backoff.forget(key);
        return;
      case "requeue_after":
        backoff.forget(key);
        queue.addAfter(key, outcome.afterMs);
        return;
      case "aborted":
        log.debug({ err: outcome.error }, "reconcile aborted");
        return;
      case "error":
        this.#failed(key, outcome, queue, backoff, log);
    }
  }

  async #reconcile(key: string, about: Omit<ReconcileContext, "signal">, signal: AbortSignal): Promise<Outcome> {
    let started: Promise<Result> | undefined;
    let deadline: AbortSignal | undefined;
    try {
      const result = await withDeadline(this.#options.clock, this.#options.reconcileTimeoutMs, signal, (each) => {
        deadline = each;
        started = this.#options.reconcile(key, { ...about, signal: each });
        return started;
      });
      return result ? { result: "requeue_after", afterMs: result.requeueAfterMs } : { result: "success" };
    } catch (error) {
      if (signal.aborted) return { result: "aborted", error };
      const isTerminal = error instanceof TerminalError;
      return { result: "error", error, isTerminal, isPanic: started === undefined || isBug(error) };
    } finally {
      // Counted even when the run ended well after its limit: it kept a worker for that long.
      if (deadline?.reason instanceof DeadlineError) this.#metrics.timedOut();
    }
  }

  #failed(
    key: string,
    { error, isTerminal, isPanic }: Extract<Outcome, { readonly result: "error" }>,
    queue: WorkQueue,
    backoff: Backoff,
    log: Logger,
  ): void {
    if (isPanic) this.#metrics.panicked();
    if (isTerminal) {
      this.#metrics.terminalError();
      // The next edit of the object starts afresh, and the map does not grow.
      backoff.forget(key);
      log.error({ err: error }, "reconcile failed for good");
      return;
    }
    const retryAfterMs = backoff.next(key);
    queue.addAfter(key, retryAfterMs);
    const failures = backoff.failures(key);
    // A retry in progress is one warning, not one a retry; a bug is news each time.
    const level = isPanic ? "error" : failures === 1 ? "warn" : "debug";
    log[level]({ err: error, failures, retryAfterMs }, "reconcile failed");
  }
}

/** What the engine throws for a programmer's mistake, and what is no error at all. Go's panics, roughly. */
function isBug(error: unknown): boolean {
  return (
    !(error instanceof Error) ||
    error instanceof TypeError ||
    error instanceof ReferenceError ||
    error instanceof RangeError
  );
}
