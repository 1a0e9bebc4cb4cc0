import type { ColumnType, Generated } from "kysely";
import type { AgentSettings } from "../../../contract/workspaces/workspaces.ts";

export interface WorkspaceRow {
  id: string;
  name: string;
  /** The one workspace of the server itself, where system managers and their keys live. */
  is_system: boolean;
  logo_url: Generated<string | null>;
  created_at: Date;
  /** The user who made it; null when a command of the server did. */
  created_by: Generated<string | null>;
  /** Only the record is left, as long as the revoked keys and invitations that name it. */
  deleted_at: Generated<Date | null>;
}

export interface WorkspaceTables {
  workspaces: WorkspaceRow;
  workspace_settings: WorkspaceSettingsRow;
}

/** Absent as long as nobody has changed them. */
export interface WorkspaceSettingsRow {
  workspace_id: string;
  enabled: boolean;
  debug_permission_mode: AgentSettings["debugPermissionMode"];
  created_at: ColumnType<Date, Date, never>;
  updated_at: Date;
}
