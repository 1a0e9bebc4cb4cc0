import type { Db } from "../../database/db.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call } from "../../kernel/call/call.ts";
import { bytesOf } from "../../kernel/input/document-bounds.ts";
import type { ToldResources } from "./late-report.ts";

type Row = Pick<DeploymentRow, "id" | "told_bytes" | "told_bytes_at">;
type Told = Pick<
  ToldResources,
  "resourceHeartbeats" | "observedInventoryBatches" | "removedHeartbeats" | "resourceLevel"
>;
type Context = Pick<Call, "now" | "budgets">;

const HOUR_MS = 3_600_000;
/** What a report costs at least: it reads all that is stored of the deployment, also when it tells of nothing. */
const LEAST_BYTES = 4_096;

/**
 * Limits how fast a deployment tells of its resources: each report that changes something is parsed, hashed and written,
 * and a cluster that flaps without end would take that time from all others. The bytes are given back evenly within an
 * hour. The last report may go beyond, so that one which is larger than the whole budget is taken too.
 *
 * @returns columns to store; none when the report tells of nothing.
 * @throws RATE_LIMITED with the time after which a report is taken again; nothing of this one is stored then.
 */
export function payForTold({ now, budgets }: Context, row: Row, told: Told): Partial<Row> {
  const cost = costOf(told);
  if (cost === 0) return {};
  const size = budgets.size("deployment-told-bytes");
  const owed = owedBy(row, size, now);
  if (owed >= size) {
    const seconds = Math.max(1, Math.ceil(((owed - size + 1) * HOUR_MS) / size / 1_000));
    throw budgets.refusal("deployment-told-bytes", row.id, seconds);
  }
  return { told_bytes: Math.ceil(owed) + cost, told_bytes_at: now };
}

/**
 * A report that is refused costs the same: it was parsed and mostly written before. Its transaction is rolled back, so
 * this is stored in another one. A refusal for the bytes themselves costs none, or waiting would never end it.
 */
export async function payForRefused({ now, budgets }: Context, db: Db, id: string, told: Told): Promise<void> {
  const cost = costOf(told);
  if (cost === 0) return;
  const row = await db
    .selectFrom("deployments")
    .select(["id", "told_bytes", "told_bytes_at"])
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) return;
  const told_bytes = Math.ceil(owedBy(row, budgets.size("deployment-told-bytes"), now)) + cost;
  await db.updateTable("deployments").set({ told_bytes, told_bytes_at: now }).where("id", "=", id).execute();
}

/** 0 for a report that only confirms. */
function costOf({ resourceHeartbeats, observedInventoryBatches, removedHeartbeats, resourceLevel }: Told): number {
  const told = [resourceHeartbeats, observedInventoryBatches, removedHeartbeats].filter(({ length }) => length > 0);
  return told.length === 0 && resourceLevel?.full !== true ? 0 : Math.max(LEAST_BYTES, bytesOf(told));
}

function owedBy({ told_bytes: before, told_bytes_at: at }: Row, size: number, now: Date): number {
  const elapsedMs = at === null ? 0 : Math.max(0, now.getTime() - at.getTime());
  return Math.max(0, (before ?? 0) - (size * elapsedMs) / HOUR_MS);
}
