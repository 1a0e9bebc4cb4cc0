import Type, { type Static } from "typebox";
import { DEPLOYMENT_STATUSES, EnvironmentInfo } from "../deployments/deployment-state.ts";
import { NewStacks, SetupFingerprints, Stacks } from "../deployments/stack.ts";
import { READERS, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  DeploymentGroupId,
  DeploymentId,
  Nullable,
  Page,
  Platform,
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
import { GitMetadata, NewGitMetadata } from "./git-metadata.ts";
import { ChannelName, PRODUCTION } from "./release-channels.ts";

/** How far a deployment is with a release, in the order in which the platform checks them (§5.3). */
export const ROLLOUT_STATES = [
  "failed",
  "updated",
  "updating",
  "pending",
  "pinned-other",
  "superseded",
  "on-other",
] as const;
export type RolloutState = (typeof ROLLOUT_STATES)[number];

const base = {
  id: ReleaseId,
  projectId: ProjectId,
  workspaceId: WorkspaceId,
  version: Type.String(),
  gitMetadata: Nullable(GitMetadata),
  stack: Stacks,
  setupFingerprints: SetupFingerprints,
  rootDirectory: Nullable(Type.String()),
  createdByUserId: Nullable(Type.String()),
  createdAt: Timestamp,
};
const count = Type.Integer({ minimum: 0 });

/** A release as its creation answers it. It never changes. */
export const NewRelease = Strict(base);
export type NewRelease = Static<typeof NewRelease>;

/** A release as reads show it, with its rollout. */
export const Release = Strict({
  ...base,
  currentChannels: Type.Array(Type.String()),
  commitUrl: Nullable(Type.String({ format: "uri" })),
  project: Type.Optional(Strict({ id: ProjectId, name: Type.String() })),
  rollout: Type.Optional(
    Strict({ updatedCount: count, pendingCount: count, avgDurationMs: Nullable(Type.Number({ minimum: 0 })) }),
  ),
  createdBy: Type.Optional(
    Strict({
      id: Type.String(),
      name: Type.String(),
      email: Type.String(),
      image: Nullable(Type.String()),
    }),
  ),
});
export type Release = Static<typeof Release>;

export const ReleaseDeployment = Strict({
  id: DeploymentId,
  name: Type.String(),
  status: Words(DEPLOYMENT_STATUSES),
  platform: Platform,
  environmentInfo: Nullable(EnvironmentInfo),
  deploymentGroup: Strict({ id: DeploymentGroupId, name: Type.String(), externalId: Nullable(Type.String()) }),
  currentReleaseId: Nullable(ReleaseId),
  desiredReleaseId: Nullable(ReleaseId),
  pinnedReleaseId: Nullable(ReleaseId),
  lastHeartbeatAt: Nullable(Timestamp),
  rolloutState: Words(ROLLOUT_STATES),
  releasedAt: Nullable(Timestamp),
  durationMs: Nullable(Type.Integer({ minimum: 0 })),
  error: Nullable(StoredError),
});
export type ReleaseDeployment = Static<typeof ReleaseDeployment>;

const stateCounts = Strict(
  Object.fromEntries(ROLLOUT_STATES.map((state) => [state, count])) as Record<RolloutState, typeof count>,
);

const Ref = Strict({ id: ReleaseId });
const search = (what: string) => Type.Optional(Type.String({ maxLength: 256, description: what }));
const filter = (what: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: what }));
const include = Type.Optional(WordList(["project", "rollout", "createdBy"]));
const wordsOfReleases = {
  project: Type.Optional(ProjectRef),
  search: search("Part of it, in any case."),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
};

export const releaseRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/releases",
    summary: "Lists the releases that are or were promoted to a channel, newest first.",
    roles: READERS,
    query: Type.Object({
      project: Type.Optional(ProjectRef),
      channel: Type.Optional(Type.String({ ...ChannelName, default: PRODUCTION })),
      allChannels: Type.Optional(
        Type.Boolean({ default: false, description: "Every release, promoted or not; `channel` is ignored." }),
      ),
      include,
      search: search("Part of the commit message, branch or version; the beginning of the commit's sha or of the id."),
      branch: filter("A branch's whole name."),
      author: filter("An author's whole login or name, in any case."),
      createdAfter: Type.Optional(Timestamp),
      createdBefore: Type.Optional(Timestamp),
      ...pageQuery,
    }),
    success: 200,
    response: Page(Release),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  create: {
    method: "POST",
    path: "/v1/releases",
    summary: "Creates a release; the first of a project is promoted to production.",
    roles: WRITERS,
    body: Strict({
      project: ProjectRef,
      version: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      gitMetadata: Type.Optional(Nullable(NewGitMetadata)),
      stack: Type.Optional(NewStacks),
      rootDirectory: Type.Optional(
        Nullable(Type.String({ maxLength: 256, pattern: "^(?!/)(?!([\\s\\S]*/)?\\.\\.(/|$))[\\s\\S]*$" })),
      ),
      channel: Type.Optional(ChannelName),
    }),
    success: 201,
    response: NewRelease,
    errors: ["NOT_FOUND", "NAME_TAKEN"],
    repeat: "key",
  },
  branches: {
    method: "GET",
    path: "/v1/releases/branches",
    summary: "Lists the branches that releases were made from, the latest first.",
    roles: READERS,
    query: Type.Object(wordsOfReleases),
    success: 200,
    response: Strict({ items: Type.Array(Type.String()) }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  authors: {
    method: "GET",
    path: "/v1/releases/authors",
    summary: "Lists the authors of the commits that releases were made from, the latest first.",
    roles: READERS,
    query: Type.Object(wordsOfReleases),
    success: 200,
    response: Strict({
      items: Type.Array(
        Strict({
          login: Nullable(Type.String()),
          name: Nullable(Type.String()),
          avatarUrl: Nullable(Type.String()),
        }),
      ),
    }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  get: {
    method: "GET",
    path: "/v1/releases/{id}",
    summary: "Reads one release.",
    roles: [...READERS, "deployment.viewer", "deployment.manager", "deployment-group.deployer", "manager.runtime"],
    params: Ref,
    query: Type.Object({ include }),
    success: 200,
    response: Release,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  deployments: {
    method: "GET",
    path: "/v1/releases/{id}/deployments",
    summary: "Tells where each deployment of the project stands towards a release, by name.",
    roles: READERS,
    params: Ref,
    query: Type.Object({
      state: Type.Optional(WordList(ROLLOUT_STATES)),
      deploymentGroup: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: "Id or name." })),
      ...pageQuery,
    }),
    success: 200,
    response: Strict({ ...Page(ReleaseDeployment).properties, stateCounts }),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
});
