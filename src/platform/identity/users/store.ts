import type { Selectable } from "kysely";
import type { Db } from "../../database/db.ts";
import type { UserRow, WorkspaceRole } from "../../database/tables/identity.ts";
import { ALPHANUMERIC, newId, randomText } from "../../kernel/ids.ts";
import { hashOf } from "../../kernel/secret-hash.ts";

/** The form in which addresses are stored and compared. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase();
}

export function findUser(db: Db, id: string): Promise<Selectable<UserRow> | undefined> {
  return db.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirst();
}

/** Finds the user of that address, or creates it. Two sign-ins at once create one user. */
export async function findOrCreateUser(
  db: Db,
  { email, name, image = null }: { readonly email: string; readonly name?: string; readonly image?: string | null },
  now: Date,
): Promise<Selectable<UserRow>> {
  const address = normalEmail(email);
  await db
    .insertInto("users")
    .values({
      id: newId("usr"),
      email: address,
      name: name ?? address.split("@", 1)[0] ?? address,
      image,
      created_at: now,
    })
    .onConflict((conflict) => conflict.column("email").doNothing())
    .execute();
  return db.selectFrom("users").selectAll().where("email", "=", address).executeTakeFirstOrThrow();
}

/** The user's role in the workspace; undefined when the user is not a member. */
export async function findRole(db: Db, workspaceId: string, userId: string): Promise<WorkspaceRole | undefined> {
  const row = await db
    .selectFrom("workspace_members")
    .select("role")
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .executeTakeFirst();
  return row?.role;
}

/** Whether a user of that address is a member. */
export async function isMember(db: Db, workspaceId: string, address: string): Promise<boolean> {
  const member = await db
    .selectFrom("workspace_members as m")
    .innerJoin("users as u", "u.id", "m.user_id")
    .select("u.id")
    .where("m.workspace_id", "=", workspaceId)
    .where("u.email", "=", normalEmail(address))
    .executeTakeFirst();
  return member !== undefined;
}

/** Makes the user a member, or changes the member's role. */
export async function putMember(
  db: Db,
  workspaceId: string,
  userId: string,
  role: WorkspaceRole,
  now: Date,
): Promise<void> {
  await db
    .insertInto("workspace_members")
    .values({ workspace_id: workspaceId, user_id: userId, role, created_at: now })
    .onConflict((conflict) => conflict.columns(["workspace_id", "user_id"]).doUpdateSet({ role }))
    .execute();
}

/** @returns the cookie's value, which is stored only as a hash. */
export async function createSession(db: Db, userId: string, now: Date): Promise<string> {
  const secret = randomText(43, ALPHANUMERIC);
  await db
    .insertInto("sessions")
    .values({ id_hash: hashOf(secret), user_id: userId, created_at: now, last_used_at: now })
    .execute();
  return secret;
}

export async function endSession(db: Db, secret: string): Promise<void> {
  await db.deleteFrom("sessions").where("id_hash", "=", hashOf(secret)).execute();
}
