import { type Adapter, type AdapterPayload, errors } from "oidc-provider";
import type { Clock } from "../../../base/clock.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import { hashOf } from "../../kernel/secret-hash.ts";

/** A used code is kept as long as its grant. When it is used again, an attacker may have it (RFC 6749 §4.1.2). */
export const CODE_KIND = "AuthorizationCode";

/**
 * One kind of record of the OAuth library, in the SQL database that all replicas share. Codes, tokens and ids are found
 * by their hash and never stored. Expiry follows the platform's clock; the library also checks the `exp` inside with
 * its own.
 */
export class SqlAdapter implements Adapter {
  readonly #kind: string;
  readonly #db: Db;
  readonly #clock: Clock;

  constructor(kind: string, db: Db, clock: Clock) {
    this.#kind = kind;
    this.#db = db;
    this.#clock = clock;
  }

  async upsert(id: string, { jti: _secret, ...payload }: AdapterPayload, expiresIn?: number): Promise<void> {
    const record = {
      user_id: payload.accountId ?? null,
      grant_id: this.#kind === "Grant" ? id : (payload.grantId ?? null),
      payload: json(payload),
      expires_at: expiresIn === undefined ? null : new Date(this.#clock.wallNow().getTime() + expiresIn * 1000),
    };
    await this.#db
      .insertInto("oauth_records")
      .values({ kind: this.#kind, id_hash: hashOf(id), ...record })
      .onConflict((conflict) => conflict.columns(["kind", "id_hash"]).doUpdateSet(record))
      .execute();
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const row = await this.#db
      .selectFrom("oauth_records")
      .select(["payload", "consumed_at"])
      .where("kind", "=", this.#kind)
      .where("id_hash", "=", hashOf(id))
      .where((eb) =>
        eb.or([
          eb("expires_at", "is", null),
          eb("expires_at", ">", this.#clock.wallNow()),
          eb.and([eb("kind", "=", CODE_KIND), eb("consumed_at", "is not", null)]),
        ]),
      )
      .executeTakeFirst();
    if (row === undefined) return undefined;
    if (row.consumed_at === null) return { ...row.payload, jti: id };
    const consumed = Math.floor(row.consumed_at.getTime() / 1000);
    if (this.#kind !== CODE_KIND) return { ...row.payload, jti: id, consumed };
    // Without `exp`: the library must see the reuse of a code and end its grant, not refuse the code as expired.
    const { exp: _over, ...payload } = row.payload;
    return { ...payload, jti: id, consumed };
  }

  /**
   * Of two requests that bring the same code or refresh token at once, the second is a reuse too, though both found it
   * unused.
   */
  async consume(id: string): Promise<void> {
    const record = this.#db
      .updateTable("oauth_records")
      .where("kind", "=", this.#kind)
      .where("id_hash", "=", hashOf(id));
    const first = await record
      .set({ consumed_at: this.#clock.wallNow() })
      .where("consumed_at", "is", null)
      .returning("grant_id")
      .executeTakeFirst();
    if (first !== undefined) return;
    const used = await this.#db
      .selectFrom("oauth_records")
      .select("grant_id")
      .where("kind", "=", this.#kind)
      .where("id_hash", "=", hashOf(id))
      .executeTakeFirst();
    if (used?.grant_id != null) await endGrant(this.#db, used.grant_id);
    throw new errors.InvalidGrant("already used");
  }

  async destroy(id: string): Promise<void> {
    await this.#db
      .deleteFrom("oauth_records")
      .where("kind", "=", this.#kind)
      .where("id_hash", "=", hashOf(id))
      .execute();
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await endGrant(this.#db, grantId);
  }

  /** The platform does not offer the device flow. */
  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  /** The library calls it only for tokens bound to its own session; the platform issues none. */
  async findByUid(): Promise<undefined> {
    return undefined;
  }
}

/**
 * Ends everything that came of one consent. A token issued at the same moment may remain, but it is useless: every use
 * of a token looks for its grant.
 */
async function endGrant(db: Db, grantId: string): Promise<void> {
  await db.deleteFrom("oauth_records").where("grant_id", "=", grantId).execute();
}
