import Type, { type Static } from "typebox";
import { StackSettings } from "../deployments/stack-settings.ts";
import { ADMIN, MANAGER, READERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  DeploymentGroupId,
  DeploymentId,
  FreeMap,
  HumanLine,
  ManagerId,
  Nullable,
  Platform,
  Strict,
  Timestamp,
  Words,
  WorkspaceId,
} from "../wire/schema.ts";

export const CLOUDS = ["aws", "gcp", "azure"] as const;
export type Cloud = (typeof CLOUDS)[number];
export const SETUP_STATUSES = ["pending", "provisioning", "active", "failed", "deleting", "deleted"] as const;
export type SetupStatus = (typeof SETUP_STATUSES)[number];
export const REPORTED_STATUSES = ["healthy", "degraded", "unhealthy"] as const;
const MANAGER_SETUP_METHODS = ["cloudformation", "google-oauth", "terraform"] as const;
export type ManagerSetupMethod = (typeof MANAGER_SETUP_METHODS)[number];
/** Kinds of work that a manager can be told about. Closed set (§14.4). */
export const TOPICS = ["deployments", "commands", "access-requests", "debug-sessions", "machines"] as const;
export type Topic = (typeof TOPICS)[number];

const text = Type.String({ minLength: 1, maxLength: 2048 });
const AwsConfig = Strict({ platform: Type.Literal("aws"), managingRoleArn: text });
const GcpConfig = Strict({ platform: Type.Literal("gcp"), serviceAccountEmail: text });
const AzureConfig = Strict({
  platform: Type.Literal("azure"),
  managingTenantId: text,
  oidcIssuer: text,
  oidcSubject: text,
});
const KubernetesConfig = Strict({ platform: Type.Literal("kubernetes") });

/** How a manager identifies itself to one platform. */
export const ManagementConfig = Type.Union([AwsConfig, GcpConfig, AzureConfig, KubernetesConfig]);
export type ManagementConfig = Static<typeof ManagementConfig>;

export const ManagementConfigs = Strict({
  aws: Type.Optional(AwsConfig),
  gcp: Type.Optional(GcpConfig),
  azure: Type.Optional(AzureConfig),
  kubernetes: Type.Optional(KubernetesConfig),
});
export type ManagementConfigs = Static<typeof ManagementConfigs>;

const amount = Type.Optional(Type.Number({ minimum: 0, maximum: 1e15 }));
export const ManagerMetrics = Strict({
  activeDeployments: amount,
  pendingDeployments: amount,
  memoryUsageMb: amount,
  cpuUsagePercent: amount,
});
export type ManagerMetrics = Static<typeof ManagerMetrics>;

export const Manager = Strict({
  id: ManagerId,
  name: Type.String(),
  targets: Type.Array(Platform),
  cloud: Nullable(Words(CLOUDS)),
  region: Nullable(Type.String()),
  setupStatus: Nullable(Words(SETUP_STATUSES)),
  url: Nullable(Type.String()),
  managementConfigs: ManagementConfigs,
  isSystem: Type.Boolean(),
  workspaceId: WorkspaceId,
  /** The customer that a private manager serves. Null: it serves a customer only if it is shared or the system's. */
  deploymentGroupId: Nullable(DeploymentGroupId),
  /** Serves every group of its workspace. */
  shared: Type.Boolean(),
  status: Words([...REPORTED_STATUSES, "unknown"]),
  version: Nullable(Type.String()),
  metrics: Nullable(ManagerMetrics),
  lastHeartbeatAt: Nullable(Timestamp),
  logsDatabaseId: Nullable(Type.String()),
  managedDeploymentCount: Type.Integer({ minimum: 0 }),
  defaultProjectCount: Type.Integer({ minimum: 0 }),
  createdAt: Timestamp,
});
export type Manager = Static<typeof Manager>;

const portal = { deploymentPortalUrl: Type.String(), stackSettings: StackSettings };

/** What the person who sets a manager up needs, by the method chosen. */
export const ManagerSetup = Type.Union([
  Strict({
    method: Type.Literal("cloudformation"),
    ...portal,
    launchUrl: Type.String(),
    templateUrl: Type.String(),
    stackName: Type.String(),
    region: Type.String(),
  }),
  Strict({
    method: Type.Literal("google-oauth"),
    ...portal,
    managerUrl: Type.String({ description: "What the setup talks to: the platform itself." }),
    oauthStartUrl: Type.String(),
    region: Type.String(),
  }),
  Strict({
    method: Type.Literal("terraform"),
    ...portal,
    managerUrl: Type.String({ description: "What the setup talks to: the platform itself." }),
    providerSource: Type.String(),
    moduleSource: Type.String(),
    moduleVersion: Type.String(),
    moduleInputs: FreeMap,
    mainTf: Type.String(),
    tfvars: Type.String(),
    commands: Type.String({ description: "One command a line." }),
  }),
]);
export type ManagerSetup = Static<typeof ManagerSetup>;

const setupResponse = {
  managerId: ManagerId,
  setupStatus: Type.Literal("pending"),
  setupToken: Type.String(),
  setupTokenId: Type.String(),
  deploymentLink: Type.String(),
  setupConfig: Strict({
    metadata: FreeMap,
    policy: FreeMap,
    inputValues: FreeMap,
    items: Type.Array(FreeMap),
    publicSubdomain: Type.Optional(Type.String()),
    environmentVariables: Type.Array(FreeMap),
  }),
  setup: ManagerSetup,
};
export const SetupResponse = Strict(setupResponse);
export type SetupResponse = Static<typeof SetupResponse>;

const params = Type.Object({ id: ManagerId });
const shared = Type.Optional(Type.Boolean({ description: "Serves every deployment group of the workspace." }));
const Message = Strict({ message: Type.String() });
/**
 * Only the forms of address that a client may follow. The program that follows it decides which hosts may go without
 * TLS.
 */
export const httpUrl = Type.String({ format: "uri", maxLength: 2048, pattern: "^https?://" });

export const managerRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/managers",
    summary: "List the managers that the workspace can use: its own, then the system's.",
    roles: READERS,
    query: Type.Object({
      search: Type.Optional(Type.String({ maxLength: 256, description: "Part of the name." })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 100 })),
    }),
    success: 200,
    response: Type.Array(Manager),
    errors: [],
    repeat: "safe",
  },
  create: {
    method: "POST",
    path: "/v1/managers",
    summary: "Start to set a private manager up; the answer holds its setup token.",
    roles: ADMIN,
    body: Strict({
      name: HumanLine(2, 100),
      cloud: Words(CLOUDS),
      region: HumanLine(1, 64),
      deploymentGroupId: Type.Optional(DeploymentGroupId),
      shared,
      setupMethod: Type.Optional(Words(MANAGER_SETUP_METHODS)),
      network: Type.Optional(Words(["create", "default"])),
      otlpConfig: Type.Optional(
        Strict({ logsEndpoint: httpUrl, logsAuthHeader: Type.String({ minLength: 1, maxLength: 4096 }) }),
      ),
    }),
    success: 201,
    response: SetupResponse,
    errors: ["SETUP_METHOD_NOT_ALLOWED", "NOT_FOUND", "MANAGER_EXISTS"],
    repeat: "none",
    secret: true,
  },
  setupToken: {
    method: "POST",
    path: "/v1/managers/{id}/setup-token",
    summary: "Revoke a manager's setup tokens and issue a fresh one.",
    roles: ADMIN,
    params,
    success: 201,
    response: SetupResponse,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "none",
    secret: true,
  },
  retry: {
    method: "POST",
    path: "/v1/managers/{id}/retry",
    summary: "Set a failed manager up again, or retry its deployment when it has one.",
    roles: ADMIN,
    params,
    success: 200,
    response: Type.Union([
      Strict({ mode: Type.Literal("setup"), ...setupResponse }),
      Strict({
        mode: Type.Literal("deployment"),
        managerId: ManagerId,
        setupStatus: Type.Literal("provisioning"),
        deploymentId: DeploymentId,
        message: Type.String(),
      }),
    ]),
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "state",
    secret: true,
  },
  cancelSetup: {
    method: "POST",
    path: "/v1/managers/{id}/cancel-setup",
    summary: "Give a setup up: revoke its tokens and remove the record.",
    roles: ADMIN,
    params,
    success: 202,
    response: Message,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "natural",
  },
  get: {
    method: "GET",
    path: "/v1/managers/{id}",
    summary: "Read one manager.",
    roles: [...READERS, ...MANAGER],
    params,
    success: 200,
    response: Manager,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  patch: {
    method: "PATCH",
    path: "/v1/managers/{id}",
    summary: "Say whom a private manager serves: one deployment group, every group of the workspace, or none.",
    roles: ADMIN,
    params,
    body: Strict({ deploymentGroupId: Type.Optional(Nullable(DeploymentGroupId)), shared }),
    success: 200,
    response: Manager,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION", "MANAGER_EXISTS"],
    repeat: "state",
  },
  delete: {
    method: "DELETE",
    path: "/v1/managers/{id}",
    summary: "Begin to remove a manager that serves nothing.",
    roles: ADMIN,
    params,
    success: 202,
    response: Message,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION", "MANAGER_IN_USE"],
    repeat: "natural",
  },
});
