import { sql } from "kysely";
import type { SetupItem } from "../../../contract/deployment-groups/setup-config.ts";
import type {
  ItemStatus,
  ModelAvailabilitySource,
  PortalSetupItem,
} from "../../../contract/deployment-portal/deployment-info.ts";
import { STALE_AFTER_MS } from "../../../contract/resources/resource-heartbeat.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { shown } from "../../kernel/tenancy/stored-error.ts";
import { PURPOSE_OF } from "../deployments/create/create.ts";
import { connectivityOf } from "../deployments/read/record.ts";
import { itemStatus, PROVIDED_TYPE } from "../gateways/item-status.ts";
import { availableModels } from "./model-availability.ts";

/** The columns of a deployment that the setup items use. */
export type ItemDeployment = Pick<
  DeploymentRow,
  "id" | "purpose" | "status" | "error" | "last_heartbeat_at" | "setup_metadata"
> & { readonly unhealthy: boolean; readonly provides: boolean };

/** The group's deployments, newest first, deleted ones last. */
export async function deploymentsOfGroup(db: Db, groupId: string, now: Date): Promise<readonly ItemDeployment[]> {
  const freshSince = new Date(now.getTime() - STALE_AFTER_MS);
  return db
    .selectFrom("deployments as d")
    .select(["d.id", "d.purpose", "d.status", "d.error", "d.last_heartbeat_at", "d.setup_metadata"])
    .select(
      sql<boolean>`exists (
        select from live_heartbeats h
        where h.deployment_id = d.id and h.observed_at >= ${freshSince}
          and h.body #>> '{data,data,status,health}' = 'unhealthy'
      )`.as("unhealthy"),
    )
    .select(
      sql<boolean>`d.purpose = 'application' or exists (
        select from live_heartbeats h
        where h.deployment_id = d.id and h.observed_at >= ${freshSince}
          and h.resource_type = ${json(PROVIDED_TYPE)} ->> d.purpose
      )`.as("provides"),
    )
    .where("d.deployment_group_id", "=", groupId)
    .orderBy((eb) => eb("d.status", "=", "deleted"))
    .orderBy("d.created_at", "desc")
    .orderBy("d.id", "desc")
    .execute();
}

export interface ItemContext {
  readonly deployments: readonly ItemDeployment[];
  readonly sources: readonly ModelAvailabilitySource[];
  readonly principal: Principal;
  readonly now: Date;
}

/** The items of a token with the group's progress on each, in the token's order, which has dependencies first. */
export function portalItems(items: readonly SetupItem[], context: ItemContext): PortalSetupItem[] {
  const shown: PortalSetupItem[] = [];
  for (const item of items) {
    const earlier = shown.find(({ required, status }) => required && status !== "connected");
    shown.push(portalItem(item, earlier, context));
  }
  return shown;
}

/** In these statuses an item is healthy: it is shown as waiting while an earlier required item is not connected. */
const HELD: readonly ItemStatus[] = ["waiting", "applying", "verifying", "connected"];

function portalItem(item: SetupItem, earlier: PortalSetupItem | undefined, context: ItemContext): PortalSetupItem {
  const own = context.deployments.filter((each) => isFor(each, item.item));
  const [representative] = own;
  const deploymentIds = own.filter(({ status }) => status !== "deleted").map(({ id }) => id);
  const status = statusOf(item, representative, context);
  if (earlier !== undefined && HELD.includes(status)) {
    const message = `${earlier.item} is not connected yet`;
    return { ...item, status: "waiting", deploymentIds, blocker: { code: "DEPENDENCY_NOT_CONNECTED", message } };
  }
  const error = shown(representative?.error ?? null, context.principal);
  const blocked = status === "needs-attention" && error !== null;
  return { ...item, status, deploymentIds, ...(blocked && { blocker: { code: error.code, message: error.message } }) };
}

function isFor({ purpose, setup_metadata }: ItemDeployment, item: SetupItem["item"]): boolean {
  if (purpose !== PURPOSE_OF[item]) return false;
  return purpose !== "application" || (setup_metadata?.sandbox === true) === (item === "sandbox");
}

function statusOf(item: SetupItem, deployment: ItemDeployment | undefined, context: ItemContext): ItemStatus {
  const status = itemStatus(
    deployment && {
      status: deployment.status,
      unhealthy: deployment.unhealthy,
      provides: deployment.provides,
      connectivity: connectivityOf(deployment.last_heartbeat_at, context.now),
    },
  );
  if (status !== "connected" || item.item !== "models") return status;
  const available = availableModels(context.sources.filter(({ deploymentId }) => deploymentId === deployment?.id));
  const missing = item.configuration.modelRequirements.some(
    ({ publicModelId, required }) => required && !available.has(publicModelId),
  );
  return missing ? "verifying" : status;
}
