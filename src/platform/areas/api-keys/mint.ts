import { hash } from "node:crypto";
import type { Selectable } from "kysely";
import type { Role, ScopeType } from "../../../contract/roles.ts";
import type { Db } from "../../database.ts";
import { ALPHANUMERIC, LOWER_ALPHANUMERIC, newId, randomText } from "../../ids.ts";
import type { Call } from "../../kernel/call.ts";
import { json } from "../../kernel/json.ts";
import type { Scope, ServiceAccount } from "../../kernel/principal.ts";
import { type ApiKeyRow, liveKeys } from "./store.ts";

/** A key to be: of the API, of group tokens, setup tokens, manager bootstrap or the server's commands. */
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

/** Who mints it, as far as it is a caller of the API. */
interface Minted {
  readonly minted_by: string;
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

/** `sp_<letter>_<keyId>_<secret>` (§1.1). */
export const KEY_FORMAT = /^sp_[wpdgm]_([0-9a-z]{12})_[0-9A-Za-z]{40}$/;

export function hashOfKey(key: string): string {
  return hash("sha256", key);
}

export interface MintedKey {
  readonly row: Selectable<ApiKeyRow>;
  readonly secret: string;
}

type Context = Pick<Call, "db" | "now" | "principal" | "budgets">;

/**
 * Mints a key for a caller: it ends with the key that mints it, at the latest, and counts in its tenant's budgets.
 * Every route that answers with a new key comes through here.
 * @throws BUDGET_EXCEEDED, or VALIDATION_ERROR for the workspace's own limit.
 */
export async function mintKey(call: Context, key: NewKey): Promise<MintedKey> {
  const { db, now, principal } = call;
  const own = await endOfMinter(call);
  const expiresAt = earlier(key.expiresAt ?? null, own);
  const minted_for = principal.kind === "user" ? null : await customerOf(db, principal);
  const minted = { minted_by: principal.id, minted_for, heirs_expire_at: key.setupManagerId == null ? null : own };
  const fresh = await insertKey(db, { ...key, expiresAt }, now, minted);
  await requireKeyBudget(call, fresh.row);
  return fresh;
}

/**
 * When the key that mints ends. A setup token is exchanged for a runtime key and not kept beside it, so there it is the
 * end of the key that minted the setup token.
 */
async function endOfMinter({ db, principal }: Context): Promise<Date | null> {
  if (principal.kind === "user") return null;
  if (principal.setupFor === null) return principal.expiresAt;
  const row = await db
    .selectFrom("api_keys")
    .select("heirs_expire_at")
    .where("id", "=", principal.id)
    .executeTakeFirstOrThrow();
  return row.heirs_expire_at;
}

function earlier(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

/** The group of a customer's key. A setup token's group is hidden and no customer. */
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
 * Of a key that has just been minted, or lives again. A customer's keys are its own budgets', so that they take nothing of the
 * workspace's.
 */
export async function requireKeyBudget(
  { db, now, principal, budgets }: Context,
  minted: Selectable<ApiKeyRow>,
): Promise<void> {
  const { minted_by: minter, workspace_id: workspaceId, minted_for: groupId, deployment_id: deploymentId } = minted;
  const count = async (of: (keys: ReturnType<typeof liveKeys>) => ReturnType<typeof liveKeys>): Promise<number> => {
    const query = of(liveKeys(db, now)).select((eb) => eb.fn.countAll<number>().as("live"));
    return Number((await query.executeTakeFirstOrThrow()).live);
  };
  if (groupId !== null) {
    if (deploymentId !== null) {
      const held = await count((keys) =>
        keys.where("k.minted_for", "=", groupId).where("k.deployment_id", "=", deploymentId),
      );
      budgets.require("deployment-api-keys", deploymentId, held);
    }
    const held = await count((keys) => keys.where("k.minted_for", "=", groupId));
    budgets.require("group-api-keys", groupId, held - (await ownKeys(db, groupId)));
    return;
  }
  if (principal.role !== "workspace.admin" && minter !== null) {
    const held = await count((keys) => keys.where("k.minted_by", "=", minter));
    budgets.require("minter-api-keys", minter, held);
  }
  const held = await count((keys) => keys.where("k.workspace_id", "=", workspaceId).where("k.minted_for", "is", null));
  budgets.require("workspace-api-keys", workspaceId, held);
}

/** One for each deployment that the vendor lets the group have, and one to replace it by. */
async function ownKeys(db: Db, groupId: string): Promise<number> {
  const group = db.selectFrom("deployment_groups").select("max_deployments").where("id", "=", groupId);
  return 2 * ((await group.executeTakeFirst())?.max_deployments ?? 0);
}

/** Stores the hash and returns the secret, which cannot be read again. By itself for the server's own commands. */
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
