import { type Expression, type SqlBool, sql } from "kysely";
import type { DebugSession, DebugSessionState } from "../../../contract/debug-sessions/debug-sessions.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import { statusIn } from "../../database/lapsing.ts";
import type { DebugSessionRow } from "../../database/tables/debug-sessions.ts";
import type { Call } from "../../kernel/call/call.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import { shown } from "../../kernel/tenancy/stored-error.ts";
import { asOf, type SessionState } from "./state.ts";

/** Sessions that the caller may see. */
export function sessionsOf(db: Db, principal: Principal) {
  return db
    .selectFrom("debug_sessions as s")
    .innerJoin("deployments as d", "d.id", "s.deployment_id")
    .selectAll("s")
    .where(
      visible(principal, {
        workspace: "s.workspace_id",
        project: "s.project_id",
        deployment: "s.deployment_id",
        served: "d",
      }),
    );
}

export function stateOf(row: DebugSessionRow): SessionState {
  return { state: row.state, error: row.error, closeReason: row.close_reason, expiresAt: row.expires_at };
}

/** `asOf` in SQL, for filters; over `s`. */
function stateAsOf(now: Date): Expression<DebugSessionState> {
  return sql<DebugSessionState>`case
    when s.state in ('pending', 'running', 'stopping') and s.expires_at <= ${now} then 'expired' else s.state end`;
}

/** Sessions that are in one of these states at `now`; over `s`. */
export function stateIn(wanted: readonly DebugSessionState[], now: Date): Expression<SqlBool> {
  const lapse = { from: ["pending", "running", "stopping"], to: "expired" } as const;
  return statusIn("s.state", stateAsOf(now), wanted, lapse);
}

const HOUR_MS = 3_600_000;

/**
 * @throws BUDGET_EXCEEDED when the deployment has too many open sessions; RATE_LIMITED when too many began within the
 * hour, because a session leaves a row and files even when it ends at once.
 */
export async function requireSessionBudget(
  { db, now, budgets }: Pick<Call, "db" | "now" | "budgets">,
  deploymentId: string,
): Promise<void> {
  const { open } = await db
    .selectFrom("debug_sessions")
    .select((eb) => eb.fn.countAll<number>().as("open"))
    .where("deployment_id", "=", deploymentId)
    .where("state", "in", ["pending", "running", "stopping"])
    .where("expires_at", ">", now)
    .executeTakeFirstOrThrow();
  budgets.require("deployment-debug-sessions", deploymentId, Number(open) + 1);
  const { begun } = await db
    .selectFrom("debug_sessions")
    .select((eb) => eb.fn.countAll<number>().as("begun"))
    .where("deployment_id", "=", deploymentId)
    .where("created_at", ">", new Date(now.getTime() - HOUR_MS))
    .executeTakeFirstOrThrow();
  budgets.require("deployment-new-debug-sessions", deploymentId, Number(begun) + 1);
}

/** Of a session that no tunnel has served yet. */
export const NOTHING_TOLD = { tunnel_key: null, bytes_in: null, bytes_out: null, audit_head: null } as const;

export async function insertSession(db: Db, row: DebugSessionRow): Promise<void> {
  const { error, access } = row;
  await db
    .insertInto("debug_sessions")
    .values({
      ...row,
      error: error === null ? null : json(error),
      access: access === null ? null : json(access),
    })
    .execute();
}

export async function updateSession(db: Db, id: string, session: SessionState, endedAt: Date | null): Promise<void> {
  const { state, error, closeReason, expiresAt } = session;
  await db
    .updateTable("debug_sessions")
    .set({
      state,
      error: error === null ? null : json(error),
      close_reason: closeReason,
      expires_at: expiresAt,
      ended_at: endedAt,
    })
    .where("id", "=", id)
    .execute();
}

/** The file's head may be told after the session's end, because the file is closed last. */
export async function setAuditHead(db: Db, row: DebugSessionRow, auditHead: string): Promise<DebugSessionRow> {
  await db.updateTable("debug_sessions").set({ audit_head: auditHead }).where("id", "=", row.id).execute();
  return { ...row, audit_head: auditHead };
}

/** Adds what one pairing of both sides carried. */
export async function addTraffic(db: Db, id: string, bytesIn: number, bytesOut: number): Promise<void> {
  await db
    .updateTable("debug_sessions")
    .set((eb) => ({
      bytes_in: eb(eb.fn.coalesce("bytes_in", eb.lit(0)), "+", bytesIn),
      bytes_out: eb(eb.fn.coalesce("bytes_out", eb.lit(0)), "+", bytesOut),
    }))
    .where("id", "=", id)
    .execute();
}

/** Whether the caller may attach to the session: its owner, an admin, the manager for the tunnel. */
export function isInvolved({ owner_id }: DebugSessionRow, { role, id }: Principal): boolean {
  return role === "manager.runtime" || role === "workspace.admin" || owner_id === id;
}

/** @param presignedUrls only where one session is read. */
export function toSession(
  row: DebugSessionRow,
  { principal, now }: Pick<Call, "principal" | "now">,
  presignedUrls: DebugSession["presignedUrls"] = {},
): DebugSession {
  const { state, error, closeReason, expiresAt } = asOf(stateOf(row), now);
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    projectId: row.project_id,
    deploymentId: row.deployment_id,
    owner: row.owner,
    state,
    mode: row.mode,
    provider: row.provider,
    presignedUrls,
    error: shown(error, principal),
    createdAt: row.created_at.toISOString(),
    expiresAt: expiresAt.toISOString(),
    access: row.access,
    closeReason,
    tunnelKey: row.tunnel_key,
    bytesIn: row.bytes_in,
    bytesOut: row.bytes_out,
    auditHead: row.audit_head,
  };
}
