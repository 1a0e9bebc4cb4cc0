import type { Selectable } from "kysely";
import type { Role, ScopeType } from "../../../contract/wire/roles.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { ApiKeyRow } from "../../database/tables/api-keys.ts";
import type { Call } from "../../kernel/call/call.ts";
import { ALPHANUMERIC, LOWER_ALPHANUMERIC, newId, randomText } from "../../kernel/ids.ts";
import { hashOf } from "../../kernel/secret-hash.ts";
import type { Scope, ServiceAccount } from "../../kernel/tenancy/principal.ts";
import { requireKeyBudget } from "./key-budget.ts";

/** A key to create: by the API, group tokens, setup tokens, manager bootstrap or the server's commands. */
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

/** The columns about the minter, when that is a caller of the API. */
interface Minted {
  readonly minted_by: string;
  readonly minted_root: string | null;
  readonly minted_for: string | null;
  readonly heirs_expire_at: Date | null;
}

const LETTERS: Readonly<Record<ScopeType, string>> = {
  workspace: "w",
  project: "p",
  deployment: "d",
  "deployment-group": "g",
  manager: "m",
};

export interface MintedKey {
  readonly row: Selectable<ApiKeyRow>;
  readonly secret: string;
}

type Context = Pick<Call, "db" | "now" | "principal" | "budgets">;

/**
 * Mints a key for a caller. The key ends with the caller's own key at the latest, and counts in its tenant's budgets.
 * Every route that returns a new key uses this function.
 * @throws BUDGET_EXCEEDED, RATE_LIMITED for too many within an hour, or VALIDATION_ERROR for the workspace's own limit.
 */
export async function mintKey(call: Context, key: NewKey): Promise<MintedKey> {
  const { db, now, principal } = call;
  const { own, minted_root } = await minterOf(call);
  const expiresAt = earlier(key.expiresAt ?? null, own);
  const minted_for = principal.kind === "user" ? null : await customerOf(db, principal);
  const heirs_expire_at = key.setupManagerId == null ? null : own;
  const minted = { minted_by: principal.id, minted_root, minted_for, heirs_expire_at };
  const fresh = await insertKey(db, { ...key, expiresAt }, now, minted);
  await requireKeyBudget(call, fresh.row);
  return fresh;
}

interface Minter {
  /** When the minting key expires. */
  readonly own: Date | null;
  readonly minted_root: string | null;
}

/**
 * For a setup token: the runtime key replaces it, so it gets the expiry and the tenant of the key that minted the setup
 * token.
 */
async function minterOf({ db, principal }: Context): Promise<Minter> {
  const isAdmin = principal.role === "workspace.admin";
  if (principal.kind === "user") return { own: null, minted_root: isAdmin ? null : principal.id };
  const row = await db
    .selectFrom("api_keys")
    .select(["heirs_expire_at", "minted_root"])
    .where("id", "=", principal.id)
    .executeTakeFirstOrThrow();
  if (principal.setupFor !== null) return { own: row.heirs_expire_at, minted_root: row.minted_root };
  return { own: principal.expiresAt, minted_root: isAdmin ? null : (row.minted_root ?? principal.id) };
}

function earlier(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

/** The group of a customer's key. None for a setup token: its group is hidden and belongs to no customer. */
async function customerOf(db: Db, { scope, setupFor }: ServiceAccount): Promise<string | null> {
  if (setupFor !== null) return null;
  if (scope.type === "deployment-group") return scope.deploymentGroupId;
  if (scope.type !== "deployment") return null;
  const row = await db
    .selectFrom("deployments")
    .select("deployment_group_id")
    .where("id", "=", scope.deploymentId)
    .executeTakeFirst();
  return row?.deployment_group_id ?? null;
}

/**
 * Stores the hash of a new key and returns the secret, which cannot be read again. Only the server's own commands call
 * it directly.
 */
export async function insertKey(db: Db, key: NewKey, now: Date, minted?: Minted): Promise<MintedKey> {
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
      secret_hash: hashOf(secret),
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
      ...minted,
      created_at: now,
      expires_at: key.expiresAt ?? null,
      last_used_at: null,
      revoked_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { row, secret };
}
