import type { Generated } from "kysely";
import type { ObservedResource, ResourceHeartbeat } from "../../../contract/resources/resource-heartbeat.ts";
import type { Kept } from "./kept.ts";

export interface SyncTables {
  acquires: AcquireRow;
  resource_heartbeats: ResourceHeartbeatRow;
  inventory_scopes: InventoryScopeRow;
  inventory_rows: InventoryRow;
  resource_levels: ResourceLevelRow;
  live_heartbeats: LiveHeartbeatRow;
  live_inventory: LiveInventoryRow;
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
  /** `heartbeatHash`; null when stored by an earlier version. A string, because drivers read a bigint as one. */
  hash: string | bigint | null;
  /** `observedAt` as the reporter sent it, also when its clock is ahead. */
  told_at: Date | null;
  /** When it was last read, while the reporter says that it cannot read it: no confirmation makes it fresh then. */
  stale_since: Date | null;
  /**
   * The last full report did not tell it, and could not read the list of its object: not in the digest, because the reporter
   * does not know of it any more.
   */
  kept: Generated<boolean>;
  /** Set when the resource is gone: reads leave it out at once, and it is kept for seven days. */
  removed_at: Date | null;
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
  /** `observedAt` of the list as it was sent: the parts of one list have the same. */
  told_at: Date | null;
  /** The parts of the list of `told_at` that have arrived. Missing rows are removed when all parts have. */
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
  hash: string | bigint | null;
  told_at: Date | null;
  /** As of a heartbeat. */
  stale_since: Date | null;
  /** Set when the row is removed: reads leave it out at once, and it is kept for seven days. */
  removed_at: Date | null;
}

/** What of a deployment's reports is stored, and when the reporter last confirmed exactly that (§15.3). */
export interface ResourceLevelRow {
  deployment_id: string;
  /** Of the stored heartbeats, and of the rows of the operator's complete lists. */
  digest: string;
  heartbeats: number;
  rows: number;
  /** As the reporter said of its own lists. */
  complete: boolean;
  confirmed_at: Date | null;
}

/** A view: reports that count, each as old as its last confirmation. */
export type LiveHeartbeatRow = Pick<
  ResourceHeartbeatRow,
  "deployment_id" | "resource_type" | "resource_id" | "observed_at" | "body"
>;

/** A view, like `LiveHeartbeatRow`. */
export type LiveInventoryRow = Pick<
  InventoryRow & InventoryScopeRow,
  | "deployment_id"
  | "source_kind"
  | "inventory_scope"
  | "raw_identity"
  | "observed_at"
  | "backend"
  | "controller_platform"
> &
  Pick<InventoryRow, "body">;
