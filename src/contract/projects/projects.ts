import Type, { type Static } from "typebox";
import { TYPED_NAME } from "../wire/pasted-line.ts";
import { ADMIN, READERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  HumanLine,
  ManagerId,
  Maybe,
  Nullable,
  Page,
  PLATFORMS,
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
import { GitHostName } from "./git-namespaces.ts";
import { portalAppearance, storedAppearance } from "./portal-appearance.ts";

const PROJECT_NAME = "^(?!prj[-_])[a-z0-9](-?[a-z0-9])*$";
export const CAPABILITIES = ["deployments", "models", "keys", "buckets", "registry", "sandbox"] as const;

const name = Type.String({ minLength: 4, maxLength: 100, pattern: PROJECT_NAME });
const word = HumanLine(1, 128);
/** People type this name into a shell. */
const typed = Type.String({ minLength: 1, maxLength: 128, pattern: TYPED_NAME });

const GitRepository = Strict({ type: GitHostName, repo: Type.String({ minLength: 1, maxLength: 128 }) });

const enabled = Type.Boolean();
const regions = Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 100 }));

/** Which packages are built and how: the configs of §7 with a switch each. */
export const PackagesConfig = Strict({
  cli: Maybe(
    Strict({
      enabled,
      name: typed,
      displayName: word,
      binaryTargets: Type.Array(Words(["windows-x64", "linux-x64", "linux-arm64", "darwin-arm64"]), {
        minItems: 1,
        maxItems: 16,
      }),
    }),
  ),
  cloudformation: Maybe(Strict({ enabled, displayName: Maybe(word), supportedAwsRegions: regions })),
  terraform: Maybe(Strict({ enabled, displayName: Maybe(word), supportedAwsRegions: regions })),
  helm: Maybe(Strict({ enabled, chartName: typed, description: HumanLine(0, 512) })),
  operatorImage: Maybe(
    Strict({
      enabled,
      name: word,
      displayName: word,
      brand: Maybe(word),
      envPrefix: Maybe(word),
      labelDomain: Maybe(word),
    }),
  ),
  sandboxBundle: Maybe(Strict({ enabled, name: word, displayName: word })),
});

const DefaultManagers = Strict(
  Object.fromEntries(PLATFORMS.map((platform) => [platform, Maybe(ManagerId)])) as Record<
    (typeof PLATFORMS)[number],
    Type.TOptional<Type.TUnion<[Type.TString, Type.TNull]>>
  >,
);

const settings = {
  gitRepository: Maybe(GitRepository),
  rootDirectory: Maybe(Type.String({ maxLength: 256 })),
  packagesConfig: Maybe(PackagesConfig),
};
const enabledCapabilities = WordList(CAPABILITIES, { uniqueItems: true });

export const Project = Strict({
  id: ProjectId,
  name: Type.String(),
  workspaceId: WorkspaceId,
  gitRepository: Nullable(GitRepository),
  rootDirectory: Nullable(Type.String()),
  deploymentPortalAppearance: Nullable(Strict(storedAppearance)),
  packagesConfig: Nullable(PackagesConfig),
  defaultManagers: Nullable(DefaultManagers),
  enabledCapabilities,
  createdAt: Timestamp,
  deploymentCount: Type.Optional(Type.Integer({ minimum: 0, description: "With include=deploymentCount." })),
  latestRelease: Type.Optional(
    Nullable(
      Strict({
        id: ReleaseId,
        gitMetadata: Nullable(Type.Record(Type.String(), Type.Unknown())),
        createdAt: Timestamp,
      }),
    ),
  ),
});
export type Project = Static<typeof Project>;

const READ = [...READERS, "project.encryption", "project.ai-gateway", "project.remote-bindings"] as const;
const Ref = Strict({ idOrName: ProjectRef });

export const projectRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/projects",
    summary: "Lists the projects that the caller may see, newest first.",
    roles: READ,
    query: Type.Object({
      search: Type.Optional(Type.String({ maxLength: 256, description: "Part of the name." })),
      include: Type.Optional(WordList(["deploymentCount", "latestRelease"])),
      ...pageQuery,
    }),
    success: 200,
    response: Page(Project),
    errors: ["INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  create: {
    method: "POST",
    path: "/v1/projects",
    summary: "Creates a project; its release channel `production` exists from then on.",
    roles: ["workspace.member", "workspace.admin"],
    body: Strict({ name, ...settings, enabledCapabilities: Type.Optional(enabledCapabilities) }),
    success: 201,
    response: Project,
    errors: ["NAME_TAKEN"],
    repeat: "key",
  },
  get: {
    method: "GET",
    path: "/v1/projects/{idOrName}",
    summary: "Reads one project.",
    roles: READ,
    params: Ref,
    success: 200,
    response: Project,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  patch: {
    method: "PATCH",
    path: "/v1/projects/{idOrName}",
    summary: "Changes a project's settings. Its id and name stay.",
    roles: ["workspace.member", "workspace.admin", "project.developer"],
    params: Ref,
    body: Strict({
      ...settings,
      deploymentPortalAppearance: Maybe(Strict(portalAppearance)),
      defaultManagers: Maybe(DefaultManagers),
      enabledCapabilities: Type.Optional(enabledCapabilities),
    }),
    success: 200,
    response: Project,
    errors: ["NOT_FOUND"],
    repeat: "state",
  },
  delete: {
    method: "DELETE",
    path: "/v1/projects/{idOrName}",
    summary: "Deletes a project without deployments and all that belongs to it.",
    roles: ADMIN,
    params: Ref,
    success: 204,
    errors: ["NOT_FOUND", "PROJECT_NOT_EMPTY"],
    repeat: "natural",
  },
});
