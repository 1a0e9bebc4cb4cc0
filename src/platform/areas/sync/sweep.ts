import type { Sweep } from "../../kernel/sweeps/sweep.ts";

/** §0.10 and §11.6. */
const KEEP_ACQUIRES_MS = 3_600_000;
const KEEP_REMOVED_MS = 7 * 86_400_000;

/** Deletes the answers of acquires after an hour, and what was removed from the reports after a week. */
export const sweepReports: Sweep = async (db, now) => {
  const before = (keepMs: number) => new Date(now.getTime() - keepMs);
  await db.deleteFrom("acquires").where("created_at", "<", before(KEEP_ACQUIRES_MS)).execute();
  for (const table of ["inventory_rows", "resource_heartbeats"] as const) {
    await db.deleteFrom(table).where("removed_at", "<", before(KEEP_REMOVED_MS)).execute();
  }
};
