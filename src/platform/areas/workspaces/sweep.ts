import type { Sweep } from "../../kernel/sweeps/sweep.ts";

/** As long as the revoked keys and invitations that refer to it (§0.10). */
const KEEP_DELETED_MS = 400 * 86_400_000;

/** Deletes the records of workspaces that were deleted long ago. */
export const sweepWorkspaces: Sweep = async (db, now) => {
  const old = new Date(now.getTime() - KEEP_DELETED_MS);
  await db.deleteFrom("workspaces").where("deleted_at", "<", old).execute();
};
