import type { Sweep } from "../../kernel/sweep.ts";

/** §0.10. Whoever holds the key is told so long that it was revoked, and then that there is none. */
const KEEP_REVOKED_MS = 400 * 86_400_000;

/** Forgets keys that were revoked long ago. */
export const sweepApiKeys: Sweep = async (db, now) => {
  const old = new Date(now.getTime() - KEEP_REVOKED_MS);
  await db.deleteFrom("api_keys").where("revoked_at", "<", old).execute();
};
