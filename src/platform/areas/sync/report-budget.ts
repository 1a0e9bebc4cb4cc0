import { sql } from "kysely";
import { digestOf } from "../../../contract/resources/resource-level.ts";
import type { Db } from "../../database/db.ts";
import type { Call } from "../../kernel/call/call.ts";

type Context = Pick<Call, "db" | "budgets">;

/** What of a deployment's reports is stored. */
export interface StoredReports {
  /** Of the heartbeats, and of the rows of the operator's complete lists (§15.3). */
  readonly digest: string;
  readonly heartbeats: number;
  readonly rows: number;
}

interface Stored extends StoredReports {
  /** Of the heartbeats, also those that are kept for lists that cannot be read. */
  readonly shown: number;
  /** In all lists, complete or not. */
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
export async function requireReportBudget(call: Context, deploymentId: string): Promise<StoredReports> {
  const { db, budgets } = call;
  let stored = await storedReports(db, deploymentId);
  if (!budgets.fits("deployment-resources", stored.shown)) {
    await forgetOldest(call, deploymentId);
    stored = await storedReports(db, deploymentId);
  }
  budgets.require("deployment-inventory", deploymentId, stored.observed);
  budgets.require("deployment-inventory-scopes", deploymentId, stored.scopes);
  budgets.require("deployment-report-bytes", deploymentId, stored.bytes);
  const isLittle = stored.bytes + stored.removedBytes <= budgets.size("deployment-report-bytes");
  if (isLittle && stored.removed <= budgets.size("deployment-inventory")) return stored;
  // Removed rows are kept for a week, but only within the budget: resources that often change their names would fill
  // the table.
  for (const table of ["inventory_rows", "resource_heartbeats"] as const) {
    await db.deleteFrom(table).where("deployment_id", "=", deploymentId).where("removed_at", "is not", null).execute();
  }
  return stored;
}

async function forgetOldest({ db, budgets }: Context, deploymentId: string): Promise<void> {
  const oldest = db
    .selectFrom("resource_heartbeats")
    .select(["resource_type", "resource_id"])
    .where("deployment_id", "=", deploymentId)
    .where("removed_at", "is", null)
    // Those that are kept give way to those that are told.
    .orderBy("kept")
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

export async function storedReports(db: Db, deploymentId: string): Promise<Stored> {
  const { rows } = await sql<Omit<Stored, "digest"> & { heartbeatHash: string; rowHash: string }>`
    select h.heartbeats, h.shown, h.hash as "heartbeatHash", i.rows, i.hash as "rowHash", i.observed, h.removed + i.removed as removed,
      (h.removed_bytes + i.removed_bytes)::float8 as "removedBytes", s.scopes, (h.bytes + i.bytes)::float8 as bytes
    from (
      select count(*) filter (where removed_at is null and not kept)::integer as heartbeats,
        count(*) filter (where removed_at is null)::integer as shown,
        coalesce(bit_xor(hash) filter (where removed_at is null and not kept), 0)::text as hash,
        count(*) filter (where removed_at is not null)::integer as removed,
        coalesce(sum(bytes) filter (where removed_at is null), 0) as bytes,
        coalesce(sum(bytes) filter (where removed_at is not null), 0) as removed_bytes
      from resource_heartbeats where deployment_id = ${deploymentId}
    ) h, (
      select count(*) filter (where removed_at is null)::integer as observed,
        count(*) filter (where removed_at is null and counts)::integer as rows,
        coalesce(bit_xor(hash) filter (where removed_at is null and counts), 0)::text as hash,
        count(*) filter (where removed_at is not null)::integer as removed,
        coalesce(sum(bytes) filter (where removed_at is null), 0) as bytes,
        coalesce(sum(bytes) filter (where removed_at is not null), 0) as removed_bytes
      from (
        select i.removed_at, i.hash, i.bytes, s.complete and s.source_kind = 'operator' as counts
        from inventory_rows i join inventory_scopes s using (deployment_id, source_kind, inventory_scope)
        where i.deployment_id = ${deploymentId}
      ) i
    ) i, (
      select count(*)::integer as scopes from inventory_scopes where deployment_id = ${deploymentId}
    ) s`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("a select of aggregates has one row");
  const { heartbeatHash, rowHash, ...stored } = row;
  return { ...stored, digest: digestOf(BigInt(heartbeatHash) ^ BigInt(rowHash)) };
}
