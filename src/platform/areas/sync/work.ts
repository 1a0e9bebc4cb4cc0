import type { Selectable } from "kysely";
import type { DeploymentState, DeploymentStatus, ReleaseInfo } from "../../../contract/deployments/deployment-state.ts";
import type { AcquireItem, DeploymentConfig } from "../../../contract/deployments/sync.ts";
import type { Db } from "../../database/db.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { ManagerRow } from "../../database/tables/managers.ts";
import type { ReleaseRow } from "../../database/tables/releases.ts";
import { open } from "../../kernel/sealed.ts";
import { shown } from "../../kernel/tenancy/stored-error.ts";
import { isDeletePhase } from "../deployments/lifecycle/status.ts";
import { openVariables, sealVariables } from "../deployments/settings/environment.ts";
import { openInputs } from "../deployments/settings/inputs.ts";

/** The related data that is needed to show deployments to a manager, read once for any number of them. */
export interface Surroundings {
  readonly releases: ReadonlyMap<string, ReleaseRow>;
  readonly managers: ReadonlyMap<string, Selectable<ManagerRow>>;
  readonly sealingKey: Uint8Array;
}

/** @param configured those whose configuration is shown: only their managers are read. */
export async function surroundingsOf(
  db: Db,
  rows: readonly DeploymentRow[],
  sealingKey: Uint8Array,
  configured: readonly DeploymentRow[] = rows,
): Promise<Surroundings> {
  const releaseIds = rows.flatMap((row) => [row.current_release_id ?? [], row.desired_release_id ?? []].flat());
  const managerIds = [...new Set(configured.flatMap((row) => row.manager_id ?? []))];
  const releases =
    releaseIds.length === 0 ? [] : await db.selectFrom("releases").selectAll().where("id", "in", releaseIds).execute();
  const managers =
    managerIds.length === 0 ? [] : await db.selectFrom("managers").selectAll().where("id", "in", managerIds).execute();
  return {
    releases: new Map(releases.map((release) => [release.id, release])),
    managers: new Map(managers.map((manager) => [manager.id, manager])),
    sealingKey,
  };
}

/** The manager's own configuration for the deployment's platform; null when it has reported none. */
export function managementConfigOf(row: DeploymentRow, { managers }: Surroundings): Record<string, unknown> | null {
  const configs: Readonly<Record<string, Record<string, unknown> | undefined>> | undefined = managers.get(
    row.manager_id ?? "",
  )?.management_configs;
  return configs?.[row.platform] ?? null;
}

function releaseInfo(row: DeploymentRow, id: string | null, { releases }: Surroundings): ReleaseInfo | null {
  const release = releases.get(id ?? "");
  if (release === undefined) return null;
  const stack = release.stack[row.platform];
  return { releaseId: release.id, version: release.version, description: null, ...(stack && { stack }) };
}

/** The role of the only readers of these values. */
const RUNTIME = { role: "manager.runtime" } as const;

export function toState(row: DeploymentRow, around: Surroundings): DeploymentState {
  return {
    status: row.status,
    platform: row.platform,
    protocolVersion: 1,
    currentRelease: releaseInfo(row, row.current_release_id, around),
    targetRelease: releaseInfo(row, row.desired_release_id, around),
    stackState: shown(row.stack_state, RUNTIME),
    error: shown(row.error, RUNTIME),
    environmentInfo: row.environment_info,
    runtimeMetadata: row.runtime_metadata,
    retryRequested: row.retry_requested,
  };
}

/** Frozen resources may change only in these statuses: during setup and teardown. */
const SETUP: readonly DeploymentStatus[] = ["pending", "initial-setup", "teardown-required"];

/** @throws Error when a secret cannot be decrypted, for example after a change of the sealing key. */
function toConfig(row: DeploymentRow, around: Surroundings): DeploymentConfig {
  const manager = around.managers.get(row.manager_id ?? "");
  const { sealingKey } = around;
  const otlp = manager?.otlp_config as { logsEndpoint: string; sealedAuthHeader: string } | null | undefined;
  const variables = row.environment_variables ?? sealVariables([], sealingKey, row.created_at);
  return {
    deploymentName: row.name,
    environmentVariables: openVariables(variables, sealingKey),
    inputValues: openInputs(row.input_values, sealingKey),
    stackSettings: row.stack_settings,
    externalBindings: row.stack_settings.externalBindings ?? {},
    managementConfig: managementConfigOf(row, around),
    managerUrl: manager?.url ?? null,
    // The platform stores only the hash of the token. The administrator who set up the deployment has the token.
    deploymentToken: null,
    basePlatform: row.base_platform,
    labelDomain: null,
    publicEndpoints: row.stack_settings.publicEndpoints ?? null,
    domainMetadata: null,
    // Nothing asks the customer about telemetry: what needs an approval is not sent.
    monitoring:
      otlp == null || (row.stack_settings.telemetry ?? "auto") !== "auto"
        ? null
        : {
            logsEndpoint: otlp.logsEndpoint,
            logsAuthHeader: open(sealingKey, otlp.sealedAuthHeader),
            metricsEndpoint: null,
            metricsAuthHeader: null,
            resourceAttributes: {},
          },
    computeBackend: null,
    allowFrozenChanges: SETUP.includes(row.status),
    observeAllNamespaces: row.operator_scope === "*",
    observeLabelSelector: null,
  };
}

export function toItem(row: DeploymentRow, around: Surroundings): AcquireItem {
  return {
    deploymentId: row.id,
    projectId: row.project_id,
    deploymentGroupId: row.deployment_group_id,
    ...(row.setup_method !== null && { setupMethod: row.setup_method }),
    current: toState(row, around),
    config: toConfig(row, around),
  };
}

/** The target of a deployment that should have no release. */
const NO_RELEASE: ReleaseInfo = { releaseId: null, version: null, description: null };

/** At rest a deployment has none: the answer to its report needs no configuration. */
export function hasTarget({ desired_release_id, status }: DeploymentRow): boolean {
  return (desired_release_id !== null || status !== "running") && status !== "deleted";
}

/** The target in the answer to a report; null when the deployment has reached it, or is deleted. */
export function toTarget(
  row: DeploymentRow,
  around: Surroundings,
): { releaseInfo: ReleaseInfo; config: DeploymentConfig } | null {
  if (!hasTarget(row)) return null;
  const id = isDeletePhase(row.status) ? row.current_release_id : (row.desired_release_id ?? row.current_release_id);
  return { releaseInfo: releaseInfo(row, id, around) ?? NO_RELEASE, config: toConfig(row, around) };
}
