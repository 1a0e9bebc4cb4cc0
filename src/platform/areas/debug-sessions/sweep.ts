import type { Db } from "../../database/db.ts";
import { inTransaction } from "../../kernel/call/transaction.ts";
import { unrequested } from "../../kernel/call/unrequested.ts";
import type { Sweep } from "../../kernel/sweeps/sweep.ts";
import { storeChange } from "./change.ts";
import { forgetDeadReplicas } from "./relay-homes.ts";
import { asOf } from "./state.ts";
import { stateOf } from "./store.ts";

/** Rows in one transaction: few, so that it rarely conflicts with requests. */
const BATCH = 50;
/** §0.10. */
const KEEP_MS = 400 * 86_400_000;

/**
 * Stores which sessions have expired, so that their events end; every read computes it too. Deletes old sessions,
 * expired tickets and replicas that are gone.
 */
export const sweepDebugSessions: Sweep = async (db, now) => {
  const options = { readOnly: false, signal: new AbortController().signal, onRetry: () => undefined };
  for (let written = BATCH; written === BATCH; ) {
    written = await inTransaction(db, options, (transaction) => expireBatch(transaction, now));
  }
  await db.deleteFrom("relay_tickets").where("expires_at", "<=", now).execute();
  await forgetDeadReplicas(db);
  const old = new Date(now.getTime() - KEEP_MS);
  await db.deleteFrom("debug_sessions").where("created_at", "<", old).execute();
};

async function expireBatch(db: Db, now: Date): Promise<number> {
  const rows = await db
    .selectFrom("debug_sessions")
    .selectAll()
    .where("state", "in", ["pending", "running", "stopping"])
    .where("expires_at", "<=", now)
    .limit(BATCH)
    .execute();
  for (const row of rows) await storeChange(unrequested(db, now), row, asOf(stateOf(row), now));
  return rows.length;
}
