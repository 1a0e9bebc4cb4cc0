import { sql } from "kysely";
import type { Logger } from "../../../base/log.ts";
import type { Db } from "../../database/db.ts";

/** Most ids in one log line; there may be more. */
const SHOWN = 20;

const SERVE = "PATCH /v1/managers/{id}, or sallyport platform managers serve ID --group ID|--shared";
const NO_CUSTOMER = `managers serve no deployment group; say whom the manager serves: ${SERVE}|--none`;
const WAITING =
  `deployments wait for their manager; say whom the previous manager serves: ${SERVE}; ` +
  "unless it serves a group already: then move the deployment, PATCH /v1/deployments/{id} with a managerId";

/**
 * Logs at start what an admin has to decide: private managers that serve no customer, and deployments that lost their
 * manager and wait for it. Both can result from an upgrade from a version in which a manager served its whole
 * workspace.
 */
export async function logIdle(db: Db, log: Logger): Promise<void> {
  const managers = await db
    .selectFrom("managers as m")
    .innerJoin("workspaces as w", "w.id", "m.workspace_id")
    .select(["m.id", sql<number>`count(*) over ()::int`.as("count")])
    .where("w.deleted_at", "is", null)
    .where("m.is_system", "=", false)
    .where("m.shared", "=", false)
    .where("m.deployment_group_id", "is", null)
    .where(sql<boolean>`coalesce(m.setup_status, 'active') not in ('deleting', 'deleted')`)
    .orderBy("m.id")
    .limit(SHOWN)
    .execute();
  if (managers.length > 0) log.warn(shown("managers", managers), NO_CUSTOMER);
  const waiting = await db
    .selectFrom("deployments as d")
    .innerJoin("workspaces as w", "w.id", "d.workspace_id")
    .select(["d.id", "d.previous_manager_id", sql<number>`count(*) over ()::int`.as("count")])
    .where("w.deleted_at", "is", null)
    .where("d.manager_id", "is", null)
    .where("d.status", "<>", "deleted")
    .where("d.previous_manager_id", "is not", null)
    .orderBy("d.id")
    .limit(SHOWN)
    .execute();
  if (waiting.length === 0) return;
  const previous = [...new Set(waiting.flatMap(({ previous_manager_id: id }) => id ?? []))];
  log.warn({ ...shown("deployments", waiting), previous }, WAITING);
}

function shown(what: string, rows: readonly { readonly id: string; readonly count: number }[]): object {
  return { count: rows[0]?.count, [what]: rows.map(({ id }) => id) };
}
