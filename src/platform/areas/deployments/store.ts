import { type Expression, type SqlBool, sql, type UpdateObject } from "kysely";
import type { PURPOSES, SETUP_METHODS } from "../../../contract/deployments/deployment.ts";
import type {
  Capability,
  DeploymentModel,
  DeploymentStatus,
  EnvironmentInfo,
  StackState,
  UpdateState,
} from "../../../contract/deployments/deployment-state.ts";
import type { DeleteAction } from "../../../contract/deployments/deployments.ts";
import type { StackSettings } from "../../../contract/deployments/stack-settings.ts";
import type { PLATFORMS } from "../../../contract/wire/schema.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Database, Db } from "../../database.ts";
import { type Principal, scopeOfPrincipal } from "../../kernel/principal.ts";
import { visible } from "../../kernel/scope.ts";
import { servedBy } from "../../kernel/serves.ts";
import type { Kept } from "../../kernel/stored-error.ts";
import type { SealedVariables } from "./environment.ts";
import { HIDDEN_WORKSPACE } from "./hidden.ts";

export interface DeploymentTables {
  deployments: DeploymentRow;
}

export interface DeploymentRow {
  id: string;
  workspace_id: string;
  project_id: string;
  deployment_group_id: string;
  /** Null while it waits for a manager that serves its group. */
  manager_id: string | null;
  /** Of one that waits: which it had. No other is given to it without an admin's act. */
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
  /** The delete that is going on or was done. */
  delete_action: DeleteAction | null;
  last_heartbeat_at: Date | null;
  stack_state: Kept<StackState> | null;
  environment_info: EnvironmentInfo | null;
  /** The manager's own notes, opaque here. */
  runtime_metadata: Record<string, unknown> | null;
  update_state: UpdateState | null;
  current_release_id: string | null;
  /** When `current_release_id` last changed. */
  released_at: Date | null;
  /** How long the update that brought it took, from its request on; null when no update did. */
  release_duration_ms: number | null;
  /** Null when nothing else than the current release is wanted. */
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
  /** Those that the running state was made with. */
  current_environment_variables: SealedVariables | null;
  /** Input id to value; secret ones sealed. */
  input_values: Record<string, unknown>;
  /** The manager asked to be left alone until then. */
  next_step_after: Date | null;
  lease_session: string | null;
  lease_since: Date | null;
  lease_expires_at: Date | null;
  /** False until the first renew. */
  lease_confirmed: boolean;
  /** The last acquire, which a running deployment has at most once a minute. */
  acquired_at: Date | null;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

function withNames(db: Db) {
  return db
    .selectFrom("deployments as d")
    .innerJoin("deployment_groups as g", "g.id", "d.deployment_group_id")
    .innerJoin("projects as p", "p.id", "d.project_id")
    .selectAll("d")
    .select(["g.name as group_name", "g.external_id as group_external_id", "p.name as project_name"]);
}

/**
 * What lists show. The rest of a row, its state and settings above all, can be half a megabyte: a list of a hundred would read
 * it, and keep every other caller waiting, to show none of it.
 */
export const LISTED = [
  "id",
  "workspace_id",
  "project_id",
  "deployment_group_id",
  "manager_id",
  "name",
  "platform",
  "base_platform",
  "region",
  "purpose",
  "deployment_model",
  "status",
  "error",
  "retry_requested",
  "last_heartbeat_at",
  "environment_info",
  "update_state",
  "current_release_id",
  "desired_release_id",
  "pinned_release_id",
  "release_channel",
  "import_source",
  "setup_method",
  "setup_metadata",
  "setup_target",
  "setup_fingerprint",
  "setup_fingerprint_version",
  "public_subdomain",
  "operator_scope",
  "operator_permission",
  "operator_version",
  "capabilities",
  "created_at",
  "updated_at",
] as const satisfies readonly (keyof DeploymentRow)[];
export type ListedDeployment = Pick<DeploymentRow, (typeof LISTED)[number]>;

/** The deployments that the caller may see, `deleted` ones too, with the names beside them. */
export function deploymentsOf(db: Db, principal: Principal) {
  return withNames(db).where(
    visible(principal, {
      workspace: "d.workspace_id",
      project: "d.project_id",
      deploymentGroup: "d.deployment_group_id",
      deployment: "d.id",
      served: "d",
    }),
  );
}

export type VisibleDeployment = Awaited<ReturnType<ReturnType<typeof deploymentsOf>["executeTakeFirstOrThrow"]>>;

export function findDeployment(db: Db, principal: Principal, id: string): Promise<VisibleDeployment | undefined> {
  return deploymentsOf(db, principal).where("d.id", "=", id).executeTakeFirst();
}

/**
 * What a manager may work on, of the table `d`: what it serves and the deployment that it runs as. Only for
 * deployments that it names: one that it does not know of must not come among those of customers.
 */
export function workedOnBy(principal: Principal): Expression<SqlBool> {
  const scope = scopeOfPrincipal(principal);
  if (scope.type !== "manager") throw new Error(`a ${scope.type} key works on no deployment`);
  const everywhere = principal.kind === "serviceAccount" && principal.system;
  const workspaces = sql<SqlBool>`d.workspace_id in (${principal.workspaceId}, ${HIDDEN_WORKSPACE})`;
  return sql<SqlBool>`${servedBy(scope.managerId, "d")} and ${everywhere ? sql`true` : workspaces}`;
}

export function servedDeployments(db: Db, principal: Principal) {
  return withNames(db).where(workedOnBy(principal));
}

export function findServed(db: Db, principal: Principal, id: string): Promise<VisibleDeployment | undefined> {
  return servedDeployments(db, principal).where("d.id", "=", id).executeTakeFirst();
}

/** The deployment that a manager of the caller's workspace runs as now. */
export function findOwnOfManager(db: Db, principal: Principal, id: string): Promise<VisibleDeployment | undefined> {
  return withNames(db)
    .where("d.id", "=", id)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom("managers as m")
          .select("m.id")
          .whereRef("m.internal_deployment_id", "=", "d.id")
          .where("m.workspace_id", "=", principal.workspaceId),
      ),
    )
    .executeTakeFirst();
}

/** By id alone: the caller has found it under its own tenancy in the same transaction. */
export function updateDeployment(
  db: Db,
  id: string,
  set: UpdateObject<Database, "deployments">,
): Promise<DeploymentRow> {
  return db.updateTable("deployments").set(set).where("id", "=", id).returningAll().executeTakeFirstOrThrow();
}
