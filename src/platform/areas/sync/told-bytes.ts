import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call } from "../../kernel/call/call.ts";
import { bytesOf } from "../../kernel/input/document-bounds.ts";
import type { ToldResources } from "./late-report.ts";

type Row = Pick<DeploymentRow, "id" | "told_bytes" | "told_bytes_at">;

const HOUR_MS = 3_600_000;

/**
 * Limits how fast a deployment tells of its resources: each report that changes something is parsed, hashed and written,
 * and a cluster that flaps without end would take that time from all others. The bytes are given back evenly within an
 * hour. The last report may go beyond, so that one which is larger than the whole budget is taken too.
 *
 * @returns columns to store; none when the report tells of nothing.
 * @throws RATE_LIMITED with the time after which a report is taken again; nothing of this one is stored then.
 */
export function payForTold(
  { now, budgets }: Pick<Call, "now" | "budgets">,
  { id, told_bytes: before, told_bytes_at: at }: Row,
  { resourceHeartbeats, observedInventoryBatches, removedHeartbeats }: ToldResources,
): Partial<Row> {
  const told = [resourceHeartbeats, observedInventoryBatches, removedHeartbeats].filter(({ length }) => length > 0);
  if (told.length === 0) return {};
  const size = budgets.size("deployment-told-bytes");
  const elapsedMs = at === null ? 0 : Math.max(0, now.getTime() - at.getTime());
  const owed = Math.max(0, (before ?? 0) - (size * elapsedMs) / HOUR_MS);
  if (owed >= size) {
    const seconds = Math.max(1, Math.ceil(((owed - size + 1) * HOUR_MS) / size / 1_000));
    throw budgets.refusal("deployment-told-bytes", id, seconds);
  }
  return { told_bytes: Math.ceil(owed) + bytesOf(told), told_bytes_at: now };
}
