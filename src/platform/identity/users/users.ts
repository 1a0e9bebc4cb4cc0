import type { Selectable } from "kysely";
import type { Db } from "../../database/db.ts";
import type { UserRow } from "../../database/tables/identity.ts";
import { type Arrival, ArrivalError } from "./outside-provider.ts";
import { findOrCreateUser } from "./store.ts";

/**
 * Finds or creates the user that an outside provider has authenticated. The provider's subject identifies the user. At
 * the first sign-in the verified address does, so that a user finds a membership that was given to the address earlier.
 * @throws ArrivalError when the address belongs to another subject here: at the provider it has passed to another
 * account.
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
    // Nothing was written: the user is linked to another subject, or the same subject signs in twice at this moment.
    if (linked === undefined && !(await isLinked(transaction, issuer, subject, user.id))) {
      throw new ArrivalError(
        "this email address belongs to another account here; ask the administrator of this platform",
      );
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
