import type { Pending } from "./ledger.ts";
import type { ReportPart } from "./report-parts.ts";

/** Where the platform says that a part of a report is wrong. */
const HEARTBEAT = /^body\.resourceHeartbeats\.(\d+)(\.|$)/;
const ROW = /^body\.observedInventoryBatches\.(\d+)\.resources\.(\d+)(\.|$)/;

/** The changes of a part that an answer names as wrong. @param issues of the platform's error object. */
export function refusedIn(part: ReportPart, issues: unknown): readonly Pending[] {
  const wrong = new Set<unknown>();
  for (const each of Array.isArray(issues) ? issues : []) {
    const path = String((each as { readonly path?: unknown } | null)?.path ?? "");
    const [, heartbeat] = HEARTBEAT.exec(path) ?? [];
    if (heartbeat !== undefined) wrong.add(part.resourceHeartbeats[Number(heartbeat)]);
    const [, batch, row] = ROW.exec(path) ?? [];
    if (row !== undefined) wrong.add(part.observedInventoryBatches[Number(batch)]?.resources[Number(row)]);
  }
  wrong.delete(undefined);
  return part.changes.filter((change) => wrong.has(change.is === "row" ? change.row : change.heartbeat));
}

export function withoutRefused(part: ReportPart, refused: readonly Pending[]): ReportPart {
  const wrong = new Set<unknown>(refused.map((change) => (change.is === "row" ? change.row : change.heartbeat)));
  return {
    ...part,
    resourceHeartbeats: part.resourceHeartbeats.filter((each) => !wrong.has(each)),
    observedInventoryBatches: part.observedInventoryBatches.map((batch) => ({
      ...batch,
      resources: batch.resources.filter((each) => !wrong.has(each)),
    })),
    changes: part.changes.filter((change) => !refused.includes(change)),
  };
}
