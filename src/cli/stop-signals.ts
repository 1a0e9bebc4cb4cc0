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
 * The first signal starts an orderly stop. What starts this process under an older Node (bin/sallyport.mjs) passes its
 * SIGINT on as a message: a terminal sends each Ctrl-C to both, in any order, and the two count as one. A second signal,
 * or a stop that takes too long, ends the process at once.
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
  const interrupts = { direct: 0, passedOn: 0 };
  const interrupted = (way: keyof typeof interrupts, other: keyof typeof interrupts): void => {
    interrupts[way] += 1;
    if (interrupts[way] > interrupts[other]) stop("SIGINT");
  };
  const direct = (): void => interrupted("direct", "passedOn");
  const passedOn = (message: unknown): void => {
    if (message === "SIGINT") interrupted("passedOn", "direct");
  };
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) process.on(name, name === "SIGINT" ? direct : stop);
  process.on("message", passedOn);
  // The channel alone does not keep the process alive.
  process.channel?.unref();
  return {
    signal: controller.signal,
    release() {
      clearTimeout(deadline);
      for (const name of names) process.removeListener(name, name === "SIGINT" ? direct : stop);
      process.removeListener("message", passedOn);
    },
  };
}
