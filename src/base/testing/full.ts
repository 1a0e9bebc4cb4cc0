import { test } from "vitest";

/**
 * Whether this run is of the full tier: `npm run test:full`. `npm test` leaves out what takes long and shows what is rare,
 * because each change waits for it.
 */
// biome-ignore lint/style/noProcessEnv: a setting of the tests.
export const isFull = process.env.SALLYPORT_TEST_FULL === "1";

/** A test of the full tier only. */
export const fullOnly = test.runIf(isFull);
