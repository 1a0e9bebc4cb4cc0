import type { Static } from "typebox";
import {
  type DeployedResource,
  MAX_RESOURCE_ROWS,
  type ResourceInDeployment,
  type ResourceSummary,
  type resourceRoutes,
} from "../../../contract/resources/resources.ts";
import { type Call, type Handlers, notModified, reply } from "../../kernel/call/call.ts";
import { Filling } from "../../kernel/call/page.ts";
import { resourceDetail } from "./detail.ts";
import { ListTag } from "./list-tag.ts";
import { reachOf } from "./reach.ts";
import {
  type Aggregate,
  countReports,
  listAggregates,
  listByDeployment,
  listReports,
  type Merged,
  type Reach,
  type Report,
} from "./store.ts";

type Routes = typeof resourceRoutes;

export const handlers: Handlers<Routes> = {
  async list(call) {
    const { name } = call.query;
    const reach = { ...(await reachOf(call, call.query, call.query.resourceType)), name };
    const tag = await ListTag.of(call, reach);
    if (tag.known !== undefined) return notModified(tag.known);
    const rows = await listReports(call.db, reach, MAX_RESOURCE_ROWS + 1);
    const { shown, ...cut } = filled(rows, toDeployed, inListOrder);
    const headers = tag.headers(rows[0]?.next_stale);
    if (cut.truncated === undefined) return reply(200, { resources: shown }, headers);
    const truncatedDeployments = await notAllOf(call, reach, shown);
    return reply(200, { resources: shown, ...cut, truncatedDeployments }, headers);
  },

  async listOfType(call) {
    const reach = await reachOf(call, call.query, call.params.resourceType);
    const tag = await ListTag.of(call, reach);
    if (tag.known !== undefined) return notModified(tag.known);
    const rows = await listAggregates(call.db, reach, MAX_RESOURCE_ROWS + 1);
    const { shown, ...cut } = filled(rows, toSummary, inListOrder);
    return reply(200, { resources: shown, ...cut }, tag.headers(rows[0]?.next_stale));
  },

  deployments,

  get: (call) => resourceDetail(call, call.params, call.query.project),
};

async function deployments(call: Call<Routes["deployments"]>): Promise<Static<Routes["deployments"]["response"]>> {
  const { resourceType, resourceId } = call.params;
  const reach = { ...(await reachOf(call, call.query, resourceType)), resourceId };
  const rows = await listByDeployment(call.db, reach, MAX_RESOURCE_ROWS + 1);
  const { shown, ...cut } = filled(rows, toInDeployment, () => 0);
  return { resourceType, resourceId, deployments: shown, ...cut };
}

/**
 * Bounded by rows and by bytes, and then put in order. When a list was cut, its last row says so too (§11.2).
 *
 * @param rows in the order in which the answer is filled
 */
function filled<Row, Item extends { message: string | null }>(
  rows: readonly Row[],
  toItem: (row: Row) => Item,
  order: (a: Item, b: Item) => number,
): { shown: Item[]; truncated?: true } {
  const filling = new Filling<Item>();
  for (const row of rows.slice(0, MAX_RESOURCE_ROWS)) if (!filling.takes(toItem(row))) break;
  const items = filling.items.toSorted(order);
  const last = items.at(-1);
  if (items.length === rows.length || last === undefined) return { shown: items };
  const message = `only the first ${items.length} rows are shown`;
  return { shown: [...items.slice(0, -1), { ...last, message }], truncated: true };
}

type Listed = Pick<DeployedResource, "resourceType" | "resourceId" | "name" | "attentionCount"> &
  Partial<Pick<DeployedResource, "deploymentId" | "objectId">>;

function inListOrder(a: Listed, b: Listed): number {
  return (
    b.attentionCount - a.attentionCount ||
    byText(a.resourceType, b.resourceType) ||
    byText(a.name, b.name) ||
    byText(a.deploymentId ?? "", b.deploymentId ?? "") ||
    byText(a.resourceId, b.resourceId) ||
    byText(a.objectId ?? "", b.objectId ?? "")
  );
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The deployments of which a cut list does not have all rows, with how many it has. */
async function notAllOf(call: Call<Routes["list"]>, reach: Reach, shown: readonly DeployedResource[]) {
  const shownOf = new Map<string, number>();
  for (const { deploymentId } of shown) shownOf.set(deploymentId, (shownOf.get(deploymentId) ?? 0) + 1);
  const all = (await countReports(call.db, reach)).map((row) => ({
    deploymentId: row.deployment_id,
    deploymentName: row.deployment_name,
    shownCount: shownOf.get(row.deployment_id) ?? 0,
    totalCount: row.count,
  }));
  return all.filter(({ shownCount, totalCount }) => shownCount < totalCount).slice(0, MAX_RESOURCE_ROWS);
}

function conditionOf(row: Merged | Aggregate) {
  return {
    backend: row.backend,
    controllerPlatform: row.controllerPlatform,
    health: row.health,
    lifecycle: row.lifecycle,
    message: row.message,
    partial: row.partial,
    providerStale: row.provider_stale,
    platformStale: row.platform_stale,
    staleSince: row.stale_since?.toISOString() ?? null,
    desiredCount: row.desired,
    currentCount: row.current,
    readyCount: row.ready,
  };
}

function toDeployed(row: Report): DeployedResource {
  return {
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    objectId: row.object_id,
    name: row.name,
    namespace: row.namespace,
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
    lastObservedAt: row.observed_at.toISOString(),
  };
}

function toInDeployment(row: Merged): ResourceInDeployment {
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
