import type { Clock } from "./clock.ts";
import type { Logger } from "./log.ts";
import type { KubeMetrics } from "./metrics.ts";
import type { Source } from "./sources.ts";

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

/** Trying again cannot help until somebody edits the object: counted and logged, not retried. */
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
  readonly backoff?: { readonly baseMs: number; readonly maxMs: number };
  /** `run` throws when a source has not synced by then; default 120,000. */
  readonly cacheSyncTimeoutMs?: number;
  /** Whether it runs on the leader only; default true. Read by the manager. */
  readonly needsLeader?: boolean;
}
