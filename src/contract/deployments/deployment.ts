import Type, { type Static } from "typebox";
import {
  Bounded,
  DeploymentGroupId,
  DeploymentId,
  FreeMap,
  ManagerId,
  Nullable,
  Platform,
  ProjectId,
  ReleaseId,
  Strict,
  Timestamp,
  VALUES_BYTES,
  Words,
  WorkspaceId,
} from "../wire/schema.ts";
import { StoredError } from "../wire/stored-error.ts";
import {
  Capability,
  DEPLOYMENT_STATUSES,
  DeploymentModel,
  EnvironmentInfo,
  EnvironmentVariable,
  EnvironmentVariables,
  StackState,
  UpdateState,
} from "./deployment-state.ts";
import { StackSettings } from "./stack-settings.ts";

export const PURPOSES = ["application", "encryption", "ai", "storage", "container-registry"] as const;
export const SETUP_METHODS = ["cloudformation", "google-oauth", "terraform", "helm", "cli", "manual"] as const;

const status = Words(DEPLOYMENT_STATUSES);
const purpose = Words(PURPOSES);

const Base = {
  id: DeploymentId,
  name: Type.String(),
  projectId: ProjectId,
  workspaceId: WorkspaceId,
  deploymentGroupId: DeploymentGroupId,
  managerId: Type.Optional(ManagerId),
  /** The deployment waits until there is a manager that serves its group. */
  waitsFor: Type.Optional(Words(["manager"])),
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
  updateState: Type.Optional(UpdateState),
  currentReleaseId: Nullable(ReleaseId),
  desiredReleaseId: Nullable(ReleaseId),
  pinnedReleaseId: Nullable(ReleaseId),
  releaseChannel: Type.String(),
  importSource: Nullable(Words(["cloudformation", "terraform", "helm"])),
  setupMethod: Type.Optional(Words(SETUP_METHODS)),
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
  environmentVariables: Nullable(Type.Array(EnvironmentVariable)),
  targetEnvironmentVariables: Nullable(EnvironmentVariables),
  currentEnvironmentVariables: Nullable(EnvironmentVariables),
};
export const Deployment = Strict(deploymentFields);
export type Deployment = Static<typeof Deployment>;

/** One question that a release asks before it can run. Keys that the platform does not read are kept as they came. */
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
export const InputValues = Bounded(
  VALUES_BYTES,
  Type.Record(Type.String({ minLength: 1, maxLength: 128 }), InputValue),
);
export type InputValues = Static<typeof InputValues>;
