import { sql } from "kysely";
import { WRITERS } from "../../../contract/wire/roles.ts";
import type { Db } from "../../database/db.ts";
import type { RelayTicketRow } from "../../database/tables/debug-sessions.ts";
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from "../../identity/users/session.ts";
import type { Proof } from "../../kernel/call/credential.ts";

/**
 * The key or user that one side of the relay belongs to. The relay disconnects the side when the key ends, or the
 * user's sign-in, membership or role.
 */
export type Holder =
  | { readonly kind: "key"; readonly id: string }
  | { readonly kind: "user"; readonly id: string; readonly proof: Proof };

export interface Held {
  readonly sessionId: string;
  readonly holder: Holder;
}

/** Undefined for a ticket without a key or user. */
export function holderOf({ api_key_id, user_id, proof_kind, proof_id }: RelayTicketRow): Holder | undefined {
  if (api_key_id !== null) return { kind: "key", id: api_key_id };
  if (user_id === null || proof_kind === null || proof_id === null) return undefined;
  return { kind: "user", id: user_id, proof: { kind: proof_kind, id: proof_id } };
}

/** The sessions in which the key or user of one side could not request a ticket any more. */
export async function withoutHolder(db: Db, held: readonly Held[], now: Date): Promise<ReadonlySet<string>> {
  const [keys, users] = [await lostKeys(db, held, now), await lostUsers(db, held, now)];
  return new Set([...keys, ...users]);
}

async function lostKeys(db: Db, held: readonly Held[], now: Date): Promise<readonly string[]> {
  const of = held.filter(({ holder }) => holder.kind === "key");
  if (of.length === 0) return [];
  const { rows } = await sql<{ session_id: string }>`
    select h.session_id
    from unnest(${of.map(({ sessionId }) => sessionId)}::text[], ${of.map(({ holder }) => holder.id)}::text[])
      as h (session_id, key_id)
    where not exists (
      select from api_keys k
      where k.id = h.key_id and k.revoked_at is null and k.enabled and (k.expires_at is null or k.expires_at > ${now})
    )`.execute(db);
  return rows.map(({ session_id }) => session_id);
}

/**
 * The sessions whose user has lost the sign-in, or the role in the session's workspace that may request tickets for
 * this session.
 */
async function lostUsers(db: Db, held: readonly Held[], now: Date): Promise<readonly string[]> {
  const of = held.flatMap(({ sessionId, holder }) => (holder.kind === "user" ? [{ sessionId, ...holder }] : []));
  if (of.length === 0) return [];
  const before = (ms: number): Date => new Date(now.getTime() - ms);
  const { rows } = await sql<{ session_id: string }>`
    select h.session_id
    from unnest(${of.map(({ sessionId }) => sessionId)}::text[], ${of.map(({ id }) => id)}::text[],
      ${of.map(({ proof }) => proof.kind)}::text[], ${of.map(({ proof }) => proof.id)}::text[])
      as h (session_id, user_id, proof_kind, proof_id)
    where not exists (
      select from debug_sessions s
      join workspace_members m on m.workspace_id = s.workspace_id and m.user_id = h.user_id
      where s.id = h.session_id and m.role = any (${[...WRITERS]}::text[])
        and (m.role = 'workspace.admin' or s.owner_id = h.user_id)
    ) or not case h.proof_kind
      when 'session' then exists (
        select from sessions b
        where b.id_hash = h.proof_id and b.user_id = h.user_id
          and b.last_used_at > ${before(SESSION_IDLE_MS)} and b.created_at > ${before(SESSION_LIFE_MS)})
      else exists (
        select from oauth_records g
        where g.kind = 'Grant' and g.grant_id = h.proof_id and g.user_id = h.user_id and g.expires_at > ${now})
      end`.execute(db);
  return rows.map(({ session_id }) => session_id);
}
