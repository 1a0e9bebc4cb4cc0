import { sql } from "kysely";
import type { Call } from "../../kernel/call/call.ts";

type Context = Pick<Call, "db" | "budgets">;

interface Stored {
  readonly resources: number;
  readonly observed: number;
  readonly removed: number;
  readonly removedBytes: number;
  readonly scopes: number;
  readonly bytes: number;
}

/**
 * Limits what the reports of a deployment have stored, including the current one, because lists of the whole project
 * read it. Beyond the limit the resources with the oldest reports are dropped. They are not refused: no report says
 * that a resource is gone, so a deployment whose workloads change their names would be refused for ever.
 * @throws BUDGET_EXCEEDED for the other limits; nothing of the report is stored then.
 */
export async function requireReportBudget(call: Context, deploymentId: string): Promise<void> {
  const { db, budgets } = call;
  let stored = await storedOf(call, deploymentId);
  if (!budgets.fits("deployment-resources", stored.resources)) {
    await forgetOldest(call, deploymentId);
    stored = await storedOf(call, deploymentId);
  }
  budgets.require("deployment-inventory", deploymentId, stored.observed);
  budgets.require("deployment-inventory-scopes", deploymentId, stored.scopes);
  budgets.require("deployment-report-bytes", deploymentId, stored.bytes);
  const isLittle = stored.bytes + stored.removedBytes <= budgets.size("deployment-report-bytes");
  if (isLittle && stored.removed <= budgets.size("deployment-inventory")) return;
  // Removed rows are kept for a week, but only within the budget: resources that often change their names would fill
  // the table.
  await db
    .deleteFrom("inventory_rows")
    .where("deployment_id", "=", deploymentId)
    .where("removed_at", "is not", null)
    .execute();
}

async function forgetOldest({ db, budgets }: Context, deploymentId: string): Promise<void> {
  const oldest = db
    .selectFrom("resource_heartbeats")
    .select(["resource_type", "resource_id"])
    .where("deployment_id", "=", deploymentId)
    .orderBy("observed_at", "desc")
    .orderBy("resource_type")
    .orderBy("resource_id")
    .offset(budgets.size("deployment-resources"));
  await db
    .deleteFrom("resource_heartbeats")
    .where("deployment_id", "=", deploymentId)
    .where((eb) =>
      eb(eb.refTuple("resource_type", "resource_id"), "in", oldest.$asTuple("resource_type", "resource_id")),
    )
    .execute();
}

async function storedOf({ db }: Context, deploymentId: string): Promise<Stored> {
  const { rows } = await sql<Stored>`
    select h.resources, i.observed, i.removed, i.removed_bytes as "removedBytes", s.scopes, (h.bytes + i.bytes)::float8 as bytes
    from (
      select count(*)::integer as resources, coalesce(sum(bytes), 0) as bytes
      from resource_heartbeats where deployment_id = ${deploymentId}
    ) h, (
      select count(*) filter (where removed_at is null)::integer as observed,
        count(*) filter (where removed_at is not null)::integer as removed,
        coalesce(sum(bytes) filter (where removed_at is null), 0) as bytes,
        coalesce(sum(bytes) filter (where removed_at is not null), 0)::float8 as removed_bytes
      from inventory_rows where deployment_id = ${deploymentId}
    ) i, (
      select count(*)::integer as scopes from inventory_scopes where deployment_id = ${deploymentId}
    ) s`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("a select of aggregates has one row");
  return row;
}
