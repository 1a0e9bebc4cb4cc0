import type { ObservedResource, ResourceHeartbeat } from "../../../contract/resources/resource-heartbeat.ts";
import type { Kept } from "./kept.ts";

export interface SyncTables {
  acquires: AcquireRow;
  resource_heartbeats: ResourceHeartbeatRow;
  inventory_scopes: InventoryScopeRow;
  inventory_rows: InventoryRow;
}

/** What an acquire gave, so that a repeat within the hour gives the same (§15.2). */
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
  /** Of `body` as JSON: what readers of lists pay. */
  bytes: number;
}

/** One list that an observer repeats, such as the Deployments of one namespace (§11.6). */
export interface InventoryScopeRow {
  deployment_id: string;
  source_kind: string;
  inventory_scope: string;
  controller_platform: string;
  backend: string;
  observed_at: Date;
  complete: boolean;
  /** The parts of `observed_at` that have come; rows are removed when all have. */
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
  /** Gone from reads at once, kept for seven days. */
  removed_at: Date | null;
}
