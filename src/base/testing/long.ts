import { test } from "vitest";

/**
 * Whether this run has the tests that take long and show what is rare: `npm run test:long`. `npm test` leaves them out,
 * because each change waits for it.
 */
// biome-ignore lint/style/noProcessEnv: a setting of the tests.
export const isLong = process.env.SALLYPORT_TEST_LONG === "1";

/** A test of a long run only. */
export const long = test.runIf(isLong);
