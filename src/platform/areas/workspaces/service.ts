import type { Selectable } from "kysely";
import type { BodyOf } from "../../../contract/wire/route.ts";
import type { AgentSettings, workspaceRoutes } from "../../../contract/workspaces/workspaces.ts";
import type { WorkspaceRow } from "../../database/tables/workspaces.ts";
import { putMember } from "../../identity/users/store.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import type { Person, User } from "../../kernel/tenancy/principal.ts";
import { DEFAULT_SETTINGS, findSettings, liveWorkspaces } from "./store.ts";

type Body<K extends "create" | "patch" | "patchSettings"> = BodyOf<(typeof workspaceRoutes)[K]>;
type Context = Pick<Call, "db" | "now" | "workspaceId">;

/** @throws NOT_FOUND when it has been deleted. */
export async function getWorkspace({ db }: Pick<Call, "db">, id: string): Promise<Selectable<WorkspaceRow>> {
  const row = await liveWorkspaces(db).where("w.id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("workspace");
  return row;
}

/** @throws NAME_TAKEN. Of two requests that create the same name, the index refuses one. */
export async function createWorkspace(
  { db, now, budgets }: Pick<Call, "db" | "now" | "budgets">,
  { id: userId }: User | Person,
  { name, logoUrl }: Body<"create">,
): Promise<Selectable<WorkspaceRow>> {
  const taken = await db
    .selectFrom("workspaces")
    .select("id")
    .where("name", "=", name)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  if (taken !== undefined) throw new PlatformError("NAME_TAKEN");
  const { made } = await db
    .selectFrom("workspaces")
    .select((eb) => eb.fn.countAll<number>().as("made"))
    .where("created_by", "=", userId)
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow();
  budgets.require("user-workspaces", userId, Number(made) + 1);
  const row = await db
    .insertInto("workspaces")
    .values({ id: newId("ws"), name, is_system: false, logo_url: logoUrl ?? null, created_by: userId, created_at: now })
    .returningAll()
    .executeTakeFirstOrThrow();
  await putMember(db, row.id, userId, "workspace.admin", now);
  return row;
}

export async function patchWorkspace(call: Context, { logoUrl }: Body<"patch">): Promise<Selectable<WorkspaceRow>> {
  if (logoUrl !== undefined) {
    await call.db
      .updateTable("workspaces")
      .set({ logo_url: logoUrl })
      .where("id", "=", call.workspaceId)
      .where("deleted_at", "is", null)
      .execute();
  }
  return getWorkspace(call, call.workspaceId);
}

/**
 * Deletes a workspace. Keys, invitations and links stay as revoked records, because a client may still present their
 * secrets. Everything else is deleted.
 * @throws FORBIDDEN for keys; WORKSPACE_NOT_EMPTY.
 */
export async function deleteWorkspace(call: Context & Pick<Call, "principal">): Promise<void> {
  const { db, now, principal, workspaceId } = call;
  if (principal.kind !== "user") throw new PlatformError("FORBIDDEN", { message: "a key may not delete a workspace" });
  await getWorkspace(call, workspaceId);
  const project = await db
    .selectFrom("projects")
    .select("id")
    .where("workspace_id", "=", workspaceId)
    .limit(1)
    .executeTakeFirst();
  if (project !== undefined) throw new PlatformError("WORKSPACE_NOT_EMPTY");
  for (const table of ["api_keys", "invitations", "invite_links"] as const) {
    const live = db.updateTable(table).set({ revoked_at: now }).where("workspace_id", "=", workspaceId);
    const unsettled = live.where("revoked_at", "is", null);
    await (table === "invitations" ? unsettled.where("accepted_at", "is", null) : unsettled).execute();
  }
  const managers = db.selectFrom("managers").select("id").where("workspace_id", "=", workspaceId);
  await db.deleteFrom("work_feed").where("manager_id", "in", managers).execute();
  for (const table of ["workspace_members", "workspace_settings", "managers", "events"] as const) {
    await db.deleteFrom(table).where("workspace_id", "=", workspaceId).execute();
  }
  await db.updateTable("workspaces").set({ deleted_at: now }).where("id", "=", workspaceId).execute();
}

export async function getSettings(call: Pick<Call, "db" | "workspaceId">): Promise<AgentSettings> {
  const { db, workspaceId } = call;
  const row = await findSettings(db, workspaceId);
  if (row === undefined) {
    const createdAt = (await getWorkspace(call, workspaceId)).created_at.toISOString();
    return { workspaceId, ...DEFAULT_SETTINGS, createdAt, updatedAt: createdAt };
  }
  return {
    workspaceId,
    enabled: row.enabled,
    debugPermissionMode: row.debug_permission_mode,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

export async function patchSettings(call: Context, change: Body<"patchSettings">): Promise<AgentSettings> {
  const { db, now, workspaceId } = call;
  const before = await getSettings(call);
  const { enabled, debugPermissionMode } = { ...before, ...change };
  if (enabled === before.enabled && debugPermissionMode === before.debugPermissionMode) return before;
  const set = { enabled, debug_permission_mode: debugPermissionMode, updated_at: now };
  await db
    .insertInto("workspace_settings")
    .values({ workspace_id: workspaceId, created_at: new Date(before.createdAt), ...set })
    .onConflict((conflict) => conflict.column("workspace_id").doUpdateSet(set))
    .execute();
  return getSettings(call);
}
