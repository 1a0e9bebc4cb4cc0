import type { Selectable } from "kysely";
import type { KeyScope } from "../../../contract/api-keys/api-keys.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { ApiKeyRow } from "../../database/tables/api-keys.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid, invalidTransition, notFound, PlatformError } from "../../kernel/errors.ts";
import type { Principal, Scope } from "../../kernel/tenancy/principal.ts";
import { requireKeyBudget } from "./key-budget.ts";
import { mintKey } from "./mint.ts";
import { keyRights } from "./rights.ts";
import { keysOf, revokeKey, updateKey } from "./store.ts";

export interface KeyRequest {
  readonly description: string | null;
  readonly scope: KeyScope;
  readonly expiresAt: Date | null;
}

type Mints = Pick<Call, "db" | "now" | "principal" | "budgets">;

/** Mints a key with at most the caller's own rights, which expires no later than the caller's own key (§1.2). */
export async function createKey(call: Mints, request: KeyRequest) {
  const { db, principal, now } = call;
  const { role, ...scope } = request.scope;
  const rights = keyRights(principal);
  const projectId = "projectId" in scope ? scope.projectId : undefined;
  const foreign = rights.projectId !== undefined && rights.projectId !== projectId;
  if (!rights.roles.includes(role) || foreign) throw escalation(`may not mint a ${role} key`);
  checkExpiry(principal, request.expiresAt, now);
  await requireScope(db, principal.workspaceId, scope);
  const createdByUser =
    principal.kind === "user" ? { id: principal.id, email: principal.email, image: principal.image } : undefined;
  const { description, expiresAt } = request;
  const { workspaceId } = principal;
  return mintKey(call, { workspaceId, role, scope, description, expiresAt, createdByUser: createdByUser ?? null });
}

function escalation(message: string, hint?: string): PlatformError {
  return new PlatformError("PRIVILEGE_ESCALATION", { message, ...(hint !== undefined && { hint }) });
}

/**
 * For a new key. One for which no end is asked ends with the caller's own (`mintKey`).
 * @throws PRIVILEGE_ESCALATION when it would expire after the caller's own; VALIDATION_ERROR for a time in the past.
 */
export function checkExpiry(principal: Principal, expiresAt: Date | null, now: Date): void {
  if (expiresAt === null) return;
  if (expiresAt <= now) throw invalid({ path: "body.expiresAt", message: "must be in the future" });
  const own = principal.kind === "serviceAccount" ? principal.expiresAt : null;
  if (own !== null && expiresAt > own) throw outlives(own);
}

function outlives(own: Date): PlatformError {
  const hint = `Leave expiresAt out, or let it be ${own.toISOString()} at the latest.`;
  return escalation("a key may not outlive the key that mints or changes it", hint);
}

/** For a key that is there already: without an end it would outlive a caller that has one. */
function checkNewExpiry(principal: Principal, expiresAt: Date | null, now: Date): void {
  const own = principal.kind === "serviceAccount" ? principal.expiresAt : null;
  if (expiresAt === null && own !== null) throw outlives(own);
  checkExpiry(principal, expiresAt, now);
}

/** @throws NOT_FOUND unless the object belongs to the workspace; VALIDATION_ERROR unless the project owns it. */
async function requireScope(db: Db, workspaceId: string, scope: Scope): Promise<void> {
  const owned = (table: "projects" | "managers", id: string) =>
    db.selectFrom(table).select("id").where("workspace_id", "=", workspaceId).where("id", "=", id).executeTakeFirst();
  const ofProject = async (table: "deployments" | "deployment_groups", id: string, kind: string, project: string) => {
    const found = await db
      .selectFrom(table)
      .select("project_id")
      .where("workspace_id", "=", workspaceId)
      .where("id", "=", id)
      .executeTakeFirst();
    if (found === undefined) throw notFound(kind);
    if (found.project_id !== project) {
      throw invalid({ path: "body.scope.projectId", message: `is not the project of the ${kind}` });
    }
  };
  switch (scope.type) {
    case "workspace":
      return;
    case "project":
      if ((await owned("projects", scope.projectId)) === undefined) throw notFound("project");
      return;
    case "manager":
      if ((await owned("managers", scope.managerId)) === undefined) throw notFound("manager");
      return;
    case "deployment":
      return ofProject("deployments", scope.deploymentId, "deployment", scope.projectId);
    case "deployment-group":
      return ofProject("deployment_groups", scope.deploymentGroupId, "deployment group", scope.projectId);
  }
}

export async function findKey(db: Db, principal: Principal, id: string): Promise<Selectable<ApiKeyRow>> {
  const row = await keysOf(db, principal, keyRights(principal)).where("k.id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("api key");
  return row;
}

export interface KeyChange {
  readonly enabled?: boolean | undefined;
  readonly description?: string | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  readonly setupConfig?: { readonly policy: object; readonly metadata?: object | undefined } | undefined;
}

/** @throws BUDGET_EXCEEDED when the change would revive a key beyond the budgets. */
export async function changeKey(call: Mints, id: string, change: KeyChange) {
  const { db, principal, now } = call;
  const row = await findKey(db, principal, id);
  if (row.revoked_at !== null) {
    const to = change.enabled === undefined ? "changed" : change.enabled ? "enabled" : "disabled";
    throw invalidTransition("revoked", to, []);
  }
  if (change.expiresAt !== undefined) checkNewExpiry(principal, change.expiresAt, now);
  if (change.setupConfig !== undefined && row.type !== "deployment-group") {
    const issues = [{ path: "body.deploymentSetupConfig", message: "belongs to deployment-group keys only" }];
    throw new PlatformError("SETUP_CONFIG_INVALID", { context: { issues } });
  }
  const set = {
    ...(change.enabled !== undefined && { enabled: change.enabled }),
    ...(change.description !== undefined && { description: change.description }),
    ...(change.expiresAt !== undefined && { expires_at: change.expiresAt }),
    ...(change.setupConfig !== undefined && {
      deployment_setup_config: json({ ...row.deployment_setup_config, ...change.setupConfig }),
    }),
  };
  if (Object.keys(set).length === 0) return row;
  const changed = await updateKey(db, id, set);
  const hadEnded = row.expires_at !== null && row.expires_at <= now;
  if (hadEnded && change.expiresAt !== undefined) await requireKeyBudget(call, changed);
  return changed;
}

export async function revoke(db: Db, principal: Principal, id: string, now: Date): Promise<void> {
  const { id: found } = await findKey(db, principal, id);
  await revokeKey(db, found, now);
}
