import type { Selectable } from "kysely";
import type { Db } from "../../database/db.ts";
import type { ApiKeyRow } from "../../database/tables/api-keys.ts";
import { type Authenticator, bearerOf, type Credential } from "../../kernel/call/credential.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { matchesHash } from "../../kernel/secret-hash.ts";
import type { Scope, ServiceAccount } from "../../kernel/tenancy/principal.ts";
import { LiveKeys } from "./live-keys.ts";

type KeyRow = Selectable<ApiKeyRow> & { readonly workspace_name: string; readonly is_system: boolean };

/** Authenticates `Authorization: Bearer sp_…`. */
export function apiKeys(db: Db): Authenticator {
  const liveKeys = new LiveKeys(db);
  return async ({ headers }, now) => {
    const bearer = bearerOf(headers);
    if (bearer === undefined) return undefined;
    const row = await findKey(db, bearer);
    refuseDead(row, now);
    await markUsed(db, row, now);
    return credentialOf(liveKeys, row);
  };
}

/** `sp_<letter>_<keyId>_<secret>` (§1.1). */
const KEY_FORMAT = /^sp_[wpdgm]_([0-9a-z]{12})_[0-9A-Za-z]{40}$/;

function keyRows(db: Db) {
  return db
    .selectFrom("api_keys as k")
    .innerJoin("workspaces as w", "w.id", "k.workspace_id")
    .selectAll("k")
    .select(["w.name as workspace_name", "w.is_system"]);
}

async function findKey(db: Db, bearer: string): Promise<KeyRow> {
  const keyId = KEY_FORMAT.exec(bearer)?.[1];
  const row = await keyRows(db)
    .where("k.key_id", "=", keyId ?? "")
    .executeTakeFirst();
  const matches = matchesHash(bearer, row?.secret_hash);
  if (row === undefined || !matches) throw new PlatformError("API_KEY_INVALID");
  return row;
}

function refuseDead(row: KeyRow, now: Date): void {
  if (row.revoked_at !== null) throw new PlatformError("API_KEY_REVOKED");
  if (!row.enabled) throw new PlatformError("API_KEY_DISABLED");
  if (row.expires_at !== null && row.expires_at <= now) throw new PlatformError("API_KEY_EXPIRED");
}

/**
 * The principal of the key that an upload address was handed out to.
 * @throws a 401 once the key has been revoked, disabled or has expired.
 */
export async function holderOfKey(db: Db, id: string, now: Date): Promise<ServiceAccount> {
  const row = await keyRows(db).where("k.id", "=", id).executeTakeFirst();
  if (row === undefined) throw new PlatformError("API_KEY_INVALID");
  refuseDead(row, now);
  return serviceAccount(row);
}

/** Stored at most once a minute for each key (§1.1), so that reads do not cause writes. */
const USED_EVERY_MS = 60_000;

async function markUsed(db: Db, row: KeyRow, now: Date): Promise<void> {
  const last = row.last_used_at;
  if (last !== null && now.getTime() - last.getTime() < USED_EVERY_MS) return;
  await db.updateTable("api_keys").set({ last_used_at: now }).where("id", "=", row.id).execute();
}

function credentialOf(liveKeys: LiveKeys, row: KeyRow): Credential {
  return {
    ...payerOf(row),
    async inWorkspace({ name, id }) {
      if (name !== undefined && name !== row.workspace_name) throw new PlatformError("WORKSPACE_MISMATCH");
      if (id !== undefined && id !== row.workspace_id) throw notFound("workspace");
      return serviceAccount(row);
    },
    lives: (now) => liveKeys.lives(row.id, now),
  };
}

/** All keys of a manager share one rate limit. */
function payerOf(row: KeyRow): Pick<Credential, "caller" | "rate" | "tenant"> {
  if (row.manager_id !== null) return { caller: row.manager_id, rate: "manager" };
  const customer = row.deployment_group_id ?? row.minted_for ?? row.deployment_id;
  const tenant = { id: customer ?? row.workspace_id, rate: customer === null ? "workspace" : "customer" } as const;
  return { caller: row.id, rate: "standard", tenant };
}

function serviceAccount(row: KeyRow): ServiceAccount {
  return {
    kind: "serviceAccount",
    id: row.id,
    workspaceId: row.workspace_id,
    workspaceName: row.workspace_name,
    role: row.role,
    scope: scopeOfRow(row),
    expiresAt: row.expires_at,
    system: row.is_system,
    setupFor: row.setup_manager_id,
  };
}

/** The scope in a key's columns. @throws Error for a row that the platform cannot have written. */
function scopeOfRow(row: Selectable<ApiKeyRow>): Scope {
  const projectId = row.project_id;
  if (row.type === "workspace") return { type: "workspace" };
  if (row.type === "manager" && row.manager_id !== null) return { type: "manager", managerId: row.manager_id };
  if (projectId !== null) {
    if (row.type === "project") return { type: "project", projectId };
    if (row.type === "deployment" && row.deployment_id !== null) {
      return { type: "deployment", deploymentId: row.deployment_id, projectId };
    }
    if (row.type === "deployment-group" && row.deployment_group_id !== null) {
      return { type: "deployment-group", deploymentGroupId: row.deployment_group_id, projectId };
    }
  }
  throw new Error(`api key ${row.id} has no object for its ${row.type} scope`);
}
