import type { invitationRoutes } from "../../../contract/workspaces/invitations.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { userOf } from "../../kernel/tenancy/principal.ts";
import { accept, preview } from "./accept.ts";
import { putLink, revokeLink } from "./link.ts";
import { invite, resend, revokeInvitation } from "./service.ts";
import { findLiveLink, invitationsOf, toInvitation, toInviteLink } from "./store.ts";

export const handlers: Handlers<typeof invitationRoutes> = {
  async list({ db, workspaceId, config, now }) {
    const rows = await invitationsOf(db, workspaceId).orderBy("i.created_at", "desc").orderBy("i.id", "desc").execute();
    return { items: rows.map((row) => toInvitation(row, config, now)) };
  },
  async create(call) {
    return toInvitation(await invite(call, call.body.email, call.body.role), call.config, call.now);
  },
  async resend(call) {
    return toInvitation(await resend(call, call.params.invitationId), call.config, call.now);
  },
  revoke: (call) => revokeInvitation(call, call.params.invitationId).then(() => undefined),
  async getLink({ db, workspaceId, config, now }) {
    const link = await findLiveLink(db, workspaceId, now);
    return link === undefined ? null : toInviteLink(link, config);
  },
  putLink: async (call) => toInviteLink(await putLink(call, call.body.role), call.config),
  deleteLink: (call) => revokeLink(call).then(() => undefined),
  preview: (call) => preview(call, call.params.token),
  accept: (call) => accept(call, userOf(call.principal), call.params.token),
};
