import type { Static } from "typebox";
import type { MachineReport, MachineStatus } from "../../../contract/machines/machine.ts";

export interface MachineTables {
  machine_clusters: ClusterRow;
  join_tokens: JoinTokenRow;
  machines: MachineRow;
}

/** The machines of one deployment. */
export interface ClusterRow {
  deployment_id: string;
  cluster_id: string;
  /** Time of the newest accepted inventory; never later than its receipt. */
  inventory_observed_at: Date | null;
  /** The newest list of machines that is told in several reports. */
  inventory_parts: InventoryParts | null;
  /** As the deployment's manager of that time has reported it. */
  join_server: JoinServer | null;
  join_server_at: Date | null;
  join_server_manager: string | null;
}

export interface InventoryParts {
  readonly id: string;
  readonly of: number;
  /** As the reports have it: the parts of one list have one time. */
  readonly observedAt: string;
  /** Parts that have arrived. */
  readonly seen: readonly number[];
}

export interface JoinServer {
  readonly url: string;
  readonly pins: string[];
  readonly apiServerVersion?: string;
}

export interface JoinTokenRow {
  id: string;
  deployment_id: string;
  /** SHA-256 of the whole token. */
  secret_hash: string;
  created_by: string;
  created_at: Date;
  expires_at: Date | null;
  max_joins: number | null;
  join_count: number;
  last_used_at: Date | null;
  /** May be in the future: a rotated token stays valid for a grace period. */
  revoked_at: Date | null;
}

/** The part of a report that the platform only shows and makes no decision by. */
export type MachineDetails = Omit<
  Static<typeof MachineReport>,
  | "machineId"
  | "status"
  | "lastHeartbeat"
  | "drainRequestedAt"
  | "drainDeadlineAt"
  | "drainForce"
  | "drainedAt"
  | "wish"
>;

export interface MachineRow {
  id: string;
  deployment_id: string;
  machine_id: string;
  /** As stored; readers compute whether the machine has become unreachable by silence. */
  status: MachineStatus;
  status_since: Date;
  last_heartbeat: Date;
  reported: MachineStatus | null;
  drain_requested_at: Date | null;
  drain_deadline_at: Date | null;
  drain_force: boolean;
  drained_at: Date | null;
  drain_cancelled_at: Date | null;
  removal_requested_at: Date | null;
  /** The cluster has, or had, the objects of what is wanted at this revision. */
  passed_on: boolean;
  customer_cancelled_at: Date | null;
  revision: number;
  details: MachineDetails;
  /** The token that it joined with; null for a node that never joined. */
  token_id: string | null;
  public_key: string | null;
  /** The node that it asked to become; null for one that did not join a Kubernetes cluster. */
  node_name: string | null;
  /** The list in parts that named it last. */
  seen_in: string | null;
  created_at: Date;
}
