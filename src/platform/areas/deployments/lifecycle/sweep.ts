import { type SqlBool, sql } from "kysely";
import { changeUnrequested } from "../../../kernel/call/unrequested.ts";
import type { Sweep } from "../../../kernel/sweeps/sweep.ts";
import { AT_ONCE, giveWaiting, takeFrom, unserved } from "./waiting.ts";

/** How long the record of a deleted deployment can still be read by id (§0.10). */
const KEEP_DELETED_MS = 90 * 86_400_000;
/**
 * Access requests and debug sessions are kept for longer than a deployment, so a deployment that has them is kept as
 * long.
 */
const KEEP_WITH_RECORDS_MS = 400 * 86_400_000;

const hasRecords = sql<SqlBool>`(
  exists (select from access_requests r where r.deployment_id = deployments.id)
  or exists (select from debug_sessions s where s.deployment_id = deployments.id)
)`;

/**
 * Takes deployments from managers that do not serve them. Gives waiting deployments a manager, if one serves them now.
 * Deletes old records of deleted deployments with everything that belongs to them.
 */
export const sweepDeployments: Sweep = async (db, now, hooks) => {
  let some: readonly string[];
  do {
    // Outside of the transaction: a serialisable transaction that reads all deployments would conflict with every
    // request.
    some = await unserved(db);
    const ids = some;
    if (ids.length > 0) await changeUnrequested(db, now, hooks, (call) => takeFrom(call, ids));
  } while (some.length === AT_ONCE);
  while (await changeUnrequested(db, now, hooks, (call) => giveWaiting(call)));
  const before = (keepMs: number) => new Date(now.getTime() - keepMs);
  await db
    .deleteFrom("deployments")
    .where("status", "=", "deleted")
    .where("deleted_at", "<", before(KEEP_DELETED_MS))
    .where((eb) => eb.or([eb("deleted_at", "<", before(KEEP_WITH_RECORDS_MS)), eb.not(hasRecords)]))
    .execute();
};
