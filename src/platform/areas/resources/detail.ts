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
import { findReport, type Report } from "./store.ts";

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
  const report = await findReport(call.db, reach);
  const resourceId = report?.resource_id ?? key.resourceId;
  const stack = await stackOf(call, deployment);
  const described = stack[resourceId];
  const typeInStack =
    (deployment.stack_state && judged(deployment.stack_state).resources[resourceId]?.type) ?? textOf(described, "type");
  if (report === undefined && typeInStack !== key.resourceType) throw notFound("resource");
  const desiredImage = textOf(described, "image") ?? null;
  const named = {
    deploymentId: deployment.id,
    deploymentName: deployment.name,
    deploymentGroupId: deployment.deployment_group_id,
    deploymentGroupName: deployment.group_name,
    resourceType: key.resourceType,
    resourceId,
    desiredImage,
  };
  if (report === undefined) {
    const { deploymentId, resourceType } = key;
    return {
      deployment: { ...named, ...unreported(deployment, call.now) },
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

/** Nothing was heard of it since the deployment was made. */
function unreported({ platform, created_at: since }: VisibleDeployment, now: Date): Reported {
  const platformStale = now.getTime() - since.getTime() > STALE_AFTER_MS;
  return {
    backend: platform === "machines" ? "managed" : platform,
    controllerPlatform: platform,
    health: "unknown",
    lifecycle: "unknown",
    message: null,
    partial: false,
    providerStale: false,
    platformStale,
    staleSince: platformStale ? since.toISOString() : null,
    desiredCount: null,
    currentCount: null,
    readyCount: null,
    observedAt: since.toISOString(),
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
    .where("resource_id", "=", report.object_id)
    .executeTakeFirstOrThrow();
  return shown(body, principal);
}

/** An observed resource in the form of a heartbeat, so that readers need only one form. */
async function observedOf({ db, principal }: Context, report: Report): Promise<ResourceHeartbeat> {
  const row = await db
    .selectFrom("live_inventory")
    .select("body")
    .where("deployment_id", "=", report.deployment_id)
    .where("raw_identity", "=", report.object_id)
    .where("observed_at", "=", report.observed_at)
    .limit(1)
    .executeTakeFirstOrThrow();
  const body = shown(row.body, principal);
  const { object_id: resourceId, resource_type: resourceType, backend, controllerPlatform } = report;
  const observedAt = report.observed_at.toISOString();
  const data = {
    resourceType,
    data: { ...ofType(resourceType, backend, body), ...shownOf(body), status: statusOf(body) },
  };
  return { resourceId, resourceType, backend, controllerPlatform, observedAt, data, raw: body.raw ?? [] };
}

const NOT_COLLECTED = {
  reason: "collection-failed",
  severity: "info",
  source: "inventory",
  message: "only the inventory has this resource: its pods and events were not collected",
} as const;

/** What a heartbeat of the type has, as far as the inventory knows it. */
function ofType(resourceType: string, backend: string, { providerKind, namespace, counts }: ObservedResource): object {
  const common = { backend, namespace: namespace ?? "", replicas: counts ?? {}, pods: [], events: [] };
  if (resourceType === "container") return { ...common, workloadKind: WORKLOADS[providerKind] ?? "deployment" };
  if (resourceType === "worker") return { ...common, triggerCount: providerKind === "CronJob" ? 1 : 0 };
  return resourceType === "daemon" ? { ...common, commandSupported: false } : { backend };
}

const WORKLOADS: Readonly<Record<string, string>> = {
  ...{ Deployment: "deployment", StatefulSet: "statefulSet", DaemonSet: "daemonSet" },
  ...{ ReplicaSet: "replicaSet", Pod: "pod" },
};

function statusOf({ health, lifecycle, message, partial, providerStale, collectionIssues }: ObservedResource) {
  const stale = providerStale;
  const issues = [...(collectionIssues ?? []), NOT_COLLECTED];
  return { health, lifecycle, message: message ?? null, partial, stale, collectionIssues: issues };
}

function shownOf({ displayName, providerKind, namespace, region, version, labels, attributes }: ObservedResource) {
  const optional = { ...(namespace != null && { namespace }), region, version, labels, attributes };
  return { name: displayName, providerKind, ...optional };
}
