import type { Deployment, DeploymentListItem } from "../../../../contract/deployments/deployment.ts";
import type { UpdateOperation, UpdateState } from "../../../../contract/deployments/deployment-state.ts";
import { STALE_AFTER_MS } from "../../../../contract/resources/resource-heartbeat.ts";
import type { DeploymentRow, SealedVariables } from "../../../database/tables/deployments.ts";
import type { CallConfig } from "../../../kernel/call/call-config.ts";
import { isHidden } from "../../../kernel/tenancy/hidden.ts";
import type { Principal } from "../../../kernel/tenancy/principal.ts";
import { shown } from "../../../kernel/tenancy/stored-error.ts";
import { openVariables, redactVariables } from "../settings/environment.ts";
import type { ListedDeployment } from "./store.ts";

/** The caller that reads, the time, and the key to the values that only managers may read in clear. */
export interface Reader {
  readonly principal: Principal;
  readonly now: Date;
  readonly config: Pick<CallConfig, "sealingKey">;
}

/** Computed on read (§11.1). A report of exactly 180 s ago is still fresh. */
export function connectivityOf(lastHeartbeatAt: Date | null, now: Date): "online" | "stale" | "never" {
  if (lastHeartbeatAt === null) return "never";
  return now.getTime() > lastHeartbeatAt.getTime() + STALE_AFTER_MS ? "stale" : "online";
}

function waits({ manager_id, status }: ListedDeployment): boolean {
  return manager_id === null && status !== "deleted";
}

export function toListItem(row: ListedDeployment, { principal, now }: Reader): DeploymentListItem {
  return {
    id: row.id,
    name: row.name,
    projectId: row.project_id,
    // A caller that may read a hidden deployment belongs to the workspace of its manager.
    workspaceId: isHidden(row) ? principal.workspaceId : row.workspace_id,
    deploymentGroupId: row.deployment_group_id,
    ...(row.manager_id !== null && { managerId: row.manager_id }),
    ...(waits(row) && { waitsFor: "manager" as const }),
    publicSubdomain: row.public_subdomain,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    platform: row.platform,
    basePlatform: row.base_platform,
    region: row.region,
    purpose: row.purpose,
    deploymentModel: row.deployment_model,
    deploymentProtocolVersion: 1,
    status: row.status,
    error: shown(row.error, principal),
    retryRequested: row.retry_requested,
    lastHeartbeatAt: row.last_heartbeat_at?.toISOString() ?? null,
    connectivity: connectivityOf(row.last_heartbeat_at, now),
    environmentInfo: row.environment_info,
    ...(row.update_state !== null && { updateState: shownUpdates(row.update_state) }),
    currentReleaseId: row.current_release_id,
    desiredReleaseId: row.desired_release_id,
    pinnedReleaseId: row.pinned_release_id,
    releaseChannel: row.release_channel,
    importSource: row.import_source,
    ...(row.setup_method !== null && { setupMethod: row.setup_method }),
    setupMetadata: row.setup_metadata,
    setupTarget: row.setup_target,
    setupFingerprint: row.setup_fingerprint,
    setupFingerprintVersion: row.setup_fingerprint_version,
    operatorScope: row.operator_scope,
    operatorPermission: row.operator_permission,
    operatorVersion: row.operator_version,
    capabilities: row.capabilities,
  };
}

/** Old rows hold a null where an operation has no release. */
function shownUpdates({ active, next, latest }: UpdateState): UpdateState {
  const each = (operation: UpdateOperation | null) => operation && shownOperation(operation);
  return { active: each(active), next: each(next), latest: each(latest) };
}

function shownOperation({ targetReleaseId, ...operation }: UpdateOperation): UpdateOperation {
  return { ...operation, ...(targetReleaseId != null && { targetReleaseId }) };
}

export function toDeployment(row: DeploymentRow, reader: Reader): Deployment {
  const manager = reader.principal.role === "manager.runtime";
  const variables = (set: SealedVariables | null) => {
    if (set === null) return null;
    return manager ? openVariables(set, reader.config.sealingKey) : redactVariables(set);
  };
  const { environment_variables: wanted, current_environment_variables: current } = row;
  return {
    ...toListItem(row, reader),
    stackState: shown(row.stack_state, reader.principal),
    stackSettings: row.stack_settings,
    ...(manager && { runtimeMetadata: row.runtime_metadata }),
    environmentVariables: variables(wanted)?.variables ?? null,
    // Null when the running state already has the desired variables.
    targetEnvironmentVariables: wanted?.hash === current?.hash ? null : variables(wanted),
    currentEnvironmentVariables: variables(current),
  };
}
