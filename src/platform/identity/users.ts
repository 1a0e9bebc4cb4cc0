import type { Selectable } from "kysely";
import type { Db } from "../database/db.ts";
import type { UserRow } from "../database/tables/identity.ts";
import { type Arrival, ArrivalError } from "./outside-provider.ts";
import { findOrCreateUser } from "./store.ts";

/**
 * The user that an outside provider vouches for. Its subject decides; at the first sign-in its verified address, so that
 * who was made a member beforehand finds that membership.
 * @throws ArrivalError when the address is another subject's here: at the provider it has passed to somebody else.
 */
export async function userOfArrival(db: Db, arrival: Arrival, now: Date): Promise<Selectable<UserRow>> {
  const { issuer, subject, email, name, image } = arrival;
  return db.transaction().execute(async (transaction) => {
    const known = await transaction
      .selectFrom("user_identities as i")
      .innerJoin("users as u", "u.id", "i.user_id")
      .selectAll("u")
      .where("i.issuer", "=", issuer)
      .where("i.subject", "=", subject)
      .executeTakeFirst();
    if (known !== undefined) return known;
    const details = { email, ...(name !== undefined && { name }), ...(image !== undefined && { image }) };
    const user = await findOrCreateUser(transaction, details, now);
    const linked = await transaction
      .insertInto("user_identities")
      .values({ issuer, subject, user_id: user.id, created_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .returning("user_id")
      .executeTakeFirst();
    // Nothing was written: another subject holds this user, or the same one signs in twice at this moment.
    if (linked === undefined && !(await isLinked(transaction, issuer, subject, user.id))) {
      throw new ArrivalError("this email address belongs to another account here; ask whoever runs this platform");
    }
    return user;
  });
}

async function isLinked(db: Db, issuer: string, subject: string, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom("user_identities")
    .select("user_id")
    .where("issuer", "=", issuer)
    .where("subject", "=", subject)
    .executeTakeFirst();
  return row?.user_id === userId;
}
