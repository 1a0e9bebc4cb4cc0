import type { Db } from "../database/db.ts";
import { CODE_KIND } from "./oauth/adapter.ts";
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from "./users/session.ts";

/**
 * Deletes expired sessions and OAuth records. They cannot be used any more, and their reuse need not be detected any
 * more.
 */
export async function sweepIdentity(db: Db, now: Date): Promise<void> {
  const before = (ms: number): Date => new Date(now.getTime() - ms);
  await db
    .deleteFrom("sessions")
    .where((eb) =>
      eb.or([eb("last_used_at", "<=", before(SESSION_IDLE_MS)), eb("created_at", "<=", before(SESSION_LIFE_MS))]),
    )
    .execute();
  await db
    .deleteFrom("oauth_records as r")
    .where("r.expires_at", "<=", now)
    .where((eb) =>
      eb.or([
        eb("r.kind", "<>", CODE_KIND),
        eb("r.consumed_at", "is", null),
        eb.not(
          eb.exists(
            eb
              .selectFrom("oauth_records as g")
              .select("g.kind")
              .whereRef("g.grant_id", "=", "r.grant_id")
              .where("g.kind", "=", "Grant")
              .where("g.expires_at", ">", now),
          ),
        ),
      ]),
    )
    .execute();
}
