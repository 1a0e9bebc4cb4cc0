import type { ColumnType, Generated } from "kysely";
import type { AgentSettings } from "../../../contract/workspaces/workspaces.ts";

export interface WorkspaceRow {
  id: string;
  name: string;
  /** The server's own workspace, with the system managers and their keys. There is only one. */
  is_system: boolean;
  logo_url: Generated<string | null>;
  created_at: Date;
  /** The user who made it; null when a command of the server did. */
  created_by: Generated<string | null>;
  /** After the deletion only this record is left, as long as revoked keys and invitations refer to it. */
  deleted_at: Generated<Date | null>;
}

export interface WorkspaceTables {
  workspaces: WorkspaceRow;
  workspace_settings: WorkspaceSettingsRow;
}

/** There is no row until a member changes a setting. */
export interface WorkspaceSettingsRow {
  workspace_id: string;
  enabled: boolean;
  debug_permission_mode: AgentSettings["debugPermissionMode"];
  created_at: ColumnType<Date, Date, never>;
  updated_at: Date;
}
