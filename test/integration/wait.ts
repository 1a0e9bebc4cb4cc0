import { sleep, systemClock } from "../../src/base/clock.ts";

/** Polls until another process's effect shows on a real server. */
export async function eventually<T>(
  read: () => Promise<T | undefined>,
  until: (value: T) => boolean,
  limitMs = 90_000,
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

export function signal(): AbortSignal {
  return AbortSignal.timeout(120_000);
}
