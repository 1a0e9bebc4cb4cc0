import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { ChangeCall } from "../../kernel/call/call.ts";
import { inTransaction } from "../../kernel/call/transaction.ts";
import { unrequested } from "../../kernel/call/unrequested.ts";
import type { Sweep } from "../../kernel/sweeps/sweep.ts";
import { expirePending } from "../commands/settle.ts";
import { settled } from "./settle.ts";
import { listLapsed, updateRequest } from "./store.ts";

/** Time's move, written down: nothing is handed out any more, and the manager hears of it. */
export async function writeLapse(call: ChangeCall, row: AccessRequestRow): Promise<void> {
  await updateRequest(call.db, row);
  await expirePending(call, { accessRequestId: row.id });
  await call.raise("access-requests", row.deployment_id);
}

/** Rows a transaction: small enough to win its races against requests. */
const BATCH = 50;

/**
 * Writes down what time has ended, so that managers are told of it. Every read and write judges by itself: without
 * this, only the hint is late.
 */
export const sweepLapsed: Sweep = async (db, now, hooks) => {
  const options = { readOnly: false, signal: new AbortController().signal, onRetry: () => undefined };
  for (let written = BATCH; written === BATCH; ) {
    written = await inTransaction(db, options, async (transaction) => {
      const call = { ...unrequested(transaction, now), hooks };
      const rows = await listLapsed(transaction, now, BATCH);
      for (const row of rows) await writeLapse(call, settled(row, now));
      return rows.length;
    });
  }
};
