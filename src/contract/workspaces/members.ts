import Type, { type Static } from "typebox";
import { ADMIN, WORKSPACE_ROLES } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import { Email, Nullable, Strict, Timestamp, UserId, WorkspaceId } from "../wire/schema.ts";
import { WorkspaceInvitation } from "./invitations.ts";
import { WorkspaceRole, workspaceParams } from "./workspaces.ts";

export const WorkspaceMember = Strict({
  userId: UserId,
  email: Type.String(),
  name: Type.String(),
  image: Nullable(Type.String()),
  role: WorkspaceRole,
  joinedAt: Timestamp,
});
export type WorkspaceMember = Static<typeof WorkspaceMember>;

const memberParams = Strict({ id: WorkspaceId, userId: UserId });

export const memberRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/workspaces/{id}/members",
    summary: "Lists the members of a workspace, the first to join first.",
    roles: WORKSPACE_ROLES,
    params: workspaceParams,
    success: 200,
    response: Strict({ items: Type.Array(WorkspaceMember) }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
    workspace: "path",
  },
  add: {
    method: "POST",
    path: "/v1/workspaces/{id}/members",
    summary: "Invites an address, as POST …/invitations does: the answer is the same whether or not it has an account.",
    roles: ADMIN,
    params: workspaceParams,
    body: Strict({ email: Email, role: WorkspaceRole }),
    success: 201,
    response: WorkspaceInvitation,
    errors: ["NOT_FOUND", "INVITATION_EXISTS", "ALREADY_MEMBER"],
    repeat: "key",
    sealed: true,
    workspace: "path",
  },
  patch: {
    method: "PATCH",
    path: "/v1/workspaces/{id}/members/{userId}",
    summary: "Changes a member's role; it holds from the member's next request.",
    roles: ADMIN,
    params: memberParams,
    body: Strict({ role: WorkspaceRole }),
    success: 200,
    response: WorkspaceMember,
    errors: ["NOT_FOUND", "LAST_ADMIN"],
    repeat: "state",
    workspace: "path",
  },
  remove: {
    method: "DELETE",
    path: "/v1/workspaces/{id}/members/{userId}",
    summary: "Removes a member; everybody may remove themselves. Keys that they made stay.",
    roles: ["user", ...ADMIN],
    params: memberParams,
    success: 204,
    errors: ["NOT_FOUND", "LAST_ADMIN"],
    repeat: "natural",
    workspace: "path",
  },
});
