import { type Expression, type SqlBool, sql, type UpdateObject } from "kysely";
import type { Database, Db } from "../../../database/db.ts";
import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import { HIDDEN_WORKSPACE } from "../../../kernel/tenancy/hidden.ts";
import { type Principal, scopeOfPrincipal } from "../../../kernel/tenancy/principal.ts";
import { visible } from "../../../kernel/tenancy/scope.ts";
import { servedBy } from "../../../kernel/tenancy/serves.ts";

function withNames(db: Db) {
  return db
    .selectFrom("deployments as d")
    .innerJoin("deployment_groups as g", "g.id", "d.deployment_group_id")
    .innerJoin("projects as p", "p.id", "d.project_id")
    .selectAll("d")
    .select(["g.name as group_name", "g.external_id as group_external_id", "p.name as project_name"]);
}

/**
 * The columns that lists show. The others, above all state and settings, can be half a megabyte a row: reading them for
 * a list would block all other callers.
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

/** The deployments that the caller may see, including `deleted` ones, with the names of group and project. */
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
 * The condition, over table `d`, for deployments that a manager works on: those that it serves, and the one that it
 * runs as. Use it only for deployments that the request names. In a list the manager would get its own deployment among
 * those of customers.
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

/** The deployment that a manager of the caller's workspace currently runs as. */
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

/** Updates by id alone: the caller has found the row under its own tenancy in the same transaction. */
export function updateDeployment(
  db: Db,
  id: string,
  set: UpdateObject<Database, "deployments">,
): Promise<DeploymentRow> {
  return db.updateTable("deployments").set(set).where("id", "=", id).returningAll().executeTakeFirstOrThrow();
}
