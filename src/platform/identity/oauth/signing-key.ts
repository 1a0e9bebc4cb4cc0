import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { sql } from "kysely";
import type { JWK } from "oidc-provider";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import { LOWER_ALPHANUMERIC, randomText } from "../../kernel/ids.ts";
import { open, seal } from "../../kernel/sealed.ts";

/** Id of the advisory lock; no other lock of this database has it. */
const KEY_LOCK = 7_400_010;

/** The key that signs id tokens, shared by all replicas. The first replica that needs it creates it. */
export async function idTokenKey(db: Db, sealingKey: Uint8Array, now: Date): Promise<JWK> {
  const { id, sealed_private_key } = (await newest(db)) ?? (await make(db, sealingKey, now));
  const jwk = createPrivateKey(open(sealingKey, sealed_private_key)).export({ format: "jwk" });
  return { ...(jwk as JWK), kid: id, alg: "ES256", use: "sig" };
}

function newest(db: Db) {
  return db
    .selectFrom("signing_keys")
    .select(["id", "sealed_private_key"])
    .where("purpose", "=", "id-token")
    .orderBy("created_at", "desc")
    .executeTakeFirst();
}

function make(db: Db, sealingKey: Uint8Array, now: Date) {
  return db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${KEY_LOCK})`.execute(transaction);
    const others = await newest(transaction);
    if (others !== undefined) return others;
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const key = {
      id: randomText(16, LOWER_ALPHANUMERIC),
      sealed_private_key: seal(sealingKey, privateKey.export({ type: "pkcs8", format: "pem" }).toString()),
    };
    await transaction
      .insertInto("signing_keys")
      .values({ ...key, purpose: "id-token", public_jwk: json(publicKey.export({ format: "jwk" })), created_at: now })
      .execute();
    return key;
  });
}

/** The public keys for managers' access tokens and id tokens (RFC 7517). */
export async function publicKeys(db: Db): Promise<{ readonly keys: readonly object[] }> {
  const rows = await db
    .selectFrom("signing_keys")
    .select(["id", "public_jwk", "purpose"])
    .orderBy("created_at", "desc")
    .execute();
  return {
    keys: rows.map(({ id, public_jwk, purpose }) => ({
      ...public_jwk,
      kid: id,
      alg: purpose === "id-token" ? "ES256" : "EdDSA",
      use: "sig",
    })),
  };
}
