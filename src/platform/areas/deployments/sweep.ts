import { type SqlBool, sql } from "kysely";
import type { Sweep } from "../../kernel/sweep.ts";
import { unrequested } from "../../kernel/unrequested.ts";
import { giveWaiting } from "./waiting.ts";

/** How long the record of a deleted deployment can still be read by id (§0.10). */
const KEEP_DELETED_MS = 90 * 86_400_000;
/** What was approved, run and looked at outlives its deployment: its record is kept longer than the deployment's. */
const KEEP_WITH_RECORDS_MS = 400 * 86_400_000;

const hasRecords = sql<SqlBool>`(
  exists (select from access_requests r where r.deployment_id = deployments.id)
  or exists (select from debug_sessions s where s.deployment_id = deployments.id)
)`;

/** Gives those that wait a manager, if one serves them by now; forgets deleted ones, with all that hangs on them. */
export const sweepDeployments: Sweep = async (db, now) => {
  const some = () => db.transaction().execute((transaction) => giveWaiting(unrequested(transaction, now)));
  while (await some());
  const before = (keepMs: number) => new Date(now.getTime() - keepMs);
  await db
    .deleteFrom("deployments")
    .where("status", "=", "deleted")
    .where("deleted_at", "<", before(KEEP_DELETED_MS))
    .where((eb) => eb.or([eb("deleted_at", "<", before(KEEP_WITH_RECORDS_MS)), eb.not(hasRecords)]))
    .execute();
};
