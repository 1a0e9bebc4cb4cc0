import type { Clock } from "../../base/clock.ts";
import { LeadershipLostError } from "../../kube/election/leader-election.ts";
import { OperationStopped, type StopReason } from "../operations/running-operations.ts";

export interface StopLimits {
  readonly clock: Clock;
  readonly timeLimitMs: number;
  /** The window's end, if a grant allows this. */
  readonly untilMs?: number | undefined;
  /** How long a running operation may go on once the process is stopped. */
  readonly graceMs: number;
}

type GraceLimits = Pick<StopLimits, "clock" | "graceMs">;

/**
 * One controller for all reasons to stop an operation: its time limit, the window's end, shutdown (after a grace, so
 * that what is nearly done gets done), lost leadership (at once). A revocation aborts it from outside.
 *
 * @param process the reconcile's own signal.
 * @returns the controller, and what to call when the operation has ended.
 */
export function stopSignal(limits: StopLimits, process: AbortSignal): readonly [AbortController, () => void] {
  const { clock, timeLimitMs, untilMs } = limits;
  const controller = new AbortController();
  const stop = (because: StopReason): void => controller.abort(new OperationStopped(because));
  const cancels = [clock.after(timeLimitMs, () => stop("time limit"))];
  if (untilMs !== undefined) cancels.push(clock.after(untilMs, () => stop("window closed")));
  cancels.push(onProcessStop(limits, process, (isLost) => stop(isLost ? "leadership lost" : "shutting down")));
  const release = (): void => {
    for (const cancel of cancels) cancel();
  };
  return [controller, release];
}

/**
 * For a write that must not be cut off, or it would be unknown whether it is stored: it ends a grace after
 * the process was stopped, and at once with the leadership.
 *
 * @param process the reconcile's own signal.
 * @returns the signal, and what to call when the write has ended.
 */
export function graceSignal(limits: GraceLimits, process: AbortSignal): readonly [AbortSignal, () => void] {
  const controller = new AbortController();
  return [controller.signal, onProcessStop(limits, process, () => controller.abort(process.reason))];
}

/**
 * Calls `end` a grace after the process was stopped, at once with lost leadership. Returns how to call that off.
 */
function onProcessStop(
  { clock, graceMs }: GraceLimits,
  process: AbortSignal,
  end: (isLost: boolean) => void,
): () => void {
  let cancel: () => void = () => undefined;
  const onStop = (): void => {
    if (process.reason instanceof LeadershipLostError) end(true);
    else cancel = clock.after(graceMs, () => end(false));
  };
  if (process.aborted) onStop();
  else process.addEventListener("abort", onStop, { once: true });
  return () => {
    cancel();
    process.removeEventListener("abort", onStop);
  };
}
