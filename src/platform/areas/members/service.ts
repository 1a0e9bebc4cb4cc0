import type { WorkspaceMember } from "../../../contract/workspaces/members.ts";
import type { WorkspaceRole } from "../../database/tables/identity.ts";
import { putMember } from "../../identity/store.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { hasOtherAdmin, membersOf, toMember } from "./store.ts";

type Context = Pick<Call, "db" | "now" | "workspaceId">;

export async function getMember({ db, workspaceId }: Context, userId: string): Promise<WorkspaceMember> {
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

/** Its rights end with the row: every request reads the role. @throws FORBIDDEN unless an admin's or one's own. */
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

/** Two admins who go at once have each read the other: the transaction is serialisable, so one of them reads again. */
async function requireOtherAdmin({ db, workspaceId }: Context, userId: string): Promise<void> {
  if (!(await hasOtherAdmin(db, workspaceId, userId))) throw new PlatformError("LAST_ADMIN");
}
