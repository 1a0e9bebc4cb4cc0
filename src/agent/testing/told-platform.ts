import type { ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { digestOf, heartbeatHash, rowHash } from "../../contract/resources/resource-level.ts";
import type { ReportPart } from "../observe/report-parts.ts";

/** Stores what it is sent as the platform does (§11.6, §15.3), from the contract alone. */
export class ToldPlatform {
  readonly heartbeats = new Map<string, ResourceHeartbeat>();
  readonly scopes = new Map<
    string,
    { complete: boolean; toldAt: string; rows: Map<string, { hash: bigint; toldAt: string; bytes: number }> }
  >();
  /** Rows that it keeps of a deployment; one more, and it refuses the part. */
  most = Number.POSITIVE_INFINITY;
  resends = 0;
  rowsSent = 0;

  get bytes(): number {
    return [...this.scopes.values()].flatMap(({ rows }) => [...rows.values()]).reduce((sum, row) => sum + row.bytes, 0);
  }

  /** @throws when it would have to keep too many rows; nothing of the part is stored then. */
  store(part: ReportPart): boolean {
    const before = [...this.scopes].map(([name, scope]) => [name, { ...scope, rows: new Map(scope.rows) }] as const);
    const isResent = this.#store(part);
    const rows = [...this.scopes.values()].reduce((sum, scope) => sum + scope.rows.size, 0);
    if (rows <= this.most) return isResent;
    this.scopes.clear();
    for (const [name, scope] of before) this.scopes.set(name, scope);
    throw new Error(`BUDGET_EXCEEDED: ${rows} rows`);
  }

  #store({ resourceHeartbeats, removedHeartbeats, observedInventoryBatches, resourceLevel }: ReportPart): boolean {
    for (const { resourceId } of removedHeartbeats) this.heartbeats.delete(resourceId);
    for (const each of resourceHeartbeats) this.heartbeats.set(each.resourceId, each);
    for (const batch of observedInventoryBatches) {
      const { inventoryScope: name, complete, observedAt: toldAt, resources, removed = [], mode } = batch;
      const rows = this.scopes.get(name)?.rows ?? new Map();
      this.scopes.set(name, { complete, toldAt, rows });
      for (const id of removed) rows.delete(id);
      for (const row of resources) {
        const bytes = Buffer.byteLength(JSON.stringify(row));
        rows.set(row.rawIdentity, { hash: rowHash(batch, row), toldAt, bytes });
      }
      this.rowsSent += resources.length;
      const isLast = batch.part === undefined || batch.part.index === batch.part.count - 1;
      if (mode === "delta" || !complete || !isLast) continue;
      for (const [id, row] of rows) if (row.toldAt !== toldAt) rows.delete(id);
    }
    if (resourceLevel === undefined) return false;
    if (resourceLevel.full === true) {
      for (const [id, { observedAt }] of this.heartbeats) {
        if (observedAt !== resourceLevel.observedAt) this.heartbeats.delete(id);
      }
      for (const [name, { toldAt }] of this.scopes) if (toldAt !== resourceLevel.observedAt) this.scopes.delete(name);
    }
    const rows = [...this.scopes.values()]
      .filter(({ complete }) => complete)
      .flatMap((scope) => [...scope.rows.values()]);
    const hashes = [...[...this.heartbeats.values()].map(heartbeatHash), ...rows.map(({ hash }) => hash)];
    const digest = digestOf(hashes.reduce((sum, hash) => sum ^ hash, 0n));
    const fits =
      digest === resourceLevel.digest &&
      rows.length === resourceLevel.rows &&
      this.heartbeats.size === resourceLevel.heartbeats;
    this.resends += fits ? 0 : 1;
    return !fits;
  }
}
