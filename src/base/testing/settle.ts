/**
 * Lets all promises that can go on do so. A turn of the event loop runs every queued continuation, so that one is
 * enough for code whose only waiting is on a `FakeClock`; a second one for what such code hands to `setImmediate`.
 */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
