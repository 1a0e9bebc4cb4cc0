import Type, { type Static } from "typebox";
import {
  Bounded,
  DOCUMENT_BYTES,
  FreeMap,
  Maybe,
  Nullable,
  Platform,
  ReleaseId,
  STACK_BYTES,
  STATE_BYTES,
  Strict,
  Timestamp,
  Words,
} from "../wire/schema.ts";
import { StoredError } from "../wire/stored-error.ts";

/** Of one resource, on others of its stack. */
export const MAX_DEPENDENCIES = 1_000;

/** The 19 states of a deployment (§24.4), in the order in which a life passes through them. */
export const DEPLOYMENT_STATUSES = [
  "pending",
  "preflights-failed",
  "initial-setup",
  "initial-setup-failed",
  "provisioning",
  "waiting-for-machines",
  "provisioning-failed",
  "running",
  "refresh-failed",
  "update-pending",
  "updating",
  "update-failed",
  "delete-pending",
  "deleting",
  "delete-failed",
  "teardown-required",
  "teardown-failed",
  "deleted",
  "error",
] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

/** The version that this document describes; another one is refused with INCOMPATIBLE_DEPLOYMENT_PROTOCOL. */
export const DEPLOYMENT_PROTOCOL_VERSION = 1;

export const DEPLOYMENT_MODELS = ["push", "pull"] as const;
export const DeploymentModel = Words(DEPLOYMENT_MODELS);
export type DeploymentModel = Static<typeof DeploymentModel>;

const text = Type.String({ maxLength: 512 });

/** Where a deployment runs, in the words of its platform (§24.1). */
export const EnvironmentInfo = Type.Union([
  Strict({ platform: Type.Literal("aws"), accountId: text, region: text }),
  Strict({ platform: Type.Literal("gcp"), projectId: text, projectNumber: text, region: text }),
  Strict({ platform: Type.Literal("azure"), subscriptionId: text, tenantId: text, location: text }),
  Strict({ platform: Words(["local", "machines"]), hostname: text, os: text, arch: text }),
  Strict({ platform: Type.Literal("test"), testId: text }),
  Strict({
    platform: Type.Literal("kubernetes"),
    clusterName: Maybe(text),
    serverVersion: Maybe(text),
    namespace: Maybe(text),
    observedVersion: Maybe(text),
  }),
]);
export type EnvironmentInfo = Static<typeof EnvironmentInfo>;

const RESOURCE_STATUSES = [
  "pending",
  "provisioning",
  "provision-failed",
  "running",
  "updating",
  "update-failed",
  "refresh-failed",
  "deleting",
  "delete-failed",
  "teardown-required",
  "deleted",
] as const;

/** What the manager reports of a deployment's resources. The platform keeps keys that it does not read as they came. */
export const StackState = Bounded(
  STATE_BYTES,
  Type.Object({
    platform: Platform,
    resourcePrefix: Type.String(),
    resources: Type.Record(
      Type.String(),
      Type.Object({
        type: Type.String(),
        status: Words(RESOURCE_STATUSES),
        config: FreeMap,
        lifecycle: Maybe(Words(["frozen", "live"])),
        dependencies: Type.Optional(Type.Array(Type.Unknown(), { maxItems: MAX_DEPENDENCIES })),
        controllerPlatform: Maybe(Platform),
        outputs: Maybe(FreeMap),
        error: Maybe(StoredError),
      }),
    ),
  }),
);
export type StackState = Static<typeof StackState>;

/** A release as the runtime sees it. `stack` is the part for the deployment's own platform. */
export const ReleaseInfo = Strict({
  releaseId: Maybe(ReleaseId),
  version: Maybe(Type.String({ maxLength: 256 })),
  description: Maybe(Type.String({ maxLength: 16_384 })),
  stack: Maybe(Bounded(STACK_BYTES, FreeMap)),
});
export type ReleaseInfo = Static<typeof ReleaseInfo>;

/** The absolute state that a manager reports and gets back (§15.3). */
export const DeploymentState = Strict({
  status: Words(DEPLOYMENT_STATUSES),
  platform: Platform,
  protocolVersion: Type.Integer({ minimum: 0 }),
  currentRelease: Maybe(ReleaseInfo),
  targetRelease: Maybe(ReleaseInfo),
  stackState: Maybe(StackState),
  error: Maybe(StoredError),
  environmentInfo: Maybe(EnvironmentInfo),
  runtimeMetadata: Maybe(Bounded(DOCUMENT_BYTES, FreeMap)),
  retryRequested: Type.Optional(Type.Boolean()),
});
export type DeploymentState = Static<typeof DeploymentState>;

/** What the reporting side can do for this deployment; a report replaces the whole list. */
export const Capability = Strict({
  key: Type.String({
    minLength: 1,
    maxLength: 128,
    description: "In use: k8s-workloads, logs, operations, debug, machines, releases, cloud-observe.",
  }),
  state: Words(["granted", "denied", "unavailable"]),
  detail: Maybe(Type.String({ maxLength: 512 })),
});
export type Capability = Static<typeof Capability>;

export const EnvironmentVariable = Strict({
  name: Type.String({ maxLength: 256, pattern: "^[A-Z_][A-Z0-9_]*$" }),
  value: Type.String({ maxLength: 10_000, description: "Empty for secret ones, except to managers." }),
  type: Words(["plain", "secret"]),
  targetResources: Maybe(
    Type.Array(Type.String({ pattern: "^[a-zA-Z0-9_-]+(\\*)?$", maxLength: 256 }), { maxItems: 100 }),
  ),
});
export type EnvironmentVariable = Static<typeof EnvironmentVariable>;

/** A set of variables with a hash over the whole (RFC 8785, sorted by name), so that a runner sees a change at once. */
export const EnvironmentVariables = Strict({
  variables: Type.Array(EnvironmentVariable),
  hash: Type.String(),
  createdAt: Timestamp,
});
export type EnvironmentVariables = Static<typeof EnvironmentVariables>;

export const UpdateOperationId = Type.String({ pattern: "^duop_[0-9a-z]{28}$" });

/** One request to change the target: a release, a configuration, or a redeploy without a change. */
export const UpdateOperation = Strict({
  id: UpdateOperationId,
  status: Words(["queued", "applying", "succeeded", "failed", "superseded"]),
  reasons: Type.Array(Words(["configuration", "redeploy", "release"])),
  targetReleaseId: Type.Optional(ReleaseId),
  changedKeys: Type.Array(Type.String()),
  requestedAt: Timestamp,
  startedAt: Nullable(Timestamp),
  completedAt: Nullable(Timestamp),
});
export type UpdateOperation = Static<typeof UpdateOperation>;

/** `active` is queued or applying, `next` waits for it, `latest` is the last that ended. */
export const UpdateState = Strict({
  active: Nullable(UpdateOperation),
  next: Nullable(UpdateOperation),
  latest: Nullable(UpdateOperation),
});
export type UpdateState = Static<typeof UpdateState>;
