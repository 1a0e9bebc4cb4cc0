import { sql } from "kysely";
import type { ResourceLevel } from "../../../contract/resources/resource-level.ts";
import type { Call } from "../../kernel/call/call.ts";
import { capped } from "./observations.ts";
import { type StoredReports, storedReports } from "./report-budget.ts";

type Context = Pick<Call, "db" | "now" | "budgets">;

/**
 * Compares what the reporter says that it has told with what is stored. When it is the same, all of it is as fresh as the
 * level: one row is written, not thousands.
 *
 * @param changed what is stored after this call's changes; undefined when it changed nothing.
 * @returns whether the reporter must send everything again.
 */
export async function storeLevel(
  call: Context,
  deploymentId: string,
  level: ResourceLevel | undefined,
  changed: StoredReports | undefined,
): Promise<boolean> {
  const { db, now, budgets } = call;
  if (level !== undefined && changed === undefined) {
    const isConfirmed = await confirm(call, deploymentId, level);
    if (isConfirmed !== undefined) return !isConfirmed;
  }
  if (level === undefined) {
    // A reporter without levels: what was said of a level before holds for what is stored now.
    if (changed !== undefined) {
      const { digest, heartbeats, rows } = changed;
      await db
        .updateTable("resource_levels")
        .set({ digest, heartbeats, rows })
        .where("deployment_id", "=", deploymentId)
        .execute();
    }
    return false;
  }
  const known = await db
    .selectFrom("resource_levels")
    .selectAll()
    .where("deployment_id", "=", deploymentId)
    .executeTakeFirst();
  const { digest, heartbeats, rows } = changed ?? known ?? (await storedReports(db, deploymentId));
  // More heartbeats than are kept: their digest cannot fit, and asking for them again would bring no more.
  const isCut = level.heartbeats > budgets.size("deployment-resources");
  const fits = rows === level.rows && (isCut || (digest === level.digest && heartbeats === level.heartbeats));
  const at = capped(level.observedAt, now);
  const before = known?.confirmed_at ?? null;
  const confirmed_at = fits && (before === null || before < at) ? at : before;
  const state = { digest, heartbeats, rows, complete: level.complete, confirmed_at };
  await db
    .insertInto("resource_levels")
    .values({ deployment_id: deploymentId, ...state })
    .onConflict((conflict) => conflict.column("deployment_id").doUpdateSet(state))
    .execute();
  return !fits;
}

/**
 * A report that changed nothing, which is what most reports are: compares and writes in one statement.
 *
 * What is compared is the digest of the last change. Of the rows themselves only one of each table is looked for, which
 * shows that a table was lost; rows that are lost one by one, without a report, are not seen. To count them would read
 * all of them for each confirmation. They come back with the next report that changes something, and with the reporter's
 * next full one, after about half an hour.
 *
 * @returns whether the level is what is stored; undefined when nothing is known of the deployment yet.
 */
async function confirm(
  { db, now, budgets }: Context,
  deploymentId: string,
  level: ResourceLevel,
): Promise<boolean | undefined> {
  const isCut = level.heartbeats > budgets.size("deployment-resources");
  const fits = sql<boolean>`(rows = ${level.rows}
    and (${isCut}::boolean or (digest = ${level.digest} and heartbeats = ${level.heartbeats}))
    and (rows = 0 or has_rows) and (heartbeats = 0 or has_heartbeats))`;
  const held = sql<{ has_rows: boolean; has_heartbeats: boolean }>`(
    select exists (
      select from inventory_rows where deployment_id = ${deploymentId} and removed_at is null
    ) as has_rows, exists (
      select from resource_heartbeats where deployment_id = ${deploymentId} and removed_at is null and not kept
    ) as has_heartbeats)`;
  const confirmedAt = sql<Date | null>`
    case when ${fits} then greatest(confirmed_at, ${capped(level.observedAt, now)}::timestamptz) else confirmed_at end`;
  const known = await db
    .updateTable("resource_levels")
    .from(held.as("held"))
    .set({ complete: level.complete, confirmed_at: confirmedAt })
    .where("deployment_id", "=", deploymentId)
    .returning(fits.as("fits"))
    .executeTakeFirst();
  return known?.fits;
}
