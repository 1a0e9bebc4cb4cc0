import { hash } from "node:crypto";
import type { Selectable } from "kysely";
import type { Role, ScopeType } from "../../../contract/roles.ts";
import type { Db } from "../../database.ts";
import { ALPHANUMERIC, LOWER_ALPHANUMERIC, newId, randomText } from "../../ids.ts";
import { json } from "../../kernel/json.ts";
import type { Scope } from "../../kernel/principal.ts";
import type { ApiKeyRow } from "./store.ts";

/** Every key is minted here: by the API, by group tokens, setup tokens, manager bootstrap and the server's commands. */
export interface NewKey {
  readonly workspaceId: string;
  readonly role: Role;
  readonly scope: Scope;
  readonly description?: string | null;
  readonly expiresAt?: Date | null;
  /** {id, email, image}; null when a key mints it. */
  readonly createdByUser?: object | null;
  readonly deploymentSetupConfig?: object | null;
  /** Makes it a setup token of that manager (§9). */
  readonly setupManagerId?: string | null;
}

const LETTERS: Readonly<Record<ScopeType, string>> = {
  workspace: "w",
  project: "p",
  deployment: "d",
  "deployment-group": "g",
  manager: "m",
};

/** `sp_<letter>_<keyId>_<secret>` (§1.1). */
export const KEY_FORMAT = /^sp_[wpdgm]_([0-9a-z]{12})_[0-9A-Za-z]{40}$/;

export function hashOfKey(key: string): string {
  return hash("sha256", key);
}

/** Stores the hash and returns the secret, which nobody can read again. */
export async function mintKey(db: Db, key: NewKey, now: Date): Promise<{ row: Selectable<ApiKeyRow>; secret: string }> {
  const keyId = randomText(12, LOWER_ALPHANUMERIC);
  const secret = `sp_${LETTERS[key.scope.type]}_${keyId}_${randomText(40, ALPHANUMERIC)}`;
  const ids = { projectId: null, deploymentId: null, deploymentGroupId: null, managerId: null, ...key.scope };
  const row = await db
    .insertInto("api_keys")
    .values({
      id: newId("apikey"),
      workspace_id: key.workspaceId,
      key_id: keyId,
      key_prefix: secret.slice(0, 12),
      secret_hash: hashOfKey(secret),
      type: key.scope.type,
      role: key.role,
      project_id: ids.projectId,
      deployment_id: ids.deploymentId,
      deployment_group_id: ids.deploymentGroupId,
      manager_id: ids.managerId,
      setup_manager_id: key.setupManagerId ?? null,
      description: key.description ?? null,
      enabled: true,
      deployment_setup_config: key.deploymentSetupConfig == null ? null : json(key.deploymentSetupConfig),
      created_by_user: key.createdByUser == null ? null : json(key.createdByUser),
      created_at: now,
      expires_at: key.expiresAt ?? null,
      last_used_at: null,
      revoked_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { row, secret };
}
