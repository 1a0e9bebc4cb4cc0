import type { Db } from "../database.ts";
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from "./session.ts";

/** Sessions and OAuth records whose time is over: nobody can use them any more. */
export async function sweepIdentity(db: Db, now: Date): Promise<void> {
  const before = (ms: number): Date => new Date(now.getTime() - ms);
  await db
    .deleteFrom("sessions")
    .where((eb) =>
      eb.or([eb("last_used_at", "<=", before(SESSION_IDLE_MS)), eb("created_at", "<=", before(SESSION_LIFE_MS))]),
    )
    .execute();
  await db.deleteFrom("oauth_records").where("expires_at", "<=", now).execute();
}
