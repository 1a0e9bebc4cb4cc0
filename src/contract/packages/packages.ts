import Type, { type Static } from "typebox";
import { SetupFingerprints } from "../deployments/stack.ts";
import { READERS, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  Nullable,
  PackageId,
  Page,
  ProjectId,
  ProjectRef,
  pageQuery,
  ReleaseId,
  Strict,
  Timestamp,
  Words,
  WorkspaceId,
} from "../wire/schema.ts";
import { StoredError } from "../wire/stored-error.ts";
import { PACKAGE_TYPES, PackageConfig, PackageOutputs } from "./package-types.ts";

export const PACKAGE_STATUSES = ["pending", "building", "ready", "failed", "canceled"] as const;
export type PackageStatus = (typeof PACKAGE_STATUSES)[number];
export const BUILD_PHASES = ["building", "publishing"] as const;

export const Package = Strict({
  id: PackageId,
  projectId: ProjectId,
  workspaceId: WorkspaceId,
  type: Words(PACKAGE_TYPES),
  status: Words(PACKAGE_STATUSES),
  version: Type.String({ description: "`1.0.<n>`, counted a project and type, never used again." }),
  sourceReleaseId: Nullable(ReleaseId),
  setupFingerprints: SetupFingerprints,
  packageBuildInputHash: Type.String(),
  config: PackageConfig,
  outputs: Nullable(PackageOutputs),
  error: Nullable(StoredError),
  sourceBinarySha256: Nullable(Type.String()),
  retries: Type.Integer({ minimum: 0, description: "How often a lapsed lease was taken again." }),
  lockedAt: Nullable(Timestamp),
  lockedBy: Nullable(Type.String()),
  leaseExpiresAt: Nullable(Timestamp),
  buildPhase: Nullable(Words(BUILD_PHASES)),
  lastProgressAt: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  completedAt: Nullable(Timestamp),
});
export type Package = Static<typeof Package>;

const READ = [...READERS, "deployment-group.deployer"] as const;
const Ref = Strict({ id: PackageId });

export const packageRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/packages",
    summary: "Lists packages, newest first.",
    roles: READ,
    query: Type.Object({
      project: Type.Optional(ProjectRef),
      type: Type.Optional(Words(PACKAGE_TYPES)),
      status: Type.Optional(Words(PACKAGE_STATUSES)),
      search: Type.Optional(Type.String({ maxLength: 256, description: "Part of the type or version." })),
      ...pageQuery,
    }),
    success: 200,
    response: Page(Package),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  get: {
    method: "GET",
    path: "/v1/packages/{id}",
    summary: "Reads one package.",
    roles: READ,
    params: Ref,
    success: 200,
    response: Package,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  rebuild: {
    method: "POST",
    path: "/v1/packages/rebuild",
    summary: "Cancels the project's waiting packages and queues a new one of each enabled type.",
    roles: WRITERS,
    body: Strict({ project: ProjectRef }),
    success: 200,
    response: Strict({
      packagesCreated: Type.Integer({ minimum: 0 }),
      reason: Type.Optional(Type.String({ description: "Why that is not every type, or none." })),
    }),
    errors: ["NOT_FOUND"],
    repeat: "key",
  },
  cancel: {
    method: "POST",
    path: "/v1/packages/{id}/cancel",
    summary: "Cancels a package that is waiting or being built.",
    roles: WRITERS,
    params: Ref,
    success: 200,
    response: Package,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "state",
  },
});
