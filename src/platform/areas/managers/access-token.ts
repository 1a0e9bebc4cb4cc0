import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import { LOWER_ALPHANUMERIC, randomText, uuidv7 } from "../../kernel/ids.ts";
import { open, seal } from "../../kernel/sealed.ts";

const MAX_SECONDS = 900;

/**
 * Lifetime in seconds: never longer than the caller's own credential. The manager cannot notice when that credential is
 * revoked.
 */
export function accessTokenLife(ends: Date | null, now: Date): number {
  const left = ends === null ? Number.POSITIVE_INFINITY : secondsOf(ends) - secondsOf(now);
  return Math.min(MAX_SECONDS, left);
}

function secondsOf(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

export interface AccessClaims {
  readonly iss: string;
  /** The manager's id: another manager refuses the token. */
  readonly aud: string;
  readonly sub: string;
  readonly ws: string;
  readonly prj: string;
  readonly role: string;
}

/** Signs a JWT that a manager verifies with the public keys of `/.well-known/jwks.json` (§14.3). */
export async function signAccessToken(
  db: Db,
  sealingKey: Uint8Array,
  claims: AccessClaims,
  { now, seconds }: { readonly now: Date; readonly seconds: number },
): Promise<string> {
  const { id, pem } = await signingKey(db, sealingKey, now);
  const iat = secondsOf(now);
  const payload = { ...claims, iat, exp: iat + seconds, jti: uuidv7(now.getTime()) };
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const head = `${encode({ alg: "EdDSA", typ: "JWT", kid: id })}.${encode(payload)}`;
  return `${head}.${sign(null, Buffer.from(head), createPrivateKey(pem)).toString("base64url")}`;
}

/**
 * The newest key; created when there is none. When two replicas create one at once, one transaction fails and runs
 * again.
 */
async function signingKey(db: Db, sealingKey: Uint8Array, now: Date): Promise<{ id: string; pem: string }> {
  const newest = await db
    .selectFrom("signing_keys")
    .selectAll()
    .where("purpose", "=", "manager-access")
    .orderBy("created_at", "desc")
    .executeTakeFirst();
  if (newest !== undefined) return { id: newest.id, pem: open(sealingKey, newest.sealed_private_key) };
  const id = randomText(16, LOWER_ALPHANUMERIC);
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  await db
    .insertInto("signing_keys")
    .values({
      id,
      public_jwk: json(publicKey.export({ format: "jwk" })),
      sealed_private_key: seal(sealingKey, pem),
      created_at: now,
    })
    .execute();
  return { id, pem };
}
