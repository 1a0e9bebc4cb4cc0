import { type SqlBool, sql } from "kysely";
import type { Sweep } from "../../kernel/sweep.ts";

/** How long the record of a deleted deployment can still be read by id (§0.10). */
const KEEP_DELETED_MS = 90 * 86_400_000;
/** What was approved, run and looked at outlives its deployment: its record is kept longer than the deployment's. */
const KEEP_WITH_RECORDS_MS = 400 * 86_400_000;

const hasRecords = sql<SqlBool>`(
  exists (select from access_requests r where r.deployment_id = deployments.id)
  or exists (select from debug_sessions s where s.deployment_id = deployments.id)
)`;

/** Forgets deleted deployments, with all that hangs on them. */
export const sweepDeployments: Sweep = async (db, now) => {
  const before = (keepMs: number) => new Date(now.getTime() - keepMs);
  await db
    .deleteFrom("deployments")
    .where("status", "=", "deleted")
    .where("deleted_at", "<", before(KEEP_DELETED_MS))
    .where((eb) => eb.or([eb("deleted_at", "<", before(KEEP_WITH_RECORDS_MS)), eb.not(hasRecords)]))
    .execute();
};
