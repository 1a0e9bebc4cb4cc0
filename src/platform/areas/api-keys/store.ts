import type { Role, ScopeType } from "../../../contract/roles.ts";

export interface ApiKeyTables {
  api_keys: ApiKeyRow;
}

export interface ApiKeyRow {
  id: string;
  workspace_id: string;
  /** The 12 characters by which a presented key is found; the rest of it is only a hash here. */
  key_id: string;
  key_prefix: string;
  /** SHA-256 of the whole key, hex. */
  secret_hash: string;
  type: ScopeType;
  role: Role;
  project_id: string | null;
  deployment_id: string | null;
  deployment_group_id: string | null;
  manager_id: string | null;
  /** Set on a setup token: the manager it may bootstrap (§9). */
  setup_manager_id: string | null;
  description: string | null;
  enabled: boolean;
  /** {metadata, policy, environmentVariables, items}; only on group keys. Values of variables are not kept here. */
  deployment_setup_config: unknown;
  /** {id, email, image} of the user who minted it; null when a key did. */
  created_by_user: unknown;
  created_at: Date;
  expires_at: Date | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
}
