import type { WorkspaceMember } from "../../../contract/workspaces/members.ts";
import type { Db } from "../../database/db.ts";
import type { WorkspaceRole } from "../../database/tables/identity.ts";

interface MemberRow {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly image: string | null;
  readonly role: WorkspaceRole;
  readonly joined_at: Date;
}

export function membersOf(db: Db, workspaceId: string) {
  return db
    .selectFrom("workspace_members as m")
    .innerJoin("users as u", "u.id", "m.user_id")
    .select(["u.id", "u.email", "u.name", "u.image", "m.role", "m.created_at as joined_at"])
    .where("m.workspace_id", "=", workspaceId);
}

/** Whether the workspace has an admin other than this user. */
export async function hasOtherAdmin(db: Db, workspaceId: string, userId: string): Promise<boolean> {
  const other = await membersOf(db, workspaceId)
    .where("m.role", "=", "workspace.admin")
    .where("m.user_id", "!=", userId)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

export function toMember(row: MemberRow): WorkspaceMember {
  return {
    userId: row.id,
    email: row.email,
    name: row.name,
    image: row.image,
    role: row.role,
    joinedAt: row.joined_at.toISOString(),
  };
}
