import { randomBytes } from "node:crypto";
import { RELAY_TICKET_MS } from "../../../contract/debug-sessions/debug-relay.ts";
import type { Db } from "../../database/db.ts";
import type { DebugSessionRow, RelaySide } from "../../database/tables/debug-sessions.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid, invalidTransition, notFound, PlatformError } from "../../kernel/errors.ts";
import { hashOf } from "../../kernel/secret-hash.ts";
import { type Holder, holderOf } from "./holders.ts";
import { getSession } from "./service.ts";
import { allowedMoves, asOf } from "./state.ts";
import { isInvolved, stateOf } from "./store.ts";

type Context = Pick<Call, "db" | "principal" | "now" | "config" | "proof">;

export interface Ticket {
  readonly url: string;
  readonly ticket: string;
  readonly ticketExpiresAt: string;
}

/** 32 random bytes as 43 characters. A new ticket for a side replaces its earlier one (§19.2). */
export async function mintTicket(call: Context, sessionId: string, side: RelaySide): Promise<Ticket> {
  const ticket = randomBytes(32).toString("base64url");
  const expiresAt = new Date(call.now.getTime() + RELAY_TICKET_MS);
  const { principal, proof } = call;
  const row = {
    secret_hash: hashOf(ticket),
    api_key_id: principal.kind === "serviceAccount" ? principal.id : null,
    user_id: principal.kind === "user" ? principal.id : null,
    proof_kind: proof?.kind ?? null,
    proof_id: proof?.id ?? null,
    expires_at: expiresAt,
  };
  await call.db
    .insertInto("relay_tickets")
    .values({ session_id: sessionId, side, ...row })
    .onConflict((conflict) => conflict.columns(["session_id", "side"]).doUpdateSet(row))
    .execute();
  const url = `${call.config.baseUrl.replace(/^http/, "ws")}/v1/debug-sessions/${sessionId}/${side}`;
  return { url, ticket, ticketExpiresAt: expiresAt.toISOString() };
}

/**
 * A manager gets a ticket for the tunnel's side, and says which key the tunnel's certificate has; a later tunnel may have
 * another one. The owner and admins get one for the client's side.
 */
export async function freshTicket(call: Context, id: string, tunnelKey: string | undefined): Promise<Ticket> {
  const row = await getSession(call, id);
  if (!isInvolved(row, call.principal)) throw notFound("debug session");
  const manager = call.principal.role === "manager.runtime";
  if (manager !== (tunnelKey !== undefined)) {
    throw invalid({
      path: "body.tunnelKey",
      message: manager ? "must be set" : "must be left out unless a manager calls",
    });
  }
  requireOpen(row, call.now);
  if (tunnelKey !== undefined) {
    await call.db.updateTable("debug_sessions").set({ tunnel_key: tunnelKey }).where("id", "=", id).execute();
  }
  return mintTicket(call, id, manager ? "tunnel" : "attach");
}

/** @throws INVALID_STATE_TRANSITION unless both sides may still connect. */
function requireOpen(row: DebugSessionRow, now: Date): void {
  const { state } = asOf(stateOf(row), now);
  if (state !== "pending" && state !== "running") throw invalidTransition(state, "running", allowedMoves(state));
}

/** What one side brings to its WebSocket. */
export interface Offered {
  readonly sessionId: string;
  readonly side: RelaySide;
  readonly ticket: string;
}

/** Leaves the ticket to the replica that is the session's home. @throws TICKET_INVALID as `redeemTicket`. */
export async function requireTicket(db: Db, now: Date, { sessionId, side, ticket }: Offered): Promise<void> {
  const found = await db
    .selectFrom("relay_tickets")
    .select("side")
    .where("secret_hash", "=", hashOf(ticket))
    .where("session_id", "=", sessionId)
    .where("side", "=", side)
    .where("expires_at", ">", now)
    .executeTakeFirst();
  if (found === undefined) throw new PlatformError("TICKET_INVALID");
}

export interface Admission {
  readonly session: DebugSessionRow;
  readonly side: RelaySide;
  readonly deploymentGroupId: string;
  readonly holder: Holder;
}

/** Uses up a ticket. @throws TICKET_INVALID when it is unknown, used, expired, or for another session or side. */
export async function redeemTicket(db: Db, now: Date, { sessionId, side, ticket }: Offered): Promise<Admission> {
  const used = await db
    .deleteFrom("relay_tickets")
    .where("secret_hash", "=", hashOf(ticket))
    .where("session_id", "=", sessionId)
    .where("side", "=", side)
    .where("expires_at", ">", now)
    .returningAll()
    .executeTakeFirst();
  const holder = used && holderOf(used);
  if (holder === undefined) throw new PlatformError("TICKET_INVALID");
  const session = await db
    .selectFrom("debug_sessions as s")
    .innerJoin("deployments as d", "d.id", "s.deployment_id")
    .selectAll("s")
    .select("d.deployment_group_id")
    .where("s.id", "=", sessionId)
    .executeTakeFirstOrThrow();
  requireOpen(session, now);
  return { session, side, deploymentGroupId: session.deployment_group_id, holder };
}
