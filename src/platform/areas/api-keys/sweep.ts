import type { Sweep } from "../../kernel/sweeps/sweep.ts";

/** §0.10. A caller with the key is told so long that it was revoked or has expired, and then that there is none. */
const KEEP_ENDED_MS = 400 * 86_400_000;

/** Forgets keys that were revoked or expired long ago. */
export const sweepApiKeys: Sweep = async (db, now) => {
  const old = new Date(now.getTime() - KEEP_ENDED_MS);
  await db.deleteFrom("api_keys").where("revoked_at", "<", old).execute();
  await db.deleteFrom("api_keys").where("expires_at", "<", old).execute();
};
