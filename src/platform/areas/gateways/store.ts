import { sql } from "kysely";
import type { DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import { STALE_AFTER_MS } from "../../../contract/resources/resource-heartbeat.ts";
import type { Db } from "../../database/db.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import { PROVIDED_TYPE } from "./item-status.ts";

export interface GatewayRow {
  readonly project_id: string;
  readonly project_name: string;
  readonly enabled_capabilities: readonly string[];
  /** Null for a project without groups, and for a group without a deployment of this purpose. */
  readonly status: DeploymentStatus | null;
  readonly last_heartbeat_at: Date | null;
  readonly unhealthy: boolean;
  readonly provides: boolean;
}

/**
 * One row for each project and group, with the deployment that represents the group: the newest of the purpose. A
 * deleted one only when there is no other.
 */
export async function gatewayRows(
  db: Db,
  principal: Principal,
  purpose: "ai" | "encryption",
  now: Date,
): Promise<readonly GatewayRow[]> {
  const freshSince = new Date(now.getTime() - STALE_AFTER_MS);
  const { rows } = await sql<GatewayRow>`
    select p.id as project_id, p.name as project_name, p.enabled_capabilities, d.status, d.last_heartbeat_at,
      exists (
        select from live_heartbeats h
        where h.deployment_id = d.id and h.observed_at >= ${freshSince}
          and h.body #>> '{data,data,status,health}' = 'unhealthy'
      ) as unhealthy,
      exists (
        select from live_heartbeats h
        where h.deployment_id = d.id and h.observed_at >= ${freshSince} and h.resource_type = ${PROVIDED_TYPE[purpose]}
      ) as provides
    from projects p
    left join deployment_groups g on g.project_id = p.id
    left join lateral (
      select each.id, each.status, each.last_heartbeat_at from deployments each
      where each.deployment_group_id = g.id and each.purpose = ${purpose}
      order by each.status = 'deleted', each.created_at desc, each.id desc limit 1
    ) d on true
    where ${visible(principal, { workspace: "p.workspace_id", project: "p.id" })}
    order by p.name`.execute(db);
  return rows;
}
