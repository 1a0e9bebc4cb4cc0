import type { Db } from "../../database.ts";
import type { Principal } from "../../kernel/principal.ts";
import { visible } from "../../kernel/scope.ts";
import type { SealedVariables } from "../deployments/environment.ts";

export interface DeploymentGroupTables {
  deployment_groups: DeploymentGroupRow;
  group_token_setups: GroupTokenSetupRow;
}

/** What a group token settles beforehand, beside what its key shows. Goes with the key. */
export interface GroupTokenSetupRow {
  api_key_id: string;
  /** With their values; secret ones sealed. */
  environment_variables: SealedVariables | null;
  /** Input id to value; secret ones sealed. */
  input_values: Record<string, unknown>;
  /** The principal whose first-party session it is. */
  session_of: string | null;
}

export interface DeploymentGroupRow {
  id: string;
  workspace_id: string;
  project_id: string;
  name: string;
  /** Unique in the project, case-sensitive. */
  external_id: string | null;
  max_deployments: number;
  created_at: Date;
}

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
