import type { ColumnType, Generated } from "kysely";
import type { ApiKey, ApiKeyWithCreator } from "../../../contract/api-keys/api-keys.ts";
import type { Role, ScopeType } from "../../../contract/wire/roles.ts";

export interface ApiKeyTables {
  api_keys: ApiKeyRow;
}

export interface ApiKeyRow {
  id: string;
  workspace_id: string;
  /** The 12 characters by which a presented key is found. The rest of the key is stored only as a hash. */
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
  /**
   * {metadata, policy, environmentVariables, items}; only on group keys. The values of variables are not stored here.
   */
  deployment_setup_config: ColumnType<ApiKey["deploymentSetupConfig"], unknown>;
  /** {id, email, image} of the user who minted it; null when a key did. */
  created_by_user: ColumnType<ApiKeyWithCreator["createdByUser"], unknown>;
  /** The key or user that minted it; null when a command of the server did. */
  minted_by: Generated<string | null>;
  /**
   * The first key or user, admitted by a workspace admin, from which this key descends through any number of keys; null
   * when an admin, a manager's setup or the server minted it itself.
   */
  minted_root: Generated<string | null>;
  /**
   * The deployment group whose token, or whose deployment's token, minted it; null when the vendor's side minted it.
   */
  minted_for: Generated<string | null>;
  /** For a setup token: when the runtime key expires that its bootstrap mints; null: never. */
  heirs_expire_at: Generated<Date | null>;
  created_at: Date;
  expires_at: Date | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
}
