import type { Selectable } from "kysely";
import type { AgentSettings, Membership, Workspace } from "../../../contract/workspaces/workspaces.ts";
import type { Db } from "../../database/db.ts";
import type { WorkspaceRole } from "../../database/tables/identity.ts";
import type { WorkspaceRow, WorkspaceSettingsRow } from "../../database/tables/workspaces.ts";
import { PlatformError } from "../../kernel/errors.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";

export type Settings = Pick<AgentSettings, "enabled" | "debugPermissionMode">;

/** The settings of a workspace that has never changed them (§22). */
export const DEFAULT_SETTINGS: Settings = { enabled: true, debugPermissionMode: "auto" };

/** Whether keys may act in the workspace, and whether debug sessions need an approval. */
export async function settingsOf(db: Db, workspaceId: string): Promise<Settings> {
  const row = await findSettings(db, workspaceId);
  if (row === undefined) return DEFAULT_SETTINGS;
  return { enabled: row.enabled, debugPermissionMode: row.debug_permission_mode };
}

/**
 * Refuses keys that start work in customers' clusters in a workspace that has switched that off (§22). Users are never
 * refused.
 * @throws FORBIDDEN
 */
export async function refuseAutomation(
  { db, principal }: { readonly db: Db; readonly principal: Principal },
  settings?: Settings,
): Promise<void> {
  if (principal.kind === "user") return;
  if ((settings ?? (await settingsOf(db, principal.workspaceId))).enabled) return;
  throw new PlatformError("FORBIDDEN", {
    message: "API keys may not start operations in this workspace",
    hint: "sign in as a user, or ask an admin for the workspace's setting `enabled`",
  });
}

export function findSettings(db: Db, workspaceId: string): Promise<Selectable<WorkspaceSettingsRow> | undefined> {
  return db.selectFrom("workspace_settings").selectAll().where("workspace_id", "=", workspaceId).executeTakeFirst();
}

/** Workspaces that are not deleted, without the platform's own. */
export function liveWorkspaces(db: Db) {
  return db
    .selectFrom("workspaces as w")
    .selectAll("w")
    .where("w.deleted_at", "is", null)
    .where("w.is_system", "=", false);
}

/** The workspaces of a user, with the user's role in each. */
export function workspacesOfUser(db: Db, userId: string) {
  return liveWorkspaces(db)
    .innerJoin("workspace_members as m", "m.workspace_id", "w.id")
    .select("m.role")
    .where("m.user_id", "=", userId);
}

export function toWorkspace(row: Selectable<WorkspaceRow>): Workspace {
  return { id: row.id, name: row.name, logoUrl: row.logo_url, createdAt: row.created_at.toISOString() };
}

export function toMembership(row: Selectable<WorkspaceRow> & { readonly role: WorkspaceRole }): Membership {
  return { ...toWorkspace(row), role: row.role };
}
