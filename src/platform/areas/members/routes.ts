import type { memberRoutes } from "../../../contract/workspaces/members.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { invite } from "../invitations/service.ts";
import { toInvitation } from "../invitations/store.ts";
import { changeRole, removeMember } from "./service.ts";
import { membersOf, toMember } from "./store.ts";

export const handlers: Handlers<typeof memberRoutes> = {
  async list({ db, workspaceId }) {
    const rows = await membersOf(db, workspaceId).orderBy("m.created_at").orderBy("u.id").execute();
    return { items: rows.map(toMember) };
  },
  async add(call) {
    return toInvitation(await invite(call, call.body.email, call.body.role), call.config, call.now);
  },
  patch: (call) => changeRole(call, call.params.userId, call.body.role),
  remove: (call) => removeMember(call, call.params.userId).then(() => undefined),
};
