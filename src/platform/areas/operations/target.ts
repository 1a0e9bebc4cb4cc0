import type { DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import type { Db } from "../../database/db.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { type Principal, scopeOfPrincipal } from "../../kernel/tenancy/principal.ts";
import { requireProject } from "../../kernel/tenancy/project-ref.ts";
import { visible } from "../../kernel/tenancy/scope.ts";

/** The columns of a deployment that operations need. */
export type Target = Pick<DeploymentRow, "id" | "workspace_id" | "project_id" | "status" | "deployment_model">;

const SCOPE = {
  workspace: "deployments.workspace_id",
  project: "deployments.project_id",
  served: "deployments",
} as const;

/** @throws NOT_FOUND unless the caller may see the deployment; with a manager's key, unless that manager serves it. */
export async function requireTarget(db: Db, principal: Principal, id: string): Promise<Target> {
  const target = await db
    .selectFrom("deployments")
    .select(["id", "workspace_id", "project_id", "status", "deployment_model"])
    .where("id", "=", id)
    .where(visible(principal, SCOPE))
    .executeTakeFirst();
  if (target === undefined) throw notFound("deployment");
  return target;
}

const REFUSES_OPERATIONS: readonly DeploymentStatus[] = [
  "delete-pending",
  "deleting",
  "deleted",
  "teardown-required",
  "teardown-failed",
];

/** True while operations may run on it. After a failed delete they may: its objects still exist. */
export function isLive({ status }: Target): boolean {
  return !REFUSES_OPERATIONS.includes(status);
}

/**
 * The project of an operations route. A manager's key sees the projects of its deployments; a system manager's key sees
 * those of any workspace, and therefore only by id.
 *
 * @throws PROJECT_REQUIRED, NOT_FOUND
 */
export async function requireOperationsProject(
  db: Db,
  principal: Principal,
  ref: string | undefined,
): Promise<{ readonly id: string }> {
  if (scopeOfPrincipal(principal).type !== "manager") return requireProject(db, principal, ref);
  if (ref === undefined) throw new PlatformError("PROJECT_REQUIRED");
  const served = await db
    .selectFrom("deployments")
    .innerJoin("projects", "projects.id", "deployments.project_id")
    .select("projects.id")
    .where(visible(principal, SCOPE))
    .where("deployments.status", "!=", "deleted")
    .where((eb) =>
      eb.or([
        eb("projects.id", "=", ref),
        eb.and([eb("projects.name", "=", ref), eb("projects.workspace_id", "=", principal.workspaceId)]),
      ]),
    )
    .executeTakeFirst();
  if (served === undefined) throw notFound("project");
  return served;
}
