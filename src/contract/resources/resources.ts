import Type, { type Static } from "typebox";
import { READERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  DeploymentGroupId,
  DeploymentId,
  Nullable,
  Platform,
  ProjectRef,
  Strict,
  Timestamp,
  Words,
} from "../wire/schema.ts";
import { BACKENDS, HEALTHS, LIFECYCLES, ResourceHeartbeat, ResourceType } from "./resource-heartbeat.ts";

/** Rows of one answer, at most; more is said by `truncated` (§11.2). */
export const MAX_RESOURCE_ROWS = 1000;

/** Types that have lists of their own. Others are shown only among all resources (§11.3). */
const LISTED_RESOURCE_TYPES = ["container", "worker", "daemon", "ai"] as const;
export type ListedResourceType = (typeof LISTED_RESOURCE_TYPES)[number];

/** What Sallyport's agent tells of, and `unknown` for observed objects without a type. Other reporters may have more. */
export const RESOURCE_TYPES = [
  ...LISTED_RESOURCE_TYPES,
  "kubernetes-cluster",
  "persistent-volume-claim",
  "pod-disruption-budget",
  "unknown",
] as const;

const count = Nullable(Type.Integer({ minimum: 0 }));

const condition = {
  backend: Words(BACKENDS),
  controllerPlatform: Platform,
  health: Words(HEALTHS),
  lifecycle: Words(LIFECYCLES),
  message: Nullable(Type.String({ description: "The first 512 characters; the heartbeat of the detail has all." })),
  partial: Type.Boolean({ description: "Something could not be read." }),
  providerStale: Type.Boolean({ description: "The collector's own flag: what it read was old." }),
  platformStale: Type.Boolean({ description: "It was last reported, or last read, more than 180 s ago." }),
  staleSince: Nullable(
    Type.String({
      format: "date-time",
      description: "When it was last read, with `providerStale` or `platformStale`. Of many deployments the oldest.",
    }),
  ),
  desiredCount: count,
  currentCount: count,
  readyCount: count,
};

const summary = {
  resourceType: Type.String(),
  resourceId: Type.String({ description: "The same in each deployment (§11.7)." }),
  name: Type.String({ description: "The first 253 characters." }),
  ...condition,
  deploymentCount: Type.Integer({ minimum: 0 }),
  attentionCount: Type.Integer({
    minimum: 0,
    description:
      "Deployments where it is degraded, unhealthy, failed, no longer reported or no longer read (`providerStale`).",
  }),
  lastObservedAt: Timestamp,
};

/** One resource over all deployments that report it. */
export const ResourceSummary = Strict(summary);
export type ResourceSummary = Static<typeof ResourceSummary>;

/** One resource of one deployment: reported by its runtime, or seen by an observer. */
export const DeployedResource = Strict({
  ...summary,
  objectId: Type.String({ description: "Of the one object: several of a deployment may be of one `resourceId`." }),
  namespace: Nullable(Type.String({ description: "Where the reporter tells one." })),
  source: Words(["managed", "observed"]),
  deploymentId: DeploymentId,
  deploymentName: Type.String(),
  deploymentGroupId: Type.Optional(DeploymentGroupId),
  deploymentGroupName: Type.Optional(Type.String()),
  rawKind: Type.Optional(Nullable(Type.String())),
  managedResourceId: Type.Optional(Nullable(Type.String())),
});
export type DeployedResource = Static<typeof DeployedResource>;

const inDeployment = {
  deploymentId: DeploymentId,
  deploymentName: Type.String(),
  deploymentGroupId: DeploymentGroupId,
  deploymentGroupName: Type.String(),
  resourceType: Type.String(),
  resourceId: Type.String(),
  ...condition,
};

export const ResourceInDeployment = Strict({ ...inDeployment, observedAt: Timestamp });
export type ResourceInDeployment = Static<typeof ResourceInDeployment>;

const key = { deploymentId: DeploymentId, resourceId: Type.String(), resourceType: Type.String() };

/** `missing`: the stack declares the resource and no manager has reported it. */
export const HeartbeatView = Type.Union([
  Strict({ status: Type.Literal("missing"), ...key }),
  Strict({
    status: Type.Literal("available"),
    ...key,
    backend: Words(BACKENDS),
    controllerPlatform: Platform,
    observedAt: Timestamp,
    staleAt: Timestamp,
    platformStale: Type.Boolean(),
    heartbeat: ResourceHeartbeat,
    raw: ResourceHeartbeat.properties.raw,
  }),
]);
export type HeartbeatView = Static<typeof HeartbeatView>;

export const ResourceDetail = Strict({
  ...inDeployment,
  observedAt: { ...Timestamp, description: "Of what was never reported: since when the deployment could have." },
  desiredImage: Nullable(Type.String({ description: "From the current release's stack." })),
});
export type ResourceDetail = Static<typeof ResourceDetail>;

const roles = [
  ...READERS,
  "deployment.viewer",
  "deployment.manager",
  "deployment-group.deployer",
  "project.ai-gateway",
] as const;
const query = Type.Object({
  project: Type.Optional(ProjectRef),
  deploymentGroupId: Type.Optional(DeploymentGroupId),
  deploymentId: Type.Optional(DeploymentId),
});
const resourceType = Words(LISTED_RESOURCE_TYPES);
/** An observed resource's id is its raw identity, which may be longer than a managed one's. */
const resourceId = Type.String({ minLength: 1, maxLength: 512 });
const named = Type.String({
  ...{ minLength: 1, maxLength: 512 },
  description: "Only what has this `resourceId`, `objectId` or `name`, or, with a namespace before it, `shop/api`.",
});
const truncated = Type.Optional(
  Type.Literal(true, {
    description: `There are more rows than ${MAX_RESOURCE_ROWS}, or than 2 MiB hold; these come first.`,
  }),
);

/** Of a list that was cut, so that a reader knows what to ask for by itself. */
const truncatedDeployments = Type.Optional(
  Type.Array(
    Strict({
      deploymentId: DeploymentId,
      deploymentName: Type.String(),
      shownCount: Type.Integer({ minimum: 0 }),
      totalCount: Type.Integer({ minimum: 1 }),
    }),
    {
      maxItems: MAX_RESOURCE_ROWS,
      description: "With `truncated`: the deployments of which not all rows are shown, those with most rows first.",
    },
  ),
);

export const resourceRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/resources",
    summary: "Lists every resource of a project's deployments, those that need attention first.",
    roles,
    query: Type.Object({ ...query.properties, resourceType: Type.Optional(ResourceType), name: Type.Optional(named) }),
    success: 200,
    response: Strict({ resources: Type.Array(DeployedResource), truncated, truncatedDeployments }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
    etag: true,
  },
  listOfType: {
    method: "GET",
    path: "/v1/resources/{resourceType}",
    summary: "Lists the resources of one type, each over all deployments that report it.",
    roles,
    params: Type.Object({ resourceType }),
    query,
    success: 200,
    response: Strict({ resources: Type.Array(ResourceSummary), truncated }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
    etag: true,
  },
  deployments: {
    method: "GET",
    path: "/v1/resources/{resourceType}/{resourceId}/deployments",
    summary: "Shows one resource in each deployment that reports it, by the deployment's name.",
    roles,
    params: Type.Object({ resourceType, resourceId }),
    query,
    success: 200,
    response: Strict({
      resourceType: Type.String(),
      resourceId: Type.String(),
      deployments: Type.Array(ResourceInDeployment),
      truncated,
    }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  get: {
    method: "GET",
    path: "/v1/resources/{resourceType}/deployments/{deploymentId}/{resourceId}",
    summary: "Shows one resource of one deployment with its last report.",
    roles,
    params: Type.Object({ resourceType, deploymentId: DeploymentId, resourceId }),
    query: Type.Object({ project: Type.Optional(ProjectRef) }),
    success: 200,
    response: Strict({ deployment: ResourceDetail, heartbeat: HeartbeatView }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
});
