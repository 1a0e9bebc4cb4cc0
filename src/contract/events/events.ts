import Type, { type Static } from "typebox";
import { READERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  DebugSessionId,
  DeploymentId,
  EventId,
  Nullable,
  Page,
  ProjectId,
  ProjectRef,
  pageQuery,
  ReleaseId,
  Strict,
  Timestamp,
  WordList,
  Words,
  WorkspaceId,
} from "../wire/schema.ts";
import { StoredError } from "../wire/stored-error.ts";

/** Things that happened: one row, `state` is `none` (§13.1). */
export const FACTS = [
  "DeploymentCreated",
  "DeploymentReleased",
  "DeploymentFailed",
  "DeploymentDegraded",
  "DeploymentRecovered",
  "DeploymentDeleted",
  "DeploymentDeletionRequested",
  "DeploymentRetryRequested",
  "DeploymentRedeployRequested",
  "DeploymentReleasePinned",
  "DeploymentReleaseUnpinned",
  "DeploymentReleaseChannelChanged",
  "DeploymentEnvironmentUpdated",
  "ReleaseChannelUpdated",
] as const;

/** Things that take time: one row whose `state` goes from started to success or failed in place (§13.2). */
export const PROGRESS = [
  "CreatingRelease",
  "LoadingConfiguration",
  "BuildingStack",
  "BuildingResource",
  "CompilingCode",
  "BuildingImage",
  "PushingImage",
  "PushingStack",
  "PushingResource",
  "DownloadingRuntime",
  "GeneratingCloudFormationTemplate",
  "GeneratingTemplate",
  "EnsuringDockerRepository",
  "Finished",
  "RunningPreflights",
  "ProvisioningAgent",
  "UpdatingAgent",
  "DeletingAgent",
  "StackStep",
  "DebuggingAgent",
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

/**
 * The closed list: 14 facts and 31 kinds of progress, those of the described API. A client with that list refuses a whole
 * page for one other type, so what else happens is one of these, with fields of its own in `data`.
 */
const EVENT_TYPES = [...FACTS, ...PROGRESS] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export const EventState = Type.Union([
  Words(["none", "started", "success"]),
  Strict({ failed: Strict({ error: StoredError }) }),
]);
export type EventState = Static<typeof EventState>;

export const Event = Strict({
  id: EventId,
  workspaceId: WorkspaceId,
  projectId: ProjectId,
  deploymentId: Nullable(DeploymentId),
  releaseId: Nullable(ReleaseId),
  debugSessionId: Nullable(DebugSessionId),
  data: Type.Object(
    { type: Words(EVENT_TYPES) },
    { additionalProperties: true, description: "`type`, and the fields of that type's row in docs/api-rules §13." },
  ),
  state: EventState,
  createdAt: Timestamp,
  releaseCreatedAt: Type.Optional(Nullable(Timestamp)),
});
export type Event = Static<typeof Event>;

const EVENT_READERS = [...READERS, "deployment.viewer", "deployment.manager", "deployment-group.deployer"] as const;
const include = Type.Optional(WordList(["releaseCreatedAt"], { description: "Related data to add." }));

export const eventRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/events",
    summary: "List what happened to deployments and releases, newest first.",
    roles: EVENT_READERS,
    query: Type.Object({
      project: Type.Optional(ProjectRef),
      deploymentId: Type.Optional(DeploymentId),
      releaseId: Type.Optional(ReleaseId),
      include,
      ...pageQuery,
    }),
    success: 200,
    response: Page(Event),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  get: {
    method: "GET",
    path: "/v1/events/{id}",
    summary: "Read one event.",
    roles: EVENT_READERS,
    params: Type.Object({ id: EventId }),
    query: Type.Object({ include }),
    success: 200,
    response: Event,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
});
