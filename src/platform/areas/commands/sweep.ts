import type { Db } from "../../database/db.ts";
import type { Hooks } from "../../kernel/call/call.ts";
import { inTransaction } from "../../kernel/call/transaction.ts";
import { unrequested } from "../../kernel/call/unrequested.ts";
import type { Sweep } from "../../kernel/sweeps/sweep.ts";
import { settleIfExpired } from "./settle.ts";
import { stateAsOf } from "./store.ts";

/** Rows in one transaction: few, so that it rarely conflicts with requests. */
const BATCH = 50;
/** §0.10. */
const KEEP_MS = 90 * 86_400_000;
/** §0.10: commands of a plan are kept longer. */
const KEEP_PLANNED_MS = 400 * 86_400_000;

/**
 * Stores which commands have expired, so that their plans end, and deletes old commands. Every read and write computes
 * the expiry too: without the sweep only what follows a command would wait.
 */
export const sweepCommands: Sweep = async (db, now, hooks) => {
  const options = { readOnly: false, signal: new AbortController().signal, onRetry: () => undefined };
  for (let written = BATCH; written === BATCH; ) {
    written = await inTransaction(db, options, (transaction) => settleBatch(transaction, now, hooks));
  }
  const old = (keepMs: number) => new Date(now.getTime() - keepMs);
  await db
    .deleteFrom("commands")
    .where("access_request_id", "is", null)
    .where("created_at", "<", old(KEEP_MS))
    .execute();
  await db.deleteFrom("commands").where("created_at", "<", old(KEEP_PLANNED_MS)).execute();
};

async function settleBatch(db: Db, now: Date, hooks: Hooks): Promise<number> {
  const call = { ...unrequested(db, now), hooks };
  const rows = await db
    .selectFrom("commands")
    .selectAll()
    .where("state", "in", ["PENDING_UPLOAD", "PENDING", "DISPATCHED"])
    .where(stateAsOf(now), "=", "EXPIRED")
    .limit(BATCH)
    .execute();
  for (const row of rows) await settleIfExpired(call, row);
  return rows.length;
}
