import Type, { type Static } from "typebox";
import {
  Capability,
  DEPLOYMENT_STATUSES,
  DeploymentModel,
  EnvironmentInfo,
  EnvironmentVariable,
  EnvironmentVariables,
  StackState,
  UpdateOperation,
  UpdateState,
} from "./deployment-state.ts";
import { READERS, WRITERS } from "./roles.ts";
import { routes } from "./route.ts";
import {
  DeploymentGroupId,
  DeploymentId,
  FreeMap,
  HumanLine,
  ManagerId,
  Maybe,
  Nullable,
  Page,
  Platform,
  ProjectId,
  ProjectRef,
  pageQuery,
  ReleaseId,
  Strict,
  Timestamp,
  Words,
  WorkspaceId,
} from "./schema.ts";
import { StackSettings } from "./stack-settings.ts";
import { StoredError } from "./stored-error.ts";

export const DEPLOYMENT_NAME = "^(?!ag[-_])[a-z0-9](-?[a-z0-9])*$";
export const PURPOSES = ["application", "encryption", "ai", "storage", "container-registry"] as const;
export const SETUP_METHODS = ["cloudformation", "google-oauth", "terraform", "helm", "cli", "manual"] as const;
export const SETUP_ITEMS = ["deployment", "models", "keys", "bucket", "registry", "sandbox"] as const;
export const DELETE_ACTIONS = ["cleanup", "detach", "forget"] as const;
export type DeleteAction = (typeof DELETE_ACTIONS)[number];

const name = Type.String({ minLength: 2, maxLength: 100, pattern: DEPLOYMENT_NAME });
const channel = Type.String({ minLength: 1, maxLength: 63, pattern: "^[a-z][a-z0-9-]*$" });
const operatorScope = Type.String({ minLength: 1, maxLength: 512 });
const status = Words(DEPLOYMENT_STATUSES);
const purpose = Words(PURPOSES);

const Base = {
  id: DeploymentId,
  name: Type.String(),
  projectId: ProjectId,
  workspaceId: WorkspaceId,
  deploymentGroupId: DeploymentGroupId,
  managerId: Nullable(ManagerId),
  publicSubdomain: Nullable(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  platform: Platform,
  basePlatform: Nullable(Words(["aws", "gcp", "azure", "on-prem"])),
  region: Nullable(Type.String()),
  purpose,
  deploymentModel: DeploymentModel,
  deploymentProtocolVersion: Type.Literal(1),
  status,
  error: Nullable(StoredError),
  retryRequested: Type.Boolean(),
  lastHeartbeatAt: Nullable(Timestamp),
  connectivity: Words(["online", "stale", "never"]),
  environmentInfo: Nullable(EnvironmentInfo),
  updateState: Nullable(UpdateState),
  currentReleaseId: Nullable(ReleaseId),
  desiredReleaseId: Nullable(ReleaseId),
  pinnedReleaseId: Nullable(ReleaseId),
  releaseChannel: Type.String(),
  importSource: Nullable(Words(["cloudformation", "terraform", "helm"])),
  setupMethod: Nullable(Words(SETUP_METHODS)),
  setupMetadata: Nullable(FreeMap),
  setupTarget: Nullable(Type.String()),
  setupFingerprint: Nullable(Type.String()),
  setupFingerprintVersion: Nullable(Type.Integer()),
  operatorScope: Nullable(Type.String()),
  operatorPermission: Nullable(Type.String()),
  operatorVersion: Nullable(Type.String()),
  capabilities: Nullable(Type.Array(Capability)),
  release: Type.Optional(
    Nullable(Strict({ id: ReleaseId, version: Type.String(), gitMetadata: Nullable(FreeMap), createdAt: Timestamp })),
  ),
  deploymentGroup: Type.Optional(
    Strict({ id: DeploymentGroupId, name: Type.String(), externalId: Nullable(Type.String()) }),
  ),
  project: Type.Optional(Strict({ id: ProjectId, name: Type.String() })),
};

/** What a list shows of each deployment. */
export const DeploymentListItem = Strict(Base);
export type DeploymentListItem = Static<typeof DeploymentListItem>;

/** The whole record, shared with the managers' view of it in sync. */
export const deploymentFields = {
  ...Base,
  stackState: Nullable(StackState),
  stackSettings: StackSettings,
  runtimeMetadata: Type.Optional(Nullable(FreeMap)),
  environmentVariables: Nullable(EnvironmentVariables),
  targetEnvironmentVariables: Nullable(EnvironmentVariables),
  currentEnvironmentVariables: Nullable(EnvironmentVariables),
};
export const Deployment = Strict(deploymentFields);
export type Deployment = Static<typeof Deployment>;

/** One question that a release asks before it can run. Opaque but for what the platform reads. */
export const Input = Type.Object({
  id: Type.String(),
  kind: Words(["string", "secret", "number", "integer", "boolean", "enum", "stringList"]),
  label: Type.String(),
  required: Type.Boolean(),
});
export type Input = Static<typeof Input>;

const InputValue = Type.Union([
  Type.String({ maxLength: 10_000 }),
  Type.Number(),
  Type.Boolean(),
  Type.Array(Type.String({ maxLength: 10_000 }), { maxItems: 200 }),
]);
export const InputValues = Type.Record(Type.String({ minLength: 1, maxLength: 128 }), InputValue);
export type InputValues = Static<typeof InputValues>;

const READ = [...READERS, "deployment-group.deployer", "deployment.viewer", "deployment.manager"] as const;
const INPUT_WRITERS = [...WRITERS, "deployment-group.deployer", "deployment.manager"] as const;
const Ref = Strict({ id: DeploymentId });
const Message = Strict({ message: Type.String() });
const include = Type.Optional(Type.Array(Words(["release", "deploymentGroup", "project"])));
const environmentVariables = Type.Array(EnvironmentVariable, { maxItems: 200 });

const filters = {
  project: Type.Optional(ProjectRef),
  deploymentGroup: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: "Id or name." })),
  name: Type.Optional(Type.String({ maxLength: 100 })),
  managerId: Type.Optional(ManagerId),
  purpose: Type.Optional(purpose),
  search: Type.Optional(Type.String({ maxLength: 256, description: "Id, or part of the name or of the group's." })),
  status: Type.Optional(Type.Array(status)),
  environment: Type.Optional(Type.Array(Platform, { description: "Platforms." })),
};

const CreateDeployment = Strict({
  name,
  platform: Platform,
  project: Type.Optional(ProjectRef),
  deploymentGroupId: Type.Optional(DeploymentGroupId),
  managerId: Type.Optional(ManagerId),
  setupItem: Type.Optional(Words(SETUP_ITEMS)),
  setupMethod: Type.Optional(Words(SETUP_METHODS)),
  stackSettings: Type.Optional(StackSettings),
  pinnedReleaseId: Maybe(ReleaseId),
  releaseChannel: Type.Optional(channel),
  initialDesiredRelease: Type.Optional(Words(["active", "none"])),
  environmentVariables: Type.Optional(environmentVariables),
  environmentInfo: Maybe(EnvironmentInfo),
  resourcePrefix: Type.Optional(Type.String({ pattern: "^[a-z](?:[a-z0-9]|-(?=[a-z0-9])){1,38}[a-z0-9]$" })),
  publicSubdomain: Maybe(Type.String({ minLength: 1, maxLength: 63 })),
  setupMetadata: Maybe(FreeMap),
  inputValues: Type.Optional(InputValues),
  operatorScope: Maybe(operatorScope),
  operatorPermission: Maybe(Words(["observe", "manage"])),
});

const Inputs = { inputs: Type.Array(Input), values: FreeMap, providedInputIds: Type.Array(Type.String()) };
const CountBy = Type.Record(Type.String(), Type.Integer({ minimum: 0 }));
const DELETE_ERRORS = ["NOT_FOUND", "INVALID_STATE_TRANSITION", "DELETE_CONFLICT"] as const;
const DeleteAccepted = Strict({ action: Words(DELETE_ACTIONS), message: Type.String() });

export const deploymentRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/deployments",
    summary: "Lists deployments, newest first; deleted ones only with status=deleted.",
    roles: READ,
    query: Type.Object({ ...filters, include, ...pageQuery }),
    success: 200,
    response: Page(DeploymentListItem),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  create: {
    method: "POST",
    path: "/v1/deployments",
    summary: "Creates a deployment in a group.",
    roles: [...WRITERS, "deployment-group.deployer"],
    body: CreateDeployment,
    success: 201,
    alternative: 200,
    response: Strict({
      deployment: Deployment,
      deploymentModel: DeploymentModel,
      token: Type.Optional(Type.String({ description: "Deployment token; for group-token callers only." })),
    }),
    errors: [
      "NOT_FOUND",
      "MAX_DEPLOYMENTS_REACHED",
      "NAME_TAKEN",
      "RELEASE_NOT_DEPLOYABLE",
      "RELEASE_PINNING_NOT_ALLOWED",
      "SETUP_CONFIG_INVALID",
      "SETUP_METHOD_NOT_ALLOWED",
      "INPUT_VALUES_INVALID",
      "MANAGER_NOT_AVAILABLE",
    ],
    repeat: "natural",
    secret: true,
  },
  stats: {
    method: "GET",
    path: "/v1/deployments/stats",
    summary: "Counts the deployments that a list with the same filters would show.",
    roles: READERS,
    query: Type.Object(filters),
    success: 200,
    response: Strict({
      total: Type.Integer({ minimum: 0 }),
      byStatus: CountBy,
      byPlatform: CountBy,
      byCurrentRelease: CountBy,
      byPinnedRelease: CountBy,
      byOrigin: Strict({ framework: Type.Integer(), remoteOperator: Type.Integer() }),
    }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  get: {
    method: "GET",
    path: "/v1/deployments/{id}",
    summary: "Reads one deployment.",
    roles: [...READ, "manager.runtime"],
    params: Ref,
    query: Type.Object({ include }),
    success: 200,
    response: Deployment,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  patch: {
    method: "PATCH",
    path: "/v1/deployments/{id}",
    summary: "Renames a deployment, hands it to another manager, or changes its settings before it starts.",
    roles: WRITERS,
    params: Ref,
    body: Strict({
      name: Type.Optional(name),
      managerId: Type.Optional(ManagerId),
      stackSettings: Type.Optional(StackSettings),
    }),
    success: 200,
    response: Deployment,
    errors: ["NOT_FOUND", "NAME_TAKEN", "INVALID_STATE_TRANSITION", "DEPLOYMENT_LOCKED"],
    repeat: "state",
  },
  remove: {
    method: "DELETE",
    path: "/v1/deployments/{id}",
    summary: "The same as delete with `cleanup`.",
    roles: WRITERS,
    params: Ref,
    success: 202,
    response: DeleteAccepted,
    errors: DELETE_ERRORS,
    repeat: "natural",
  },
  delete: {
    method: "POST",
    path: "/v1/deployments/{id}/delete",
    summary: "Ends a deployment: cleanup removes resources, detach leaves them, forget drops the record only.",
    roles: WRITERS,
    params: Ref,
    body: Strict({ action: Words(DELETE_ACTIONS) }),
    success: 202,
    response: DeleteAccepted,
    errors: DELETE_ERRORS,
    repeat: "state",
  },
  info: {
    method: "GET",
    path: "/v1/deployments/{id}/info",
    summary: "Tells where a deployment takes commands and what it consists of.",
    roles: READ,
    params: Ref,
    success: 200,
    response: Strict({
      commands: Strict({ url: Nullable(Type.String()), deploymentId: DeploymentId }),
      resources: FreeMap,
      status,
      platform: Platform,
    }),
    errors: ["NOT_FOUND", "DEPLOYMENT_HAS_NO_MANAGER"],
    repeat: "safe",
  },
  redeploy: {
    method: "POST",
    path: "/v1/deployments/{id}/redeploy",
    summary: "Applies the current release again.",
    roles: WRITERS,
    params: Ref,
    success: 202,
    response: Strict({ message: Type.String(), operation: UpdateOperation }),
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "key",
  },
  retry: {
    method: "POST",
    path: "/v1/deployments/{id}/retry",
    summary: "Asks for another attempt at what failed.",
    roles: WRITERS,
    params: Ref,
    success: 202,
    response: Message,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "state",
  },
  pinRelease: {
    method: "POST",
    path: "/v1/deployments/{id}/pin-release",
    summary: "Holds a deployment at one release; null lets it follow its channel again.",
    roles: WRITERS,
    params: Ref,
    body: Strict({ releaseId: Nullable(ReleaseId) }),
    success: 202,
    response: Message,
    errors: ["NOT_FOUND", "RELEASE_NOT_DEPLOYABLE", "INVALID_STATE_TRANSITION"],
    repeat: "state",
  },
  setReleaseChannel: {
    method: "POST",
    path: "/v1/deployments/{id}/release-channel",
    summary: "Makes a deployment follow a channel.",
    roles: WRITERS,
    params: Ref,
    body: Strict({ channel }),
    success: 200,
    response: Deployment,
    errors: ["NOT_FOUND", "RELEASE_NOT_DEPLOYABLE"],
    repeat: "state",
  },
  getInputs: {
    method: "GET",
    path: "/v1/deployments/{id}/inputs",
    summary: "Shows the release's inputs and which have values; secret values never.",
    roles: [...READERS, "deployment-group.deployer", "deployment.manager"],
    params: Ref,
    success: 200,
    response: Strict(Inputs),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  patchInputs: {
    method: "PATCH",
    path: "/v1/deployments/{id}/inputs",
    summary: "Sets and clears input values.",
    roles: INPUT_WRITERS,
    params: Ref,
    body: Strict({
      inputValues: Type.Optional(InputValues),
      clearInputIds: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 200 })),
    }),
    success: 200,
    response: Strict({
      ...Inputs,
      runtimeUpdateRequested: Type.Boolean(),
      outcome: Words(["accepted", "unchanged"]),
      operation: Type.Optional(Nullable(UpdateOperation)),
    }),
    errors: ["NOT_FOUND", "INPUT_VALUES_INVALID", "INVALID_STATE_TRANSITION"],
    repeat: "state",
  },
  setEnvironmentVariables: {
    method: "PATCH",
    path: "/v1/deployments/{id}/environment-variables",
    summary: "Replaces all environment variables of a deployment.",
    roles: INPUT_WRITERS,
    params: Ref,
    body: Strict({ variables: environmentVariables }),
    success: 202,
    response: Message,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "state",
  },
  createToken: {
    method: "POST",
    path: "/v1/deployments/{id}/token",
    summary: "Mints a deployment token with the role deployment.manager.",
    roles: WRITERS,
    params: Ref,
    body: Strict({ description: Nullable(HumanLine(3, 128)), expiresAt: Maybe(Timestamp) }),
    success: 201,
    response: Strict({ token: Type.String(), deploymentId: DeploymentId }),
    errors: ["NOT_FOUND"],
    repeat: "none",
    secret: true,
  },
});
