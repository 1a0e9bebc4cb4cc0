import type { PURPOSES, SETUP_METHODS } from "../../../contract/deployments/deployment.ts";
import type {
  Capability,
  DeploymentModel,
  DeploymentStatus,
  EnvironmentInfo,
  EnvironmentVariable,
  StackState,
  UpdateState,
} from "../../../contract/deployments/deployment-state.ts";
import type { DeleteAction } from "../../../contract/deployments/deployments.ts";
import type { StackSettings } from "../../../contract/deployments/stack-settings.ts";
import type { PLATFORMS } from "../../../contract/wire/schema.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Kept } from "./kept.ts";

/** A set of variables as stored: secret values are sealed, all others are plain. */
export interface SealedVariables {
  readonly variables: readonly EnvironmentVariable[];
  readonly hash: string;
  readonly createdAt: string;
}

export interface DeploymentTables {
  deployments: DeploymentRow;
}

export interface DeploymentRow {
  id: string;
  workspace_id: string;
  project_id: string;
  deployment_group_id: string;
  /** Null while the deployment waits for a manager that serves its group. */
  manager_id: string | null;
  /** For a waiting deployment: its former manager. Only an admin can give it to another one. */
  previous_manager_id: string | null;
  /** Unique among the group's deployments that are not `deleted`. */
  name: string;
  platform: (typeof PLATFORMS)[number];
  base_platform: "aws" | "gcp" | "azure" | "on-prem" | null;
  region: string | null;
  purpose: (typeof PURPOSES)[number];
  deployment_model: DeploymentModel;
  status: DeploymentStatus;
  error: Kept<StoredError> | null;
  /** Set by retry, cleared when the work is acquired or reported. */
  retry_requested: boolean;
  /** The delete that is in progress or done. */
  delete_action: DeleteAction | null;
  last_heartbeat_at: Date | null;
  stack_state: Kept<StackState> | null;
  environment_info: EnvironmentInfo | null;
  /** The manager's own notes; the platform does not read them. */
  runtime_metadata: Record<string, unknown> | null;
  update_state: UpdateState | null;
  current_release_id: string | null;
  /** When `current_release_id` last changed. */
  released_at: Date | null;
  /** Duration of the update to the current release, from its request on; null when no update installed it. */
  release_duration_ms: number | null;
  /** Null when only the current release is wanted. */
  desired_release_id: string | null;
  pinned_release_id: string | null;
  release_channel: string;
  import_source: "cloudformation" | "terraform" | "helm" | null;
  setup_method: (typeof SETUP_METHODS)[number] | null;
  setup_metadata: Record<string, unknown> | null;
  setup_target: string | null;
  setup_fingerprint: string | null;
  setup_fingerprint_version: number | null;
  stack_settings: StackSettings;
  resource_prefix: string | null;
  public_subdomain: string | null;
  operator_scope: string | null;
  operator_permission: string | null;
  operator_version: string | null;
  capabilities: Capability[] | null;
  /** As set through the API; secret values are sealed. */
  environment_variables: SealedVariables | null;
  /** The variables with which the running state was made. */
  current_environment_variables: SealedVariables | null;
  /** Input id to value; secret ones sealed. */
  input_values: Record<string, unknown>;
  /** The manager asked not to get the deployment before this time. */
  next_step_after: Date | null;
  /** Another random word after each report about its resources; null: there was none. */
  resources_version: string | null;
  /** Of the last report of all resources: what was observed before it is out of date. Null: there was none. */
  resources_full_at: Date | null;
  /** What reports have told of resources and was not given back yet (`deployment-told-bytes`), as of `told_bytes_at`. */
  told_bytes: number | null;
  told_bytes_at: Date | null;
  lease_session: string | null;
  lease_since: Date | null;
  lease_expires_at: Date | null;
  /** False until the first renewal. */
  lease_confirmed: boolean;
  /** The last acquire. A running deployment is handed out at most once a minute. */
  acquired_at: Date | null;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}
