import type { Db } from "../../database/db.ts";
import { type Authenticator, bearerOf } from "../../kernel/call/credential.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { hashOf } from "../../kernel/secret-hash.ts";
import { noticeCli, userCredential } from "./user-credential.ts";

/**
 * Prefix of access tokens. Other credentials have other prefixes, so the platform recognises a token before any
 * look-up.
 */
export const ACCESS_TOKEN_PREFIX = "sp_at_";

/** The kind under which the OAuth server stores them. */
export const ACCESS_TOKEN_KIND = "AccessToken";

/**
 * Authenticates `Authorization: Bearer sp_at_…`. Unknown, revoked and expired tokens get the same answer, because in
 * each case the client needs a new token.
 */
export function accessTokens(db: Db): Authenticator {
  return async ({ headers }, now) => {
    const bearer = bearerOf(headers);
    if (bearer?.startsWith(ACCESS_TOKEN_PREFIX) !== true) return undefined;
    const user = await userOfToken(db, bearer, now);
    if (user === undefined) throw new PlatformError("TOKEN_EXPIRED");
    await noticeCli(db, user, headers);
    const proof = { kind: "grant", id: user.grant_id } as const;
    return userCredential(db, user, proof, async (later) => (await userOfToken(db, bearer, later)) !== undefined);
  };
}

/** Ignores a token whose grant is gone: the token was being issued while the grant was revoked. */
function userOfToken(db: Db, bearer: string, now: Date) {
  return db
    .selectFrom("oauth_records as t")
    .innerJoin("users as u", "u.id", "t.user_id")
    .select(["u.id", "u.email", "u.name", "u.image", "u.cli_connected"])
    .innerJoin("oauth_records as g", "g.grant_id", "t.grant_id")
    .select((eb) => eb.ref("g.grant_id").$notNull().as("grant_id"))
    .where("g.kind", "=", "Grant")
    .where("g.expires_at", ">", now)
    .where("t.kind", "=", ACCESS_TOKEN_KIND)
    .where("t.id_hash", "=", hashOf(bearer))
    .where("t.expires_at", ">", now)
    .executeTakeFirst();
}
