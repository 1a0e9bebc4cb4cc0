import type { Clock } from "./clock.ts";

/** Why a signal from {@link withDeadline} aborted on its own. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  readonly limitMs: number;

  constructor(limitMs: number) {
    super(`not done within ${limitMs} ms`);
    this.limitMs = limitMs;
  }
}

/**
 * Runs `task` with a signal that aborts with `signal`, or with a `DeadlineError` after `limitMs` (undefined: never).
 * Settles as the task does: a task that ignores its signal is waited for, because its work goes on.
 *
 * Not `AbortSignal.any` with `AbortSignal.timeout`: those take no injected clock, and the timer outlives the task.
 */
export async function withDeadline<T>(
  clock: Clock,
  limitMs: number | undefined,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const forward = (): void => abort.abort(signal.reason);
  if (signal.aborted) forward();
  else signal.addEventListener("abort", forward, { once: true });
  const cancel =
    limitMs === undefined ? undefined : clock.after(limitMs, () => abort.abort(new DeadlineError(limitMs)));
  try {
    return await task(abort.signal);
  } finally {
    cancel?.();
    signal.removeEventListener("abort", forward);
  }
}
