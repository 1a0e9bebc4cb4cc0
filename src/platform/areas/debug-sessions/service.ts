import {
  DEBUG_SESSION_MAX_MS,
  type DebugSessionState,
  type debugSessionRoutes,
} from "../../../contract/debug-sessions/debug-sessions.ts";
import type { BodyOf } from "../../../contract/wire/route.ts";
import { StoredError } from "../../../contract/wire/stored-error.ts";
import type { DebugSessionRow } from "../../database/tables/debug-sessions.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid, invalidTransition, notFound, PlatformError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { Checker } from "../../kernel/input/syntax.ts";
import { kept } from "../../kernel/tenancy/stored-error.ts";
import { getDeployment } from "../deployments/read/get.ts";
import { refuseAutomation, settingsOf } from "../workspaces/store.ts";
import { type ChangeCall, storeChange, tellStarted } from "./change.ts";
import { allowedMoves, asOf, isOver, moved, type SessionState } from "./state.ts";
import { insertSession, NOTHING_TOLD, requireSessionBudget, sessionsOf, setAuditHead, stateOf } from "./store.ts";

type Routes = typeof debugSessionRoutes;
type Context = ChangeCall & Pick<Call, "principal" | "budgets">;

/** The session as stored. @throws NOT_FOUND outside the caller's scope. */
export async function getSession({ db, principal }: Pick<Call, "db" | "principal">, id: string) {
  const row = await sessionsOf(db, principal).where("s.id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("debug session");
  return row;
}

/**
 * Stores a tunnel that a manager has opened by itself, unless the workspace's settings let keys open none, or none without
 * an approval: it has none.
 * @throws FORBIDDEN or ACCESS_REQUEST_REQUIRED
 */
export async function recordSession(
  call: Context,
  body: BodyOf<Routes["create"]>,
): Promise<{ readonly row: DebugSessionRow; readonly isNew: boolean }> {
  const deployment = await getDeployment(call, body.deploymentId);
  if (deployment.status === "deleted") throw notFound("deployment");
  if (body.id !== undefined) {
    const known = await call.db.selectFrom("debug_sessions").selectAll().where("id", "=", body.id).executeTakeFirst();
    if (known?.deployment_id === deployment.id) return { row: known, isNew: false };
    if (known !== undefined) throw new PlatformError("CONFLICT", { message: "that id names another session" });
  }
  const settings = await settingsOf(call.db, deployment.workspace_id);
  await refuseAutomation(call, settings);
  if (settings.debugPermissionMode === "ask") throw new PlatformError("ACCESS_REQUEST_REQUIRED");
  const expiresAt = endOf(new Date(body.expiresAt), call.now);
  await requireSessionBudget(call, deployment.id);
  const row: DebugSessionRow = {
    id: body.id ?? newId("dbg"),
    workspace_id: deployment.workspace_id,
    project_id: deployment.project_id,
    deployment_id: deployment.id,
    owner: body.owner ?? null,
    owner_id: null,
    state: body.state ?? "pending",
    mode: deployment.deployment_model,
    provider: deployment.platform,
    error: null,
    access: null,
    access_request_id: null,
    close_reason: null,
    ...NOTHING_TOLD,
    created_at: call.now,
    expires_at: expiresAt,
    ended_at: null,
  };
  await insertSession(call.db, row);
  if (row.state === "running") await tellStarted(call, row);
  return { row, isNew: true };
}

/** A tunnel that is open already gets its record, with the end that the platform holds it to. */
function endOf(wanted: Date, now: Date): Date {
  if (wanted <= now) throw invalid({ path: "body.expiresAt", message: "must be in the future" });
  return new Date(Math.min(wanted.getTime(), now.getTime() + DEBUG_SESSION_MAX_MS));
}

/**
 * Users may only stop a session; the manager makes the other moves.
 * @throws INVALID_STATE_TRANSITION for a disallowed move.
 */
export async function patchSession(call: Context, id: string, body: BodyOf<Routes["patch"]>): Promise<DebugSessionRow> {
  const row = await getSession(call, id);
  const manager = call.principal.role === "manager.runtime";
  if (!manager && (body.state !== "stopping" || Object.keys(body).length > 1)) {
    throw invalid({ path: "body.state", message: "must be stopping, and the only field, unless a manager calls" });
  }
  if (body.closeReason !== undefined && body.state === undefined && body.error == null) {
    throw invalid({
      path: "body.closeReason",
      message: "must come with the state or the error that it is the reason of",
    });
  }
  const before = asOf(stateOf(row), call.now);
  const next = withEnd(patched(before, body, manager), body.expiresAt, row);
  const headed = body.auditHead === undefined ? row : await headOf(call, row, before, body.auditHead);
  return next === before ? headed : storeChange(call, headed, next);
}

/**
 * The file is closed last, so its head may be told after the session's end, once: what an engineer or a customer has read
 * since must stay what the file is compared with.
 */
async function headOf(
  { db }: Context,
  row: DebugSessionRow,
  { state }: SessionState,
  auditHead: string,
): Promise<DebugSessionRow> {
  if (row.audit_head === auditHead) return row;
  if (isOver(state) && row.audit_head !== null) throw invalidTransition(state, state, []);
  return setAuditHead(db, row, auditHead);
}

function patched(before: SessionState, body: BodyOf<Routes["patch"]>, manager: boolean): SessionState {
  const error = body.error == null ? undefined : kept(toStoredError(body.error));
  // An error without a state means that the session has failed. On an ended session it only adds the explanation.
  const explains = body.state === undefined && error !== undefined;
  if (explains && isOver(before.state)) {
    if (before.error !== null) throw invalidTransition(before.state, before.state, []);
    return { ...before, error };
  }
  const to: DebugSessionState = explains ? "failed" : (body.state ?? before.state);
  // A move to running is not an end, so it sets no close reason.
  const closeReason = to === "running" ? undefined : manager ? (body.closeReason ?? "agent") : "killed";
  const failure = to === "failed" ? (error ?? UNEXPLAINED) : error;
  const next = moved(before, to, {
    ...(closeReason && { closeReason }),
    ...(failure !== undefined && { error: failure }),
  });
  if (next === undefined) throw invalidTransition(before.state, to, allowedMoves(before.state));
  return next;
}

/** The end may only be moved to an earlier time. */
function withEnd(next: SessionState, text: string | undefined, row: DebugSessionRow): SessionState {
  if (text === undefined) return next;
  if (isOver(next.state)) throw invalidTransition(next.state, next.state, []);
  const expiresAt = new Date(text);
  if (expiresAt > row.expires_at) throw invalid({ path: "body.expiresAt", message: "may only come nearer" });
  return expiresAt.getTime() === row.expires_at.getTime() ? next : { ...next, expiresAt };
}

const UNEXPLAINED = kept({ code: "DEBUG_SESSION_FAILED", message: "no error was reported", internal: false });
const storedError = new Checker("body", StoredError);

/** Accepts any map: one that is not an error object becomes the context of an error. */
function toStoredError(map: Readonly<Record<string, unknown>>): StoredError {
  if (isStoredError(map)) return map;
  const message = typeof map.message === "string" ? map.message.slice(0, 1024) : "the debug session failed";
  return { code: "DEBUG_SESSION_FAILED", message, internal: map.internal === true, context: { ...map } };
}

function isStoredError(map: unknown): map is StoredError {
  return storedError.issues(map).length === 0;
}
