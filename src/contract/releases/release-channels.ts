import Type, { type Static } from "typebox";
import { READERS, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import { Maybe, Nullable, ProjectId, ProjectRef, ReleaseId, Strict, Timestamp, WorkspaceId } from "../wire/schema.ts";

/** The channel that every project has and that is followed unless another is named. */
export const PRODUCTION = "production";

export const ChannelName = Type.String({ minLength: 1, maxLength: 63, pattern: "^[a-z][a-z0-9-]*$" });

export const ReleaseChannel = Strict({
  workspaceId: WorkspaceId,
  projectId: ProjectId,
  name: Type.String(),
  currentReleaseId: Nullable(ReleaseId),
  deploymentCount: Type.Integer({ minimum: 0, description: "Deployments that follow it; `deleted` ones not counted." }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
export type ReleaseChannel = Static<typeof ReleaseChannel>;

const query = Type.Object({ project: Type.Optional(ProjectRef) });
const Ref = Strict({ name: ChannelName });

export const releaseChannelRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/release-channels",
    summary: "Lists release channels, of one project or of all: production first, then by name.",
    roles: READERS,
    query,
    success: 200,
    response: Strict({ items: Type.Array(ReleaseChannel) }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  create: {
    method: "POST",
    path: "/v1/release-channels",
    summary: "Creates a release channel, empty or at a release.",
    roles: WRITERS,
    query,
    body: Strict({ name: ChannelName, releaseId: Type.Optional(ReleaseId) }),
    success: 201,
    response: ReleaseChannel,
    errors: ["PROJECT_REQUIRED", "NOT_FOUND", "CHANNEL_EXISTS", "CHANNEL_RESERVED", "RELEASE_NOT_DEPLOYABLE"],
    repeat: "key",
  },
  delete: {
    method: "DELETE",
    path: "/v1/release-channels/{name}",
    summary: "Deletes a release channel that no deployment follows.",
    roles: WRITERS,
    params: Ref,
    query,
    success: 204,
    errors: ["PROJECT_REQUIRED", "NOT_FOUND", "CHANNEL_RESERVED", "CHANNEL_IN_USE"],
    repeat: "natural",
  },
  promote: {
    method: "POST",
    path: "/v1/release-channels/{name}/promote",
    summary: "Points a channel at a release; its unpinned followers take it as their target.",
    roles: WRITERS,
    params: Ref,
    query,
    body: Strict({
      releaseId: ReleaseId,
      // Absent is not null: null says that the channel must be empty now.
      expectedReleaseId: Maybe(ReleaseId),
    }),
    success: 200,
    response: ReleaseChannel,
    errors: ["PROJECT_REQUIRED", "NOT_FOUND", "CHANNEL_CHANGED"],
    repeat: "state",
  },
});
