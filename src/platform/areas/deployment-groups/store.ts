import type { Db } from "../../database/db.ts";
import type { DeploymentGroupRow } from "../../database/tables/deployment-groups.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { visible } from "../../kernel/tenancy/scope.ts";

/** The groups that the caller may see, with their project's name. */
export function groupsOf(db: Db, principal: Principal) {
  return db
    .selectFrom("deployment_groups as g")
    .innerJoin("projects as p", "p.id", "g.project_id")
    .selectAll("g")
    .select("p.name as project_name")
    .where(visible(principal, { workspace: "g.workspace_id", project: "g.project_id", deploymentGroup: "g.id" }));
}

/** Deployments of the group that are not `deleted`: what `maxDeployments` limits. */
export async function countDeployments(db: Db, groupId: string): Promise<number> {
  const { count } = await db
    .selectFrom("deployments")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("deployment_group_id", "=", groupId)
    .where("status", "<>", "deleted")
    .executeTakeFirstOrThrow();
  return Number(count);
}

export function insertGroup(db: Db, row: DeploymentGroupRow): Promise<DeploymentGroupRow> {
  return db.insertInto("deployment_groups").values(row).returningAll().executeTakeFirstOrThrow();
}
