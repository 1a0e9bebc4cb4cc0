import Type, { type Static } from "typebox";
import { ADMIN, ROLES, SCOPE_TYPES, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  ApiKeyId,
  Bounded,
  DeploymentGroupId,
  DeploymentId,
  DOCUMENT_BYTES,
  FreeMap,
  HumanText,
  ManagerId,
  Nullable,
  Page,
  ProjectId,
  ProjectRef,
  pageQuery,
  SMALL_DOCUMENT_BYTES,
  Strict,
  Timestamp,
  Words,
  WorkspaceId,
} from "../wire/schema.ts";

export const ApiKey = Strict({
  id: ApiKeyId,
  description: Nullable(Type.String()),
  keyPrefix: Type.String({ description: "The first 12 characters; the whole key is shown once, when it is minted." }),
  type: Words(SCOPE_TYPES),
  role: Words(ROLES),
  workspaceId: WorkspaceId,
  projectId: Nullable(ProjectId),
  deploymentId: Nullable(DeploymentId),
  deploymentGroupId: Nullable(DeploymentGroupId),
  managerId: Nullable(ManagerId),
  enabled: Type.Boolean(),
  createdAt: Timestamp,
  expiresAt: Nullable(Timestamp),
  lastUsedAt: Nullable(Timestamp),
  revokedAt: Nullable(Timestamp),
  deploymentSetupConfig: Nullable(FreeMap),
});
export type ApiKey = Static<typeof ApiKey>;

const CreatedByUser = Strict({ id: Type.String(), email: Type.String(), image: Nullable(Type.String()) });

export const ApiKeyWithCreator = Strict({ ...ApiKey.properties, createdByUser: Nullable(CreatedByUser) });
export type ApiKeyWithCreator = Static<typeof ApiKeyWithCreator>;

/** On every answer to a key that will expire: an ISO instant. How a key's holder learns when to rotate it. */
export const KEY_EXPIRES_HEADER = "sallyport-key-expires-at";

/** The secret and its record: the only answer that shows a key. */
export const MintedKey = Strict({ apiKey: Type.String(), keyInfo: ApiKey });

const rolesOf = <const P extends string>(prefix: P) =>
  Words(
    ROLES.filter((role): role is Extract<(typeof ROLES)[number], `${P}.${string}`> => role.startsWith(`${prefix}.`)),
  );

/** What a key may reach, and as what. The role belongs to the scope's type. */
export const KeyScope = Type.Union([
  Strict({ type: Type.Literal("workspace"), role: rolesOf("workspace") }),
  Strict({ type: Type.Literal("project"), role: rolesOf("project"), projectId: ProjectId }),
  Strict({
    type: Type.Literal("deployment"),
    role: rolesOf("deployment"),
    deploymentId: DeploymentId,
    projectId: ProjectId,
  }),
  Strict({
    type: Type.Literal("deployment-group"),
    role: rolesOf("deployment-group"),
    deploymentGroupId: DeploymentGroupId,
    projectId: ProjectId,
  }),
  Strict({ type: Type.Literal("manager"), role: rolesOf("manager"), managerId: ManagerId }),
]);
export type KeyScope = Static<typeof KeyScope>;

const description = Nullable(HumanText(3, 128));
const params = Type.Object({ id: ApiKeyId });

export const apiKeyRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/api-keys",
    summary: "List the keys that the caller may see, newest first, revoked ones included.",
    roles: WRITERS,
    query: Type.Object({ project: Type.Optional(ProjectRef), ...pageQuery }),
    success: 200,
    response: Page(ApiKeyWithCreator),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  create: {
    method: "POST",
    path: "/v1/api-keys",
    summary: "Mint a key. Its secret is in this answer and nowhere else.",
    roles: WRITERS,
    body: Strict({ description, scope: KeyScope, expiresAt: Type.Optional(Nullable(Timestamp)) }),
    success: 201,
    response: MintedKey,
    errors: ["PRIVILEGE_ESCALATION", "NOT_FOUND", "BUDGET_EXCEEDED"],
    repeat: "none",
    secret: true,
  },
  get: {
    method: "GET",
    path: "/v1/api-keys/{id}",
    summary: "Read one key's record.",
    roles: WRITERS,
    params,
    success: 200,
    response: ApiKeyWithCreator,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  update: {
    method: "PATCH",
    path: "/v1/api-keys/{id}",
    summary: "Enable or disable a key, describe it, move its expiry; for group keys also the setup policy.",
    roles: WRITERS,
    params,
    body: Strict({
      enabled: Type.Optional(Type.Boolean()),
      description: Type.Optional(description),
      expiresAt: Type.Optional(Nullable(Timestamp)),
      deploymentSetupConfig: Type.Optional(
        Strict({
          policy: Bounded(DOCUMENT_BYTES, FreeMap),
          metadata: Type.Optional(Bounded(SMALL_DOCUMENT_BYTES, FreeMap)),
        }),
      ),
    }),
    success: 200,
    response: ApiKeyWithCreator,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION", "SETUP_CONFIG_INVALID"],
    repeat: "state",
  },
  revoke: {
    method: "DELETE",
    path: "/v1/api-keys/{id}",
    summary: "Revoke a key for good; its record stays.",
    roles: WRITERS,
    params,
    success: 204,
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
  batchDelete: {
    method: "POST",
    path: "/v1/api-keys/batch-delete",
    summary: "Remove keys and their records; unknown ids are skipped.",
    roles: ADMIN,
    body: Strict({ ids: Type.Array(ApiKeyId, { minItems: 1, maxItems: 100, uniqueItems: true }) }),
    success: 200,
    response: Strict({ deletedCount: Type.Integer({ minimum: 0 }) }),
    errors: [],
    repeat: "natural",
  },
});
