/** Waits for `done`, or rejects with `signal.reason`, whichever is first. Leaves no listener behind. */
export async function orAborted<T>(done: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([done, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
