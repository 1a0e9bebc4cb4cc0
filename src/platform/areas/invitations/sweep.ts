import type { Sweep } from "../../kernel/sweeps/sweep.ts";
import { BY_HAND } from "./state.ts";

/** §0.10. */
const KEEP_MS = 400 * 86_400_000;
/** Longer than a typical outage of a mail server. */
const GIVE_UP_MS = 3_600_000;

/** Marks mails that could not be sent for an hour as failed, and deletes invitations that ended long ago. */
export const sweepInvitations: Sweep = async (db, now) => {
  const since = (ageMs: number) => new Date(now.getTime() - ageMs);
  await db
    .updateTable("invitations")
    .set({ delivery_status: "failed", delivery_until: null })
    .where("delivery_status", "=", "pending")
    .where((eb) => eb(eb.fn.coalesce("resent_at", "created_at"), "<", since(GIVE_UP_MS)))
    .where((eb) => eb.or([eb("delivery_until", "is", null), eb("delivery_until", "<", BY_HAND)]))
    .execute();
  const old = since(KEEP_MS);
  for (const table of ["invitations", "invite_links"] as const) {
    await db
      .deleteFrom(table)
      .where((eb) => eb.or([eb("revoked_at", "<", old), eb("expires_at", "<", old)]))
      .execute();
  }
  await db.deleteFrom("invitations").where("accepted_at", "<", old).execute();
};
