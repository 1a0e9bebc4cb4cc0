import { type Expression, type SqlBool, sql, type UpdateObject } from "kysely";
import type { CommandState } from "../../../contract/operations/commands.ts";
import type { Database, Db } from "../../database/db.ts";
import { statusIn } from "../../database/lapsing.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import { expiryOf, hasExpired, RESULT_GRACE_MS } from "./states.ts";

/** The columns for lists without params and result, which are up to 150 kB each. */
export const WITHOUT_PAYLOAD = [
  "id",
  "workspace_id",
  "project_id",
  "deployment_id",
  "name",
  "state",
  "deployment_model",
  "target",
  "attempt",
  "deadline",
  "request_size_bytes",
  "response_size_bytes",
  "created_at",
  "dispatched_at",
  "completed_at",
  "error",
  "access_request_id",
  "plan_index",
  "invoked_by",
  "stale_since",
  "idempotency_key",
] as const satisfies readonly (keyof CommandRow)[];

/** The command as it is at `now`: after its deadline it reads EXPIRED, also before that is stored. */
export function asOf(row: CommandRow, now: Date): CommandRow {
  if (!hasExpired(row, now)) return row;
  return { ...row, state: "EXPIRED", completed_at: expiryOf(row) ?? now };
}

/** `asOf` in SQL, for filters. */
export function stateAsOf(now: Date, table = "commands"): Expression<CommandState> {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  const graceEnd = new Date(now.getTime() - RESULT_GRACE_MS);
  return sql<CommandState>`case
    when ${column("state")} in ('PENDING', 'PENDING_UPLOAD') and ${column("deadline")} <= ${now} then 'EXPIRED'
    when ${column("state")} = 'DISPATCHED' and ${column("deadline")} <= ${graceEnd} then 'EXPIRED'
    else ${column("state")} end`;
}

/** The condition for commands in one of these states at `now`. */
export function stateIn(wanted: readonly CommandState[], now: Date): Expression<SqlBool> {
  const lapse = { from: ["PENDING", "PENDING_UPLOAD", "DISPATCHED"], to: "EXPIRED" } as const;
  return statusIn("commands.state", stateAsOf(now), wanted, lapse);
}

/** The command, if it exists and `within` holds. `within` is the caller's tenancy over `commands` and `deployments`. */
export function findCommand(db: Db, id: string, within: Expression<SqlBool>): Promise<CommandRow | undefined> {
  return db
    .selectFrom("commands")
    .innerJoin("deployments", "deployments.id", "commands.deployment_id")
    .selectAll("commands")
    .where("commands.id", "=", id)
    .where(within)
    .executeTakeFirst();
}

/** Undefined unless the stored state was one of `from`: only one of two concurrent calls succeeds. */
export function moveCommand(
  db: Db,
  id: string,
  from: readonly CommandState[],
  set: UpdateObject<Database, "commands">,
): Promise<CommandRow | undefined> {
  return db
    .updateTable("commands")
    .where("id", "=", id)
    .where("state", "in", from)
    .set(set)
    .returningAll()
    .executeTakeFirst();
}

/** Claims the waiting commands of these plans: PENDING → DISPATCHED. Of two concurrent callers only one gets each. */
export async function claimOfPlans(
  db: Db,
  accessRequestIds: readonly string[],
  dispatchedAt: Date,
): Promise<readonly CommandRow[]> {
  if (accessRequestIds.length === 0) return [];
  return db
    .updateTable("commands")
    .set({ state: "DISPATCHED", dispatched_at: dispatchedAt })
    .where("access_request_id", "in", accessRequestIds)
    .where("state", "=", "PENDING")
    .returningAll()
    .execute();
}
