import { type Expression, type SqlBool, sql } from "kysely";
import { type Principal, scopeOfPrincipal } from "./principal.ts";
import { servedBy } from "./serves.ts";

/**
 * Where a query has the ids that bound it, as `table.column` names. Give the columns that the route's roles can need.
 */
export interface ScopeColumns {
  readonly workspace: string;
  readonly project?: string;
  readonly deploymentGroup?: string;
  readonly deployment?: string;
  /** For managers' keys: the name of the table `deployments` in the query. */
  readonly served?: string;
}

/**
 * The tenancy condition of every query: true for rows of the caller's workspace inside its key's scope. A manager's key
 * is bound by the deployments that it serves (serves.ts); a system manager's key is bound by them alone.
 *
 * @example db.selectFrom("deployments as d").where(visible(call.principal, { workspace: "d.workspace_id", … }))
 * @throws Error when the scope has no column here. The query fails instead of showing too much, and the test matrix
 * reports it as a 500.
 */
export function visible(principal: Principal, columns: ScopeColumns): Expression<SqlBool> {
  const scope = scopeOfPrincipal(principal);
  const inWorkspace = sql<SqlBool>`${sql.ref(columns.workspace)} = ${principal.workspaceId}`;
  const named = (column: string | undefined): string => {
    if (column === undefined) throw new Error(`no column bounds a ${scope.type} key here`);
    return column;
  };
  const within = (column: string | undefined, id: string): Expression<SqlBool> =>
    sql<SqlBool>`${inWorkspace} and ${sql.ref(named(column))} = ${id}`;
  switch (scope.type) {
    case "workspace":
      return inWorkspace;
    case "project":
      return within(columns.project, scope.projectId);
    case "deployment-group":
      return within(columns.deploymentGroup, scope.deploymentGroupId);
    case "deployment":
      return within(columns.deployment, scope.deploymentId);
    case "manager": {
      const served = servedBy(scope.managerId, named(columns.served));
      const system = principal.kind === "serviceAccount" && principal.system;
      return system ? served : sql<SqlBool>`${inWorkspace} and ${served}`;
    }
  }
}
