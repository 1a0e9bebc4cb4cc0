/** How long an orderly stop may take before the process ends anyway. Kubernetes' default grace is 30 s. */
const STOP_LIMIT_MS = 10_000;

export interface StopSignals {
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP; the reason is a {@link Stopped}. */
  readonly signal: AbortSignal;
  /** Stops listening. */
  release(): void;
}

/** Why everything stops: the process got a signal. */
export class Stopped extends Error {
  override readonly name = "Stopped";
  readonly by: NodeJS.Signals;

  constructor(by: NodeJS.Signals) {
    super(`stopped by ${by}`);
    this.by = by;
  }
}

/**
 * The first signal starts an orderly stop. A second signal, or a stop that takes too long, ends the process at once.
 *
 * @param onOverdue gets the reason, just before the exit
 */
export function stopSignals(onOverdue: (why: string) => void): StopSignals {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;
  const stop = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      onOverdue("stopped at once; files may be left");
      process.exit(130);
    }
    controller.abort(new Stopped(name));
    deadline = setTimeout(() => {
      onOverdue(`not stopped after ${STOP_LIMIT_MS / 1000} s: ending anyway`);
      process.exit(1);
    }, STOP_LIMIT_MS);
    deadline.unref();
  };
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) process.on(name, stop);
  return {
    signal: controller.signal,
    release() {
      clearTimeout(deadline);
      for (const name of names) process.removeListener(name, stop);
    },
  };
}
