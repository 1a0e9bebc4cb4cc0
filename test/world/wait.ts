import { sleep, systemClock } from "../../src/base/clock.ts";

/** Polls until another process's effect shows on a real server. */
export async function eventually<T>(
  read: () => Promise<T | undefined>,
  until: (value: T) => boolean,
  limitMs = 180_000,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  let last: T | undefined;
  while (Date.now() < deadline) {
    last = await read();
    if (last !== undefined && until(last)) return last;
    await sleep(systemClock, 25, signal());
  }
  throw new Error(`it did not come to pass within ${limitMs} ms; last seen: ${JSON.stringify(last, null, 1)}`);
}

/**
 * For agents, operators and controllers of tests: a process that cannot renew its lease in time ends itself, and nothing
 * starts it again here. One that is stopped gives its lease back at once; one that is killed needs {@link SHORT_LEASE}.
 */
export const PATIENT_LEASE = { SALLYPORT_LEASE_DURATION: "60s", SALLYPORT_RENEW_DEADLINE: "45s" };
/** Of a process of its own that is to be killed: the next one waits for so long. */
export const SHORT_LEASE = { SALLYPORT_LEASE_DURATION: "6s", SALLYPORT_RENEW_DEADLINE: "4s" };

export function signal(): AbortSignal {
  return AbortSignal.timeout(120_000);
}
