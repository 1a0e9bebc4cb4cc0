import { WORKSPACE_ROLES } from "../../contract/wire/roles.ts";
import type { Db } from "../database/db.ts";
import { findOrCreateUser, putMember } from "../identity/users/store.ts";
import { RefusedError } from "./refused-error.ts";

export interface MemberOrder {
  readonly workspaceId: string;
  readonly email: string;
  readonly role: string;
}

export interface MemberLine {
  readonly userId: string;
  readonly email: string;
  readonly role: string;
  /** False: the member has never signed in. */
  readonly signedInBefore: boolean;
}

/**
 * Makes the user of that address a member, or changes the member's role. The user need not have signed in yet: the
 * first sign-in with that verified address finds the membership.
 * @throws RefusedError
 */
export async function addMember(db: Db, { workspaceId, email, role }: MemberOrder, now: Date): Promise<string> {
  const known = WORKSPACE_ROLES.find((each) => each === role);
  if (known === undefined) {
    throw new RefusedError(`${role} is no role of a member; there are ${WORKSPACE_ROLES.join(", ")}`);
  }
  if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw new RefusedError(`${email} is no email address`);
  const user = await findOrCreateUser(db, { email }, now);
  await putMember(db, workspaceId, user.id, known, now);
  return user.id;
}

export async function listMembers(db: Db, workspaceId: string): Promise<readonly MemberLine[]> {
  const rows = await db
    .selectFrom("workspace_members as m")
    .innerJoin("users as u", "u.id", "m.user_id")
    .select(["u.id", "u.email", "m.role"])
    .select((eb) =>
      eb
        .exists(eb.selectFrom("user_identities as i").select("i.subject").whereRef("i.user_id", "=", "u.id"))
        .as("known"),
    )
    .where("m.workspace_id", "=", workspaceId)
    .orderBy("u.email")
    .execute();
  return rows.map(({ id, email, role, known }) => ({ userId: id, email, role, signedInBefore: Boolean(known) }));
}
