import { type Selectable, type SqlBool, sql } from "kysely";
import type { Db } from "../../database/db.ts";
import type { ApiKeyRow } from "../../database/tables/api-keys.ts";
import type { Call } from "../../kernel/call/call.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "budgets">;

const HOUR_MS = 3_600_000;

/**
 * Checks the budgets after a key was minted or revived. It counts for its tenant: for a customer's group; else for the
 * key or user that an admin let in, together with all keys that come from it; else for the workspace's admins. Keys of
 * other members do not use the admins' part.
 * @throws BUDGET_EXCEEDED, RATE_LIMITED, or VALIDATION_ERROR for the workspace's own limit.
 */
export async function requireKeyBudget(
  { db, now, principal, budgets }: Context,
  minted: Selectable<ApiKeyRow>,
): Promise<void> {
  const { workspace_id: workspaceId, minted_for: groupId, minted_root: root, deployment_id: deploymentId } = minted;
  const live = sql<SqlBool>`revoked_at is null and (expires_at is null or expires_at > ${now})`;
  const fresh = sql<SqlBool>`created_at > ${new Date(now.getTime() - HOUR_MS)}`;
  const ofVendor = sql<SqlBool>`workspace_id = ${workspaceId} and minted_for is null`;
  const count = async (which: typeof live, of: typeof live): Promise<number> => {
    const rows = db.selectFrom("api_keys").select((eb) => eb.fn.countAll<number>().as("held"));
    return Number((await rows.where(of).where(which).executeTakeFirstOrThrow()).held);
  };
  if (groupId !== null) {
    const ofGroup = sql<SqlBool>`minted_for = ${groupId}`;
    if (deploymentId !== null) {
      const held = await count(live, sql<SqlBool>`minted_for = ${groupId} and deployment_id = ${deploymentId}`);
      budgets.require("deployment-api-keys", deploymentId, held);
    }
    const own = await ownKeys(db, groupId);
    budgets.require("group-api-keys", groupId, (await count(live, ofGroup)) - own);
    budgets.require("group-new-api-keys", groupId, (await count(fresh, ofGroup)) - own);
    return;
  }
  if (root !== null && principal.role !== "workspace.admin") {
    const ofRoot = sql<SqlBool>`minted_root = ${root} and minted_for is null`;
    budgets.require("minter-api-keys", root, await count(live, ofRoot));
    budgets.require("minter-new-api-keys", root, await count(fresh, ofRoot));
    const ofMembers = sql<SqlBool>`${ofVendor} and minted_root is not null`;
    budgets.require("workspace-members-api-keys", workspaceId, await count(live, ofMembers));
  } else if (root === null) {
    const ofAdmins = sql<SqlBool>`${ofVendor} and minted_root is null`;
    budgets.require("workspace-new-api-keys", workspaceId, await count(fresh, ofAdmins));
  }
  budgets.require("workspace-api-keys", workspaceId, await count(live, ofVendor));
}

/** Keys that do not count: one for each deployment that the vendor allows the group, and one to replace it. */
async function ownKeys(db: Db, groupId: string): Promise<number> {
  const group = db.selectFrom("deployment_groups").select("max_deployments").where("id", "=", groupId);
  return 2 * ((await group.executeTakeFirst())?.max_deployments ?? 0);
}
