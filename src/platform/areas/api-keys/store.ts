import type { ColumnType, Generated, Selectable, UpdateObject } from "kysely";
import type { ApiKey, ApiKeyWithCreator } from "../../../contract/api-keys/api-keys.ts";
import type { Role, ScopeType } from "../../../contract/wire/roles.ts";
import type { Database, Db } from "../../database.ts";
import type { Principal } from "../../kernel/principal.ts";
import { visible } from "../../kernel/scope.ts";
import type { KeyRights } from "./rights.ts";

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
  deployment_setup_config: ColumnType<ApiKey["deploymentSetupConfig"], unknown>;
  /** {id, email, image} of the user who minted it; null when a key did. */
  created_by_user: ColumnType<ApiKeyWithCreator["createdByUser"], unknown>;
  /** The key or user that minted it; null when a command of the server did. */
  minted_by: Generated<string | null>;
  /**
   * The key or user that a workspace admin let in and that this key comes from, over however many keys; null when an admin,
   * a manager's setup or the server minted it itself.
   */
  minted_root: Generated<string | null>;
  /** The deployment group whose token, or whose deployment's token, minted it; null when the vendor's side did. */
  minted_for: Generated<string | null>;
  /** Of a setup token: when the runtime key ends that its bootstrap mints; null: not by time. */
  heirs_expire_at: Generated<Date | null>;
  created_at: Date;
  expires_at: Date | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

const SCOPE = { workspace: "k.workspace_id", project: "k.project_id" } as const;

/** The keys that the caller may see and change. */
export function keysOf(db: Db, principal: Principal, rights: KeyRights) {
  return db
    .selectFrom("api_keys as k")
    .selectAll("k")
    .where(visible(principal, SCOPE))
    .where("k.role", "in", rights.roles);
}

export function updateKey(db: Db, id: string, set: UpdateObject<Database, "api_keys">): Promise<Selectable<ApiKeyRow>> {
  return db.updateTable("api_keys").set(set).where("id", "=", id).returningAll().executeTakeFirstOrThrow();
}

/** Revoking again keeps the first time. */
export async function revokeKey(db: Db, id: string, now: Date): Promise<void> {
  await db
    .updateTable("api_keys")
    .set({ revoked_at: now })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .execute();
}

export async function removeKeys(db: Db, workspaceId: string, ids: readonly string[]): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom("api_keys")
    .where("workspace_id", "=", workspaceId)
    .where("id", "in", ids)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export function toApiKey(row: Selectable<ApiKeyRow>): ApiKey {
  return {
    id: row.id,
    description: row.description,
    keyPrefix: row.key_prefix,
    type: row.type,
    role: row.role,
    workspaceId: row.workspace_id,
    projectId: row.project_id,
    deploymentId: row.deployment_id,
    deploymentGroupId: row.deployment_group_id,
    managerId: row.manager_id,
    enabled: row.enabled,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
    deploymentSetupConfig: row.deployment_setup_config,
  };
}

export function toApiKeyWithCreator(row: Selectable<ApiKeyRow>): ApiKeyWithCreator {
  return { ...toApiKey(row), createdByUser: row.created_by_user };
}
