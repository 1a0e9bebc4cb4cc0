import type { Static } from "typebox";
import {
  type DeployedResource,
  MAX_RESOURCE_ROWS,
  type ResourceInDeployment,
  type ResourceSummary,
  type resourceRoutes,
} from "../../../contract/resources/resources.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { resourceDetail } from "./detail.ts";
import { reachOf } from "./reach.ts";
import { type Aggregate, listAggregates, listByDeployment, listReports, type Report } from "./store.ts";

type Routes = typeof resourceRoutes;

export const handlers: Handlers<Routes> = {
  async list(call) {
    const rows = await listReports(call.db, await reachOf(call, call.query, undefined), MAX_RESOURCE_ROWS + 1);
    const resources = rows.slice(0, MAX_RESOURCE_ROWS).map(toDeployed);
    return { resources: saying(resources, rows), ...cut(rows) };
  },

  async listOfType(call) {
    const reach = await reachOf(call, call.query, call.params.resourceType);
    const rows = await listAggregates(call.db, reach, MAX_RESOURCE_ROWS + 1);
    const resources = rows.slice(0, MAX_RESOURCE_ROWS).map(toSummary);
    return { resources: saying(resources, rows), ...cut(rows) };
  },

  deployments,

  get: (call) => resourceDetail(call, call.params, call.query.project),
};

async function deployments(call: Call<Routes["deployments"]>): Promise<Static<Routes["deployments"]["response"]>> {
  const { resourceType, resourceId } = call.params;
  const reach = { ...(await reachOf(call, call.query, resourceType)), resourceId };
  const rows = await listByDeployment(call.db, reach, MAX_RESOURCE_ROWS + 1);
  const shown = rows.slice(0, MAX_RESOURCE_ROWS).map(toInDeployment);
  return { resourceType, resourceId, deployments: saying(shown, rows), ...cut(rows) };
}

function cut(rows: readonly unknown[]): { truncated?: true } {
  return rows.length > MAX_RESOURCE_ROWS ? { truncated: true } : {};
}

/** When a list was cut, its last row says so too (§11.2). */
function saying<Row extends { message: string | null }>(shown: Row[], all: readonly unknown[]): Row[] {
  const last = shown.at(-1);
  if (all.length <= MAX_RESOURCE_ROWS || last === undefined) return shown;
  return [...shown.slice(0, -1), { ...last, message: `only the first ${MAX_RESOURCE_ROWS} rows are shown` }];
}

function conditionOf(row: Report | Aggregate) {
  return {
    backend: row.backend,
    controllerPlatform: row.controllerPlatform,
    health: row.health,
    lifecycle: row.lifecycle,
    message: row.message,
    partial: row.partial,
    providerStale: row.provider_stale,
    platformStale: row.platform_stale,
    desiredCount: row.desired,
    currentCount: row.current,
    readyCount: row.ready,
  };
}

function toDeployed(row: Report): DeployedResource {
  return {
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    name: row.name,
    ...conditionOf(row),
    deploymentCount: 1,
    attentionCount: row.attention ? 1 : 0,
    lastObservedAt: row.observed_at.toISOString(),
    source: row.source,
    deploymentId: row.deployment_id,
    deploymentName: row.deployment_name,
    ...(row.source === "observed" && {
      deploymentGroupId: row.group_id,
      deploymentGroupName: row.group_name,
      rawKind: row.raw_kind,
      managedResourceId: row.managed_resource_id,
    }),
  };
}

function toSummary(row: Aggregate): ResourceSummary {
  return {
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    name: row.name,
    ...conditionOf(row),
    deploymentCount: row.deployment_count,
    attentionCount: row.attention_count,
    lastObservedAt: row.last_observed_at.toISOString(),
  };
}

function toInDeployment(row: Report): ResourceInDeployment {
  return {
    deploymentId: row.deployment_id,
    deploymentName: row.deployment_name,
    deploymentGroupId: row.group_id,
    deploymentGroupName: row.group_name,
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    ...conditionOf(row),
    observedAt: row.observed_at.toISOString(),
  };
}
