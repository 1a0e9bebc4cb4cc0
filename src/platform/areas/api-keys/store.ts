import type { Selectable, UpdateObject } from "kysely";
import type { ApiKey, ApiKeyWithCreator } from "../../../contract/api-keys/api-keys.ts";
import type { Database, Db } from "../../database/db.ts";
import type { ApiKeyRow } from "../../database/tables/api-keys.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import type { KeyRights } from "./rights.ts";

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

/** Revoking a revoked key keeps the first time. */
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
