import { Check } from "typebox/schema";
import {
  ModelAvailability,
  type ModelAvailabilitySource,
} from "../../../contract/deployment-portal/deployment-info.ts";
import { STALE_AFTER_MS } from "../../../contract/resources/resource-heartbeat.ts";
import type { Db } from "../../database/db.ts";
import type { LiveHeartbeatRow } from "../../database/tables/sync.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { shown } from "../../kernel/tenancy/stored-error.ts";

/** What the `ai` resources of the deployments report about the models that their accounts can call, by deployment. */
export async function modelSources(
  db: Db,
  deploymentIds: readonly string[],
  principal: Principal,
  now: Date,
): Promise<ModelAvailabilitySource[]> {
  if (deploymentIds.length === 0) return [];
  const rows = await db
    .selectFrom("live_heartbeats")
    .selectAll()
    .where("deployment_id", "in", deploymentIds)
    .where("resource_type", "=", "ai")
    .orderBy("deployment_id")
    .orderBy("resource_id")
    .execute();
  return rows.map((row) => toSource(row, principal, now));
}

function toSource(row: LiveHeartbeatRow, principal: Principal, now: Date): ModelAvailabilitySource {
  const { availability } = shown(row.body, principal).data.data as { readonly availability?: unknown };
  const known = Check(ModelAvailability, availability) ? (availability as ModelAvailability) : undefined;
  const stale = now.getTime() > row.observed_at.getTime() + STALE_AFTER_MS;
  return {
    deploymentId: row.deployment_id,
    resourceId: row.resource_id,
    observedAt: row.observed_at.toISOString(),
    status: known === undefined ? "invalid" : stale ? "stale" : "current",
    ...(known && { availability: known }),
  };
}

/** The models that at least one fresh report of these deployments says can be called. */
export function availableModels(sources: readonly ModelAvailabilitySource[]): ReadonlySet<string> {
  return new Set(
    sources
      .filter(({ status }) => status === "current")
      .flatMap(({ availability }) => availability?.models ?? [])
      .filter((model) => model.availability === "available")
      .map(({ publicModelId }) => publicModelId),
  );
}
