import Type, { type Static } from "typebox";
import { ObservedInventoryBatch, RemovedHeartbeat, ResourceHeartbeat } from "../resources/resource-heartbeat.ts";
import { ResourceLevel } from "../resources/resource-level.ts";
import { MANAGER } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  Bounded,
  DeploymentGroupId,
  DeploymentId,
  FreeMap,
  ManagerId,
  Maybe,
  Nullable,
  Platform,
  ProjectId,
  SMALL_DOCUMENT_BYTES,
  Strict,
  Timestamp,
  Words,
} from "../wire/schema.ts";
import { StoredError } from "../wire/stored-error.ts";
import { deploymentFields, SETUP_METHODS } from "./deployment.ts";
import {
  Capability,
  DEPLOYMENT_STATUSES,
  DeploymentModel,
  DeploymentState,
  EnvironmentVariable,
  EnvironmentVariables,
  ReleaseInfo,
  UpdateOperationId,
} from "./deployment-state.ts";
import { StackSettings } from "./stack-settings.ts";

/** Lease length before and after the first renew (§15.2). */
export const PROVISIONAL_LEASE_MS = 60_000;
export const CONFIRMED_LEASE_MS = 300_000;
/** A runner renews this often, and stops the work by itself this long after its last successful renewal. */
export const LEASE_RENEW_MS = 60_000;
export const LEASE_GIVE_UP_MS = 210_000;

const ACQUIRE_MODES = ["runtime", "setup-run", "setup-teardown"] as const;
export type AcquireMode = (typeof ACQUIRE_MODES)[number];

const session = Type.String({ minLength: 1, maxLength: 128 });
const managerId = Type.Optional(ManagerId);
const statuses = Type.Optional(Type.Array(Words(DEPLOYMENT_STATUSES), { maxItems: 100 }));
const platforms = Type.Optional(Type.Array(Platform, { maxItems: 100 }));

/** A deployment as its manager sees it: secrets in clear. */
export const SyncDeployment = Strict({
  ...deploymentFields,
  userEnvironmentVariables: Nullable(Type.Array(EnvironmentVariable)),
  managementConfig: Nullable(FreeMap),
  deploymentToken: Nullable(Type.String()),
  lockedBy: Nullable(Type.String()),
  lockedAt: Nullable(Timestamp),
  deleteAction: Type.Optional(Words(["cleanup", "detach"])),
});
export type SyncDeployment = Static<typeof SyncDeployment>;

/** Everything a runner needs beside the state (§15.3). */
export const DeploymentConfig = Strict({
  deploymentName: Type.String(),
  environmentVariables: EnvironmentVariables,
  inputValues: FreeMap,
  stackSettings: StackSettings,
  externalBindings: FreeMap,
  managementConfig: Nullable(FreeMap),
  managerUrl: Nullable(Type.String()),
  deploymentToken: Nullable(Type.String()),
  basePlatform: Nullable(Type.String()),
  labelDomain: Nullable(Type.String()),
  publicEndpoints: Nullable(FreeMap),
  domainMetadata: Nullable(FreeMap),
  monitoring: Nullable(
    Strict({
      logsEndpoint: Type.String(),
      logsAuthHeader: Type.String(),
      metricsEndpoint: Nullable(Type.String()),
      metricsAuthHeader: Nullable(Type.String()),
      resourceAttributes: FreeMap,
    }),
  ),
  computeBackend: Nullable(FreeMap),
  allowFrozenChanges: Type.Boolean(),
  observeAllNamespaces: Type.Boolean(),
  observeLabelSelector: Nullable(Type.String()),
});
export type DeploymentConfig = Static<typeof DeploymentConfig>;

export const AcquireItem = Strict({
  deploymentId: DeploymentId,
  projectId: ProjectId,
  deploymentGroupId: DeploymentGroupId,
  setupMethod: Type.Optional(Words(SETUP_METHODS)),
  current: DeploymentState,
  config: DeploymentConfig,
});
export type AcquireItem = Static<typeof AcquireItem>;

/** What a deployment should become. */
export const SyncTarget = Strict({ releaseInfo: ReleaseInfo, config: DeploymentConfig });
export type SyncTarget = Static<typeof SyncTarget>;

/** The progress that a manager can tell of while it works (§13.2). Each type's own data are free. */
const PROGRESS_EVENT_TYPES = [
  "AssumingRole",
  "SettingUpPlatformContext",
  "PreparingEnvironment",
  "DeployingStack",
  "DeployingCloudFormationStack",
  "ImportingStackStateFromCloudFormation",
  "DeletingCloudFormationStack",
  "EmptyingBuckets",
  "CleaningUpStack",
  "CleaningUpEnvironment",
  "RunningTestWorker",
] as const;

const ProgressEvent = Strict({
  type: Words(PROGRESS_EVENT_TYPES),
  state: Type.Union([Words(["started", "success"]), Strict({ failed: Strict({ error: StoredError }) })]),
  at: Timestamp,
  data: Type.Optional(Bounded(SMALL_DOCUMENT_BYTES, FreeMap)),
});
export type ProgressEvent = Static<typeof ProgressEvent>;

export const syncRoutes = routes({
  list: {
    method: "POST",
    path: "/v1/sync/list",
    summary: "Lists the manager's deployments by id; deleted ones never.",
    roles: MANAGER,
    body: Strict({
      deploymentIds: Type.Optional(Type.Array(DeploymentId, { maxItems: 500 })),
      statuses,
      platforms,
      deploymentGroupId: Type.Optional(DeploymentGroupId),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
      after: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description: "`nextAfter` of the answer before: goes on behind it.",
        }),
      ),
      managerId,
    }),
    bodyOptional: true,
    success: 200,
    response: Strict({
      deployments: Type.Array(SyncDeployment),
      nextAfter: Type.Optional(
        Type.String({ description: "There is more than `limit`, or than one answer holds. Absent on the last one." }),
      ),
    }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  context: {
    method: "POST",
    path: "/v1/sync/context",
    summary: "Shows the work of one deployment without leasing it.",
    roles: MANAGER,
    body: Strict({ deploymentId: DeploymentId, managerId }),
    success: 200,
    response: AcquireItem,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  acquire: {
    method: "POST",
    path: "/v1/sync/acquire",
    summary: "Leases deployments that have work to do; no two sessions get the same one.",
    roles: MANAGER,
    body: Strict({
      session,
      requestId: Type.String({ minLength: 1, maxLength: 128 }),
      deploymentModel: DeploymentModel,
      acquireMode: Type.Optional(Words(ACQUIRE_MODES)),
      deploymentIds: Type.Optional(Type.Array(DeploymentId, { maxItems: 500 })),
      statuses,
      platforms,
      setupMethod: Type.Optional(Words(SETUP_METHODS)),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      managerId,
    }),
    success: 200,
    response: Strict({
      deployments: Type.Array(AcquireItem),
      failures: Type.Array(Strict({ deploymentId: DeploymentId, projectId: ProjectId, error: StoredError })),
      leaseExpiresAt: Nullable(Timestamp),
    }),
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
  renew: {
    method: "POST",
    path: "/v1/sync/renew",
    summary: "Confirms and extends leases by five minutes.",
    roles: MANAGER,
    body: Strict({
      session,
      deploymentIds: Type.Array(DeploymentId, { minItems: 1, maxItems: 100 }),
      managerId,
    }),
    success: 200,
    response: Strict({
      success: Type.Boolean({ description: "All of them were renewed." }),
      leases: Type.Array(
        Strict({ deploymentId: DeploymentId, renewed: Type.Boolean(), leaseExpiresAt: Nullable(Timestamp) }),
      ),
    }),
    errors: ["NOT_FOUND", "LEASE_LOST"],
    repeat: "natural",
  },
  reconcile: {
    method: "POST",
    path: "/v1/sync/reconcile",
    summary: "Reports a deployment's state, health and inventory, and answers what it should become.",
    roles: MANAGER,
    body: Strict({
      deploymentId: DeploymentId,
      session: Maybe(session),
      state: DeploymentState,
      updateHeartbeat: Type.Optional(Type.Boolean({ default: true })),
      operationId: Maybe(UpdateOperationId),
      suggestedDelayMs: Maybe(Type.Integer({ minimum: 0, maximum: 31_536_000_000 })),
      resourceHeartbeats: Type.Optional(Type.Array(ResourceHeartbeat, { maxItems: 100 })),
      removedHeartbeats: Type.Optional(Type.Array(RemovedHeartbeat, { maxItems: 100 })),
      observedInventoryBatches: Type.Optional(Type.Array(ObservedInventoryBatch, { maxItems: 20 })),
      resourceLevel: Type.Optional(ResourceLevel),
      capabilities: Type.Optional(Type.Array(Capability, { maxItems: 50 })),
      operatorVersion: Maybe(Type.String({ minLength: 1, maxLength: 128 })),
      progressEvents: Type.Optional(Type.Array(ProgressEvent, { maxItems: 50 })),
      managerId,
    }),
    success: 200,
    response: Strict({
      success: Type.Literal(true),
      current: DeploymentState,
      target: Type.Optional(SyncTarget),
      resendResources: Type.Optional(
        Type.Boolean({
          description: "True when `resourceLevel` is not what is stored: the next report should contain everything.",
        }),
      ),
    }),
    errors: [
      "NOT_FOUND",
      "LEASE_LOST",
      "DEPLOYMENT_LOCKED",
      "INVALID_STATE_TRANSITION",
      "INCOMPATIBLE_DEPLOYMENT_PROTOCOL",
      "BUDGET_EXCEEDED",
    ],
    repeat: "natural",
    gzip: true,
  },
  release: {
    method: "POST",
    path: "/v1/sync/release",
    summary: "Gives a lease back.",
    roles: MANAGER,
    body: Strict({ deploymentId: DeploymentId, session, managerId }),
    success: 200,
    response: Strict({ success: Type.Literal(true) }),
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
});
