import type { Static } from "typebox";
import type { ObservedResource, ResourceHeartbeat } from "../../../contract/resources/resource-heartbeat.ts";
import { STALE_AFTER_MS } from "../../../contract/resources/resource-heartbeat.ts";
import type {
  HeartbeatView,
  ListedResourceType,
  ResourceDetail,
  resourceRoutes,
} from "../../../contract/resources/resources.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound } from "../../kernel/errors.ts";
import { optionalProject } from "../../kernel/tenancy/project-ref.ts";
import { judged, shown } from "../../kernel/tenancy/stored-error.ts";
import { getDeployment } from "../deployments/read/get.ts";
import type { VisibleDeployment } from "../deployments/read/store.ts";
import { reachOf } from "./reach.ts";
import { listByDeployment, type Report } from "./store.ts";

type Context = Pick<Call, "db" | "principal" | "now">;
type Answer = Static<(typeof resourceRoutes)["get"]["response"]>;

interface Key {
  readonly resourceType: ListedResourceType;
  readonly deploymentId: string;
  readonly resourceId: string;
}

/** The last report, or the description in the stack. @throws NOT_FOUND when neither has the resource. */
export async function resourceDetail(call: Context, key: Key, projectRef: string | undefined): Promise<Answer> {
  const project = await optionalProject(call.db, call.principal, projectRef);
  const deployment = await getDeployment(call, key.deploymentId);
  const elsewhere = project !== undefined && deployment.project_id !== project.id;
  if (elsewhere || deployment.status === "deleted") throw notFound("deployment");
  const filters = { project: deployment.project_id, deploymentId: deployment.id };
  const reach = { ...(await reachOf(call, filters, key.resourceType)), resourceId: key.resourceId };
  const [report] = await listByDeployment(call.db, reach, 1);
  const stack = await stackOf(call, deployment);
  const described = stack[key.resourceId];
  const typeInStack =
    (deployment.stack_state && judged(deployment.stack_state).resources[key.resourceId]?.type) ??
    textOf(described, "type");
  if (report === undefined && typeInStack !== key.resourceType) throw notFound("resource");
  const desiredImage = textOf(described, "image") ?? null;
  const named = {
    deploymentId: deployment.id,
    deploymentName: deployment.name,
    deploymentGroupId: deployment.deployment_group_id,
    deploymentGroupName: deployment.group_name,
    resourceType: key.resourceType,
    resourceId: key.resourceId,
    desiredImage,
  };
  if (report === undefined) {
    const { deploymentId, resourceId, resourceType } = key;
    return {
      deployment: { ...named, ...unreported(deployment) },
      heartbeat: { status: "missing", deploymentId, resourceId, resourceType },
    };
  }
  return {
    deployment: { ...named, ...reported(report) },
    heartbeat: await heartbeatView(call, report),
  };
}

/** The resources that the current release describes, each with its unchecked `config`. */
async function stackOf({ db }: Context, deployment: VisibleDeployment): Promise<Readonly<Record<string, unknown>>> {
  if (deployment.current_release_id === null) return {};
  const release = await db
    .selectFrom("releases")
    .select("stack")
    .where("id", "=", deployment.current_release_id)
    .executeTakeFirst();
  return recordOf(release?.stack[deployment.platform]?.resources);
}

/** A string in a resource's `config`. The platform does not check configs, so any value may be there. */
function textOf(resource: unknown, name: "type" | "image"): string | undefined {
  const value = recordOf(recordOf(resource).config)[name];
  return typeof value === "string" ? value : undefined;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

type Reported = Omit<
  ResourceDetail,
  | "deploymentId"
  | "deploymentName"
  | "deploymentGroupId"
  | "deploymentGroupName"
  | "resourceType"
  | "resourceId"
  | "desiredImage"
>;

function unreported({ platform }: VisibleDeployment): Reported {
  return {
    backend: platform === "machines" ? "managed" : platform,
    controllerPlatform: platform,
    health: "unknown",
    lifecycle: "unknown",
    message: null,
    partial: false,
    providerStale: false,
    platformStale: false,
    staleSince: null,
    desiredCount: null,
    currentCount: null,
    readyCount: null,
  };
}

function reported(report: Report): Reported {
  return {
    backend: report.backend,
    controllerPlatform: report.controllerPlatform,
    health: report.health,
    lifecycle: report.lifecycle,
    message: report.message,
    partial: report.partial,
    providerStale: report.provider_stale,
    platformStale: report.platform_stale,
    staleSince: report.stale_since?.toISOString() ?? null,
    desiredCount: report.desired,
    currentCount: report.current,
    readyCount: report.ready,
    observedAt: report.observed_at.toISOString(),
  };
}

async function heartbeatView(call: Context, report: Report): Promise<HeartbeatView> {
  const { deployment_id: deploymentId, resource_id: resourceId, resource_type: resourceType } = report;
  const { backend, controllerPlatform } = report;
  const observedAt = report.observed_at.toISOString();
  const body = report.source === "managed" ? await heartbeatOf(call, report) : await observedOf(call, report);
  const heartbeat = { ...body, deploymentId, observedAt };
  return {
    status: "available",
    ...{ deploymentId, resourceId, resourceType, backend, controllerPlatform, observedAt },
    staleAt: new Date(report.observed_at.getTime() + STALE_AFTER_MS).toISOString(),
    platformStale: report.platform_stale,
    heartbeat,
    raw: heartbeat.raw,
  };
}

async function heartbeatOf({ db, principal }: Context, report: Report): Promise<ResourceHeartbeat> {
  const { body } = await db
    .selectFrom("live_heartbeats")
    .select("body")
    .where("deployment_id", "=", report.deployment_id)
    .where("resource_type", "=", report.resource_type)
    .where("resource_id", "=", report.resource_id)
    .executeTakeFirstOrThrow();
  return shown(body, principal);
}

/** An observed resource in the form of a heartbeat, so that readers need only one form. */
async function observedOf({ db, principal }: Context, report: Report): Promise<ResourceHeartbeat> {
  const row = await db
    .selectFrom("live_inventory")
    .select("body")
    .where("deployment_id", "=", report.deployment_id)
    .where("raw_identity", "=", report.resource_id)
    .where("observed_at", "=", report.observed_at)
    .limit(1)
    .executeTakeFirstOrThrow();
  const body = shown(row.body, principal);
  const { resource_id: resourceId, resource_type: resourceType, backend, controllerPlatform } = report;
  const observedAt = report.observed_at.toISOString();
  const data = { resourceType, data: { ...shownOf(body), status: statusOf(body) } };
  return { resourceId, resourceType, backend, controllerPlatform, observedAt, data, raw: body.raw ?? [] };
}

function statusOf({ health, lifecycle, message, partial, providerStale, collectionIssues }: ObservedResource) {
  const stale = providerStale;
  return { health, lifecycle, message: message ?? null, partial, stale, collectionIssues: collectionIssues ?? [] };
}

function shownOf({ displayName, providerKind, namespace, region, version, labels, attributes }: ObservedResource) {
  return { name: displayName, providerKind, namespace, region, version, labels, attributes };
}
