import type { ColumnType, Generated } from "kysely";
import type {
  Cloud,
  ManagementConfigs,
  Manager,
  ManagerMetrics,
  ManagerSetupMethod,
  SetupStatus,
} from "../../../contract/managers/managers.ts";

export interface ManagerTables {
  managers: ManagerRow;
  signing_keys: SigningKeyRow;
}

export interface ManagerRow {
  id: string;
  workspace_id: string;
  name: string;
  is_system: Generated<boolean>;
  cloud: Cloud | null;
  region: string | null;
  targets: Manager["targets"];
  /** Null for system managers. `failed` by time-out and `deleted` by silence are computed on read (§9). */
  setup_status: SetupStatus | null;
  setup_method: ManagerSetupMethod | null;
  setup_changed_at: Date;
  url: string | null;
  /** As last reported; null before the first heartbeat. */
  status: "healthy" | "degraded" | "unhealthy" | null;
  version: string | null;
  metrics: ColumnType<ManagerMetrics | null, unknown>;
  management_configs: ColumnType<ManagementConfigs, unknown>;
  /** `{logsEndpoint, sealedAuthHeader}`. */
  otlp_config: ColumnType<unknown, unknown>;
  network: "create" | "default" | null;
  last_heartbeat_at: Date | null;
  /**
   * The scope of setup tokens (§9); hidden, like the deployment in it (kernel/tenancy/hidden.ts). Null without a setup.
   */
  internal_project_id: string | null;
  internal_group_id: string | null;
  /** The deployment that the manager itself runs as. Bootstrap creates it, another setup forgets it. */
  internal_deployment_id: string | null;
  /** The key that the last bootstrap returned; another bootstrap revokes it. */
  bootstrap_key_id: string | null;
  /** The customer's group that it serves. kernel/tenancy/serves.ts decides which deployments those are. */
  deployment_group_id: string | null;
  /** Serves every group of its workspace. Never true together with a group. */
  shared: Generated<boolean>;
  created_at: Date;
}

/**
 * Keys that sign the managers' access tokens (Ed25519) and id tokens (ES256). For each purpose the newest key signs.
 */
export interface SigningKeyRow {
  id: string;
  /** For tokens that managers check, or for id tokens: a token of one kind must never be accepted as the other. */
  purpose: Generated<"manager-access" | "id-token">;
  public_jwk: ColumnType<Readonly<Record<string, string>>, unknown>;
  /** PKCS #8 in PEM, sealed. */
  sealed_private_key: string;
  created_at: Date;
}
