import type { Sweep } from "../../kernel/sweeps/sweep.ts";

/** §0.10. */
const KEEP_MS = 400 * 86_400_000;

/** Deletes old events. */
export const sweepEvents: Sweep = async (db, now) => {
  await db
    .deleteFrom("events")
    .where("created_at", "<", new Date(now.getTime() - KEEP_MS))
    .execute();
};
