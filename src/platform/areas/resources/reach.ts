import { type Expression, type SqlBool, sql } from "kysely";
import type { Call } from "../../kernel/call/call.ts";
import { notFound } from "../../kernel/errors.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { optionalProject } from "../../kernel/tenancy/project-ref.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import { groupsOf } from "../deployment-groups/store.ts";
import { getDeployment } from "../deployments/read/get.ts";
import type { Reach } from "./store.ts";

type Context = Pick<Call, "db" | "principal" | "now">;

interface Filters {
  readonly project?: string;
  readonly deploymentGroupId?: string;
  readonly deploymentId?: string;
}

/**
 * The deployments whose resources a list shows; without a project, all that the caller sees.
 * @throws NOT_FOUND for a filter outside of them.
 */
export async function reachOf(call: Context, filters: Filters, type: string | undefined): Promise<Reach> {
  const { db, principal } = call;
  const project = await optionalProject(db, principal, filters.project);
  const resourceType = readableType(principal, type);
  const within = [deploymentsWithin(principal)];
  if (project !== undefined) within.push(sql<SqlBool>`d.project_id = ${project.id}`);
  const { deploymentGroupId, deploymentId } = filters;
  if (deploymentGroupId !== undefined) {
    if (principal.kind === "serviceAccount" && principal.scope.type === "deployment")
      throw notFound("deployment group");
    const group = await groupsOf(db, principal).where("g.id", "=", deploymentGroupId).executeTakeFirst();
    if (group === undefined || (project !== undefined && group.project_id !== project.id))
      throw notFound("deployment group");
    within.push(sql<SqlBool>`d.deployment_group_id = ${deploymentGroupId}`);
  }
  if (deploymentId !== undefined) {
    const deployment = await getDeployment(call, deploymentId);
    if (project !== undefined && deployment.project_id !== project.id) throw notFound("deployment");
    within.push(sql<SqlBool>`d.id = ${deploymentId}`);
  }
  return { within: sql<SqlBool>`${sql.join(within, sql` and `)}`, resourceType, now: call.now };
}

/** A key for AI gateways sees only AI resources (§11.2). @throws NOT_FOUND for another type. */
function readableType({ role }: Principal, type: string | undefined): string | undefined {
  if (role !== "project.ai-gateway") return type;
  if (type !== undefined && type !== "ai") throw notFound("resource");
  return "ai";
}

function deploymentsWithin(principal: Principal): Expression<SqlBool> {
  return visible(principal, {
    workspace: "d.workspace_id",
    project: "d.project_id",
    deploymentGroup: "d.deployment_group_id",
    deployment: "d.id",
  });
}
