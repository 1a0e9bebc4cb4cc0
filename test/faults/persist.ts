import { ApiError as PlatformError } from "../../src/api-client/api-error.ts";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { ApiError as KubeError } from "../../src/kube/client/api-error.ts";

/** Answers that a person would not understand, however much is being killed. */
export const unexpected: string[] = [];

const PAUSE_MS = 150;

/**
 * What people do when a server is away: they try again. Whatever is called must be safe to repeat.
 *
 * @throws what is no outage, as it is.
 */
export async function persist<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      // A frozen server holds no story up.
      return await call(AbortSignal.any([signal, AbortSignal.timeout(10_000)]));
    } catch (error) {
      signal.throwIfAborted();
      if (!isOutage(error)) throw error;
    }
    await sleep(systemClock, PAUSE_MS, signal);
  }
}

function isOutage(error: unknown): boolean {
  if (error instanceof PlatformError) {
    // A defect, whatever is going on around the platform.
    if (error.code === "INTERNAL_ERROR") unexpected.push(`platform: ${error.code} (request ${error.requestId})`);
    return error.isTransport || error.retryable;
  }
  // An API server that has just started knows neither roles nor tokens yet.
  if (error instanceof KubeError) return error.isTransient || error.isForbidden || error.isUnauthorized;
  return error instanceof DOMException && error.name === "TimeoutError";
}
