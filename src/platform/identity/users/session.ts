import type { IncomingHttpHeaders } from "node:http";
import type { Db } from "../../database/db.ts";
import type { Authenticator } from "../../kernel/call/credential.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { hashOf } from "../../kernel/secret-hash.ts";
import { noticeCli, userCredential } from "./user-credential.ts";

export const SESSION_COOKIE = "sp_session";

/** A session ends this long after its last use, and at the latest this long after its sign-in (§25). */
export const SESSION_IDLE_MS = 12 * 3600 * 1000;
export const SESSION_LIFE_MS = 7 * 24 * 3600 * 1000;

/**
 * Stored at most once a minute for each session, so that reads do not cause writes. A session may therefore end a
 * minute early.
 */
const USED_EVERY_MS = 60_000;

/** A request with another method must come from one of the platform's own pages (§25). */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Authenticates the browser's session cookie.
 * @param origins the pages that may send it with an unsafe method; read at each request, because the address may change
 * with the port.
 */
export function sessions(db: Db, origins: () => readonly string[]): Authenticator {
  return async ({ method, headers }, now) => {
    const secret = sessionOf(headers);
    if (secret === undefined) return undefined;
    const session = await liveSession(db, secret, now);
    if (session === undefined) throw new PlatformError("TOKEN_EXPIRED");
    if (!SAFE_METHODS.has(method) && !origins().includes(headers.origin ?? ""))
      throw new PlatformError("CSRF_REJECTED");
    if (now.getTime() - session.last_used_at.getTime() >= USED_EVERY_MS) {
      await db.updateTable("sessions").set({ last_used_at: now }).where("id_hash", "=", session.id_hash).execute();
    }
    await noticeCli(db, session, headers);
    const proof = { kind: "session", id: session.id_hash } as const;
    return userCredential(db, session, proof, async (later) => (await liveSession(db, secret, later)) !== undefined);
  };
}

/** The session of that cookie with its user; undefined when there is none or it has expired. */
export function liveSession(db: Db, secret: string, now: Date) {
  return db
    .selectFrom("sessions as s")
    .innerJoin("users as u", "u.id", "s.user_id")
    .select(["s.id_hash", "s.last_used_at", "s.created_at as signed_in_at"])
    .select(["u.id", "u.email", "u.name", "u.image", "u.cli_connected"])
    .where("s.id_hash", "=", hashOf(secret))
    .where("s.last_used_at", ">", new Date(now.getTime() - SESSION_IDLE_MS))
    .where("s.created_at", ">", new Date(now.getTime() - SESSION_LIFE_MS))
    .executeTakeFirst();
}

/** The session cookie's value, if the request brings one. */
export function sessionOf({ cookie }: IncomingHttpHeaders): string | undefined {
  return cookieOf(cookie, SESSION_COOKIE);
}

export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}
