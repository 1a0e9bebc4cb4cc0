import { ApiError as PlatformError } from "../../src/api-client/api-error.ts";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { ApiError as KubeError } from "../../src/kube/client/api-error.ts";

/** Answers that no outage explains. */
export const unexpected: string[] = [];

const PAUSE_MS = 150;

/**
 * Tries again while a server is away, as people do. The call must be safe to repeat.
 *
 * @throws every error that is no outage, as it is.
 */
export async function persist<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      // Without a time limit, a frozen server would stop the story.
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
    // A defect of the platform, whichever process was killed.
    if (error.code === "INTERNAL_ERROR") unexpected.push(`platform: ${error.code} (request ${error.requestId})`);
    return error.isTransport || error.retryable;
  }
  // An API server that has just started has not loaded roles and tokens yet.
  if (error instanceof KubeError) return error.isTransient || error.isForbidden || error.isUnauthorized;
  return error instanceof DOMException && error.name === "TimeoutError";
}
