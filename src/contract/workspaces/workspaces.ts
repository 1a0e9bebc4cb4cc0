import Type, { type Static } from "typebox";
import { httpUrl } from "../managers/managers.ts";
import { ADMIN, READERS, WORKSPACE_ROLES } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import { Nullable, Page, pageQuery, Strict, Timestamp, WORKSPACE_NAME, Words, WorkspaceId } from "../wire/schema.ts";

export const WorkspaceRole: Type.TUnsafe<(typeof WORKSPACE_ROLES)[number]> = Words(WORKSPACE_ROLES);
export type WorkspaceRole = Static<typeof WorkspaceRole>;

/** Of routes whose path names the workspace. */
export const workspaceParams = Strict({ id: WorkspaceId });

const logoUrl = Nullable(Type.String());

export const Workspace = Strict({ id: WorkspaceId, name: Type.String(), logoUrl, createdAt: Timestamp });
export type Workspace = Static<typeof Workspace>;

/** A workspace as one of its members sees it. */
export const Membership = Strict({ ...Workspace.properties, role: WorkspaceRole });
export type Membership = Static<typeof Membership>;

export const DEBUG_PERMISSION_MODES = ["auto", "ask"] as const;

const debugPermissionMode = Type.Unsafe<(typeof DEBUG_PERMISSION_MODES)[number]>({
  ...Words(DEBUG_PERMISSION_MODES),
  description: "`ask`: every debug session needs a request that the customer has approved.",
});
const enabled = Type.Boolean({
  description: "When false, keys may not ask for debug sessions, operations or access; work that runs goes on.",
});

export const AgentSettings = Strict({
  workspaceId: WorkspaceId,
  enabled,
  debugPermissionMode,
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
export type AgentSettings = Static<typeof AgentSettings>;

export const workspaceRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/workspaces",
    summary: "Lists the workspaces that the caller belongs to, newest first.",
    roles: ["user", ...WORKSPACE_ROLES],
    query: Type.Object({
      search: Type.Optional(Type.String({ maxLength: 256, description: "Part of the name." })),
      ...pageQuery,
    }),
    success: 200,
    response: Page(Workspace),
    errors: ["INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
    workspace: "exempt",
  },
  create: {
    method: "POST",
    path: "/v1/user/workspaces",
    summary: "Creates a workspace; the caller becomes its first admin.",
    roles: ["user"],
    body: Strict({
      name: Type.String({ minLength: 4, maxLength: 100, pattern: WORKSPACE_NAME }),
      logoUrl: Type.Optional(httpUrl),
    }),
    success: 201,
    response: Membership,
    errors: ["NAME_TAKEN", "BUDGET_EXCEEDED"],
    repeat: "key",
    workspace: "exempt",
  },
  get: {
    method: "GET",
    path: "/v1/workspaces/{id}",
    summary: "Reads a workspace.",
    roles: READERS,
    params: workspaceParams,
    success: 200,
    response: Workspace,
    errors: ["NOT_FOUND"],
    repeat: "safe",
    workspace: "path",
  },
  patch: {
    method: "PATCH",
    path: "/v1/workspaces/{id}",
    summary: "Changes a workspace's logo. Its name stays.",
    roles: ADMIN,
    params: workspaceParams,
    body: Strict({ logoUrl: Type.Optional(Nullable(httpUrl)) }),
    success: 200,
    response: Workspace,
    errors: ["NOT_FOUND"],
    repeat: "state",
    workspace: "path",
  },
  delete: {
    method: "DELETE",
    path: "/v1/workspaces/{id}",
    summary: "Deletes a workspace without projects and revokes its keys and invitations; for users only.",
    roles: ADMIN,
    params: workspaceParams,
    success: 204,
    errors: ["NOT_FOUND", "WORKSPACE_NOT_EMPTY"],
    repeat: "natural",
    workspace: "path",
  },
  getSettings: {
    method: "GET",
    path: "/v1/workspaces/{id}/settings",
    summary: "Reads what the workspace lets keys and debug sessions do.",
    roles: WORKSPACE_ROLES,
    params: workspaceParams,
    success: 200,
    response: AgentSettings,
    errors: ["NOT_FOUND"],
    repeat: "safe",
    workspace: "path",
  },
  patchSettings: {
    method: "PATCH",
    path: "/v1/workspaces/{id}/settings",
    summary: "Changes what the workspace lets keys and debug sessions do.",
    roles: ADMIN,
    params: workspaceParams,
    body: Strict({ enabled: Type.Optional(enabled), debugPermissionMode: Type.Optional(debugPermissionMode) }),
    success: 200,
    response: AgentSettings,
    errors: ["NOT_FOUND"],
    repeat: "state",
    workspace: "path",
  },
});
