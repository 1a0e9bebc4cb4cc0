import { type Expression, type SqlBool, sql } from "kysely";

/**
 * The SQL condition that decides whether manager `m` serves a deployment group. Every query made with a manager's key
 * includes it; without it a manager reads another customer's deployments.
 *
 * A system manager serves every group. A private manager serves the group that it is for, or every group of its
 * workspace when an admin has declared it shared. A private manager with neither serves none. The manager's own
 * deployment is in a separate group.
 *
 * @param group null: whether the manager serves every group of the workspace.
 */
export function serves(group: Expression<unknown> | string | null, workspace: Expression<unknown> | string) {
  return sql<SqlBool>`(m.is_system or m.internal_group_id = ${group} or (
    m.workspace_id = ${workspace} and (m.shared or m.deployment_group_id = ${group})))`;
}

/** The same condition over the tables `managers as m` and `deployments as d`. */
export const servesDeployment: Expression<SqlBool> = serves(
  sql.ref("d.deployment_group_id"),
  sql.ref("d.workspace_id"),
);

/**
 * The condition for deployments that a manager works on: assigned to it, and of a group that it serves.
 * @param deployments the name of the table `deployments` in the query
 */
export function servedBy(managerId: string, deployments: string): Expression<SqlBool> {
  const column = (name: string) => sql.ref(`${deployments}.${name}`);
  return sql<SqlBool>`${column("manager_id")} = ${managerId} and exists (
    select from managers as m
    where m.id = ${managerId} and ${serves(column("deployment_group_id"), column("workspace_id"))})`;
}
