export interface ManagerTables {
  managers: ManagerRow;
}

export interface ManagerRow {
  id: string;
  workspace_id: string;
  name: string;
  is_system: boolean;
  cloud: string | null;
  region: string | null;
  targets: string[];
  /** Null for system managers. `failed` by time-out and `deleted` by silence are computed on read (§9). */
  setup_status: string | null;
  setup_method: string | null;
  setup_changed_at: Date;
  url: string | null;
  /** As last reported; null before the first heartbeat. */
  status: string | null;
  version: string | null;
  metrics: unknown;
  management_configs: unknown;
  otlp_config: unknown;
  network: string | null;
  last_heartbeat_at: Date | null;
  /** The hidden deployment that the manager itself runs as; minted by bootstrap. */
  internal_deployment_id: string | null;
  /** The key that the last bootstrap returned; a repeat revokes it. */
  bootstrap_key_id: string | null;
  created_at: Date;
}
