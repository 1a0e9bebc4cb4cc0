import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import { invalid, PlatformError } from "../errors.ts";

/** One use of an `Idempotency-Key`: the same principal, route and key within 24 h is the same call (§0.7). */
export interface Slot {
  readonly principalId: string;
  readonly route: string;
  readonly key: string;
  readonly bodyHash: string;
}

export interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
}

const KEPT_MS = 24 * 3600 * 1000;

export function slotOf(principalId: string, route: string, key: string, request: unknown): Slot {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw invalid({ path: "header.idempotency-key", message: "must be 1 to 255 printable ASCII characters" });
  }
  // Path and query are part of the request like the body: the same key for another object is another call.
  const bodyHash = createHash("sha256").update(JSON.stringify(request)).digest("hex");
  return { principalId, route, key, bodyHash };
}

/**
 * Locks the slot until the transaction ends and returns the stored answer of an earlier call.
 * @throws CONFLICT while the first call runs, here or on another replica; IDEMPOTENCY_KEY_REUSED for another body, or
 * for an answer that carried a secret.
 */
export async function claim(db: Db, slot: Slot, now: Date): Promise<StoredAnswer | undefined> {
  const name = `${slot.principalId} ${slot.route} ${slot.key}`;
  const lock = await sql<{
    held: boolean;
  }>`select pg_try_advisory_xact_lock(hashtextextended(${name}, 7)) as held`.execute(db);
  if (lock.rows[0]?.held !== true) throw stillRunning();
  const stored = await db
    .selectFrom("idempotency")
    .selectAll()
    .where("principal_id", "=", slot.principalId)
    .where("route", "=", slot.route)
    .where("key", "=", slot.key)
    .where("created_at", ">", new Date(now.getTime() - KEPT_MS))
    .executeTakeFirst();
  if (stored === undefined) return undefined;
  if (stored.body_hash !== slot.bodyHash) throw new PlatformError("IDEMPOTENCY_KEY_REUSED");
  if (stored.body === null) {
    const message = "the call with this Idempotency-Key has been answered with a secret, which is not kept";
    throw new PlatformError("IDEMPOTENCY_KEY_REUSED", { message });
  }
  const { status, body } = stored;
  return { status, body };
}

export function stillRunning(): PlatformError {
  return new PlatformError("CONFLICT", { message: "the first call with this Idempotency-Key is still running" });
}

/** @param body undefined when the answer carries a secret. */
export async function remember(db: Db, slot: Slot, status: number, body: unknown, now: Date): Promise<void> {
  const answer = { body_hash: slot.bodyHash, status, body: body === undefined ? null : json(body), created_at: now };
  await db
    .insertInto("idempotency")
    .values({ principal_id: slot.principalId, route: slot.route, key: slot.key, ...answer })
    .onConflict((oc) => oc.columns(["principal_id", "route", "key"]).doUpdateSet(answer))
    .execute();
}

/** Removes records that are too old to replay. */
export async function forgetOld(db: Db, now: Date): Promise<void> {
  await db
    .deleteFrom("idempotency")
    .where("created_at", "<=", new Date(now.getTime() - KEPT_MS))
    .execute();
}
