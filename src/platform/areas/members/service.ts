import type { WorkspaceMember } from "../../../contract/workspaces/members.ts";
import type { WorkspaceRole } from "../../database/tables/identity.ts";
import { putMember } from "../../identity/users/store.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { hasOtherAdmin, membersOf, toMember } from "./store.ts";

type Context = Pick<Call, "db" | "now" | "workspaceId">;

async function getMember({ db, workspaceId }: Context, userId: string): Promise<WorkspaceMember> {
  const row = await membersOf(db, workspaceId).where("m.user_id", "=", userId).executeTakeFirst();
  if (row === undefined) throw notFound("member");
  return toMember(row);
}

export async function changeRole(call: Context, userId: string, role: WorkspaceRole): Promise<WorkspaceMember> {
  const { db, now, workspaceId } = call;
  const member = await getMember(call, userId);
  if (member.role === "workspace.admin" && role !== "workspace.admin") await requireOtherAdmin(call, userId);
  await putMember(db, workspaceId, userId, role, now);
  return { ...member, role };
}

/**
 * Removes a member. Its rights end at once, because every request reads the role.
 * @throws FORBIDDEN unless the caller is an admin or the member itself.
 */
export async function removeMember(call: Context & Pick<Call, "principal">, userId: string): Promise<void> {
  const { db, principal, workspaceId } = call;
  if (principal.role !== "workspace.admin" && principal.id !== userId) {
    const requiredRoles = ["workspace.admin"];
    throw new PlatformError("FORBIDDEN", { message: "only an admin removes others", context: { requiredRoles } });
  }
  const { role } = await getMember(call, userId);
  if (role === "workspace.admin") await requireOtherAdmin(call, userId);
  await db
    .deleteFrom("workspace_members")
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .execute();
}

/** When two admins leave at once, the serialisable transactions conflict, and the one that runs again is refused. */
async function requireOtherAdmin({ db, workspaceId }: Context, userId: string): Promise<void> {
  if (!(await hasOtherAdmin(db, workspaceId, userId))) throw new PlatformError("LAST_ADMIN");
}
