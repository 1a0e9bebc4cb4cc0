import type { Sweep } from "../../kernel/sweep.ts";

/** How long the record of a deleted deployment can still be read by id (§0.10). */
const KEEP_DELETED_MS = 90 * 86_400_000;
/** A plan outlives its deployment: the record of what was approved and run is kept longer than the deployment's. */
const KEEP_WITH_REQUESTS_MS = 400 * 86_400_000;

/** Forgets deleted deployments, with all that hangs on them. */
export const sweepDeployments: Sweep = async (db, now) => {
  const before = (keepMs: number) => new Date(now.getTime() - keepMs);
  await db
    .deleteFrom("deployments")
    .where("status", "=", "deleted")
    .where("deleted_at", "<", before(KEEP_DELETED_MS))
    .where((eb) =>
      eb.or([
        eb("deleted_at", "<", before(KEEP_WITH_REQUESTS_MS)),
        eb.not(
          eb.exists(
            eb
              .selectFrom("access_requests")
              .select("id")
              .whereRef("access_requests.deployment_id", "=", "deployments.id"),
          ),
        ),
      ]),
    )
    .execute();
};
