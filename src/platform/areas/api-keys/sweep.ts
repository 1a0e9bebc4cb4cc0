import type { Sweep } from "../../kernel/sweeps/sweep.ts";

/**
 * §0.10. For this long a caller with the key gets the answer that it was revoked or has expired; later, that there is no such
 * key.
 */
const KEEP_ENDED_MS = 400 * 86_400_000;

/** Deletes keys that were revoked or expired long ago. */
export const sweepApiKeys: Sweep = async (db, now) => {
  const old = new Date(now.getTime() - KEEP_ENDED_MS);
  await db.deleteFrom("api_keys").where("revoked_at", "<", old).execute();
  await db.deleteFrom("api_keys").where("expires_at", "<", old).execute();
};
