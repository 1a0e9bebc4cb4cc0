import Type, { type Static } from "typebox";
import { ADMIN } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import { Email, InvitationId, InviteLinkId, Nullable, Strict, Timestamp, Words, WorkspaceId } from "../wire/schema.ts";
import { WorkspaceRole, workspaceParams } from "./workspaces.ts";

const INVITATION_STATUSES = ["pending", "accepted", "revoked", "expired"] as const;
export type InvitationStatus = (typeof INVITATION_STATUSES)[number];
export const DELIVERY_STATUSES = ["pending", "sent", "failed"] as const;
const PREVIEW_STATES = ["active", "accepted", "expired", "revoked"] as const;
export type PreviewState = (typeof PREVIEW_STATES)[number];

export const INVITATION_MS = 7 * 86_400_000;
export const INVITE_LINK_MS = 30 * 86_400_000;

const inviteUrl = Type.String({
  format: "uri",
  description: "Each person who opens it may join: give it only to the person invited.",
});

export const WorkspaceInvitation = Strict({
  id: InvitationId,
  email: Type.String(),
  role: WorkspaceRole,
  status: Words(INVITATION_STATUSES),
  deliveryStatus: Type.Unsafe<(typeof DELIVERY_STATUSES)[number]>({
    ...Words(DELIVERY_STATUSES),
    description: "What became of the mail. `failed` also where none can be sent; `inviteUrl` works either way.",
  }),
  expiresAt: Timestamp,
  lastSentAt: Nullable(Timestamp),
  createdAt: Timestamp,
  inviteUrl,
});
export type WorkspaceInvitation = Static<typeof WorkspaceInvitation>;

export const WorkspaceInviteLink = Strict({
  id: InviteLinkId,
  role: WorkspaceRole,
  expiresAt: Timestamp,
  createdAt: Timestamp,
  useCount: Type.Integer({ minimum: 0 }),
  lastUsedAt: Nullable(Timestamp),
  inviteUrl,
});
export type WorkspaceInviteLink = Static<typeof WorkspaceInviteLink>;

export const InvitationPreview = Strict({
  kind: Words(["email", "link"]),
  workspace: Strict({ id: WorkspaceId, name: Type.String(), logoUrl: Nullable(Type.String()) }),
  inviter: Nullable(Strict({ name: Type.String(), image: Nullable(Type.String()) })),
  role: WorkspaceRole,
  expiresAt: Timestamp,
  state: Words(PREVIEW_STATES),
  emailHint: Nullable(Type.String()),
});
export type InvitationPreview = Static<typeof InvitationPreview>;

export const AcceptedInvitation = Strict({
  outcome: Words(["joined", "already-member"]),
  workspaceId: WorkspaceId,
  workspaceName: Type.String(),
  role: WorkspaceRole,
});
export type AcceptedInvitation = Static<typeof AcceptedInvitation>;

/** The secret part of an `inviteUrl`: of an email invitation or of a link. */
const tokenParams = Strict({ token: Type.String({ minLength: 1, maxLength: 128 }) });
const invitationParams = Strict({
  id: WorkspaceId,
  invitationId: Type.String({ minLength: 1, maxLength: 128 }),
});

export const invitationRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/workspaces/{id}/invitations",
    summary: "Lists a workspace's invitations by email, accepted and revoked ones too, newest first.",
    roles: ADMIN,
    params: workspaceParams,
    success: 200,
    response: Strict({ items: Type.Array(WorkspaceInvitation) }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
    workspace: "path",
  },
  create: {
    method: "POST",
    path: "/v1/workspaces/{id}/invitations",
    summary: "Invites an address for seven days and sends it a mail where the platform can.",
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
  resend: {
    method: "POST",
    path: "/v1/workspaces/{id}/invitations/{invitationId}/resend",
    summary: "Sends the mail again and starts its seven days anew; at most once a minute.",
    roles: ADMIN,
    params: invitationParams,
    success: 200,
    response: WorkspaceInvitation,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "none",
    workspace: "path",
  },
  revoke: {
    method: "DELETE",
    path: "/v1/workspaces/{id}/invitations/{invitationId}",
    summary: "Revokes an invitation that has not been accepted.",
    roles: ADMIN,
    params: invitationParams,
    success: 204,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "natural",
    workspace: "path",
  },
  getLink: {
    method: "GET",
    path: "/v1/workspaces/{id}/invite-link",
    summary: "Reads the workspace's live invite link, or null.",
    roles: ADMIN,
    params: workspaceParams,
    success: 200,
    response: Nullable(WorkspaceInviteLink),
    errors: ["NOT_FOUND"],
    repeat: "safe",
    workspace: "path",
  },
  putLink: {
    method: "PUT",
    path: "/v1/workspaces/{id}/invite-link",
    summary: "Makes a link through which each person who has it can join, for 30 days; one of another role is revoked.",
    roles: ADMIN,
    params: workspaceParams,
    body: Strict({ role: WorkspaceRole }),
    success: 200,
    response: WorkspaceInviteLink,
    errors: ["NOT_FOUND"],
    repeat: "natural",
    workspace: "path",
  },
  deleteLink: {
    method: "DELETE",
    path: "/v1/workspaces/{id}/invite-link",
    summary: "Revokes the workspace's invite link, if there is one.",
    roles: ADMIN,
    params: workspaceParams,
    success: 204,
    errors: ["NOT_FOUND"],
    repeat: "natural",
    workspace: "path",
  },
  preview: {
    method: "GET",
    path: "/v1/invitations/{token}",
    summary: "Shows where an invitation leads, also when it can no longer be accepted.",
    roles: ["user"],
    params: tokenParams,
    success: 200,
    response: InvitationPreview,
    errors: ["NOT_FOUND"],
    repeat: "safe",
    workspace: "exempt",
  },
  accept: {
    method: "POST",
    path: "/v1/user/invitations/{token}/accept",
    summary: "Joins the workspace of an invitation.",
    roles: ["user"],
    params: tokenParams,
    success: 200,
    response: AcceptedInvitation,
    errors: ["NOT_FOUND", "INVITATION_UNAVAILABLE", "INVITATION_EMAIL_MISMATCH"],
    repeat: "state",
    workspace: "exempt",
  },
});
