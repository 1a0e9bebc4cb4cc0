import type { ObservedResource, ResourceHeartbeat } from "../../../contract/resources/resource-heartbeat.ts";
import type { Kept } from "./kept.ts";

export interface SyncTables {
  acquires: AcquireRow;
  resource_heartbeats: ResourceHeartbeatRow;
  inventory_scopes: InventoryScopeRow;
  inventory_rows: InventoryRow;
}

/** The answer to an acquire, so that a repeat within the hour gets the same one (§15.2). */
export interface AcquireRow {
  manager_id: string;
  session: string;
  request_id: string;
  deployment_ids: string[];
  created_at: Date;
}

/** The latest report of each resource of a deployment. */
export interface ResourceHeartbeatRow {
  deployment_id: string;
  resource_type: string;
  resource_id: string;
  /** Never later than the receipt (§11.1). */
  observed_at: Date;
  body: Kept<ResourceHeartbeat>;
  /** Bytes of `body` as JSON, which limit the size of lists. */
  bytes: number;
}

/** One list that an observer reports repeatedly, such as the Deployments of one namespace (§11.6). */
export interface InventoryScopeRow {
  deployment_id: string;
  source_kind: string;
  inventory_scope: string;
  controller_platform: string;
  backend: string;
  observed_at: Date;
  complete: boolean;
  /** The parts of the list of `observed_at` that have arrived. Missing rows are removed when all parts have. */
  parts: number[];
}

export interface InventoryRow {
  deployment_id: string;
  source_kind: string;
  inventory_scope: string;
  raw_identity: string;
  observed_at: Date;
  body: Kept<ObservedResource>;
  bytes: number;
  /** Set when the row is removed: reads leave it out at once, and it is kept for seven days. */
  removed_at: Date | null;
}
