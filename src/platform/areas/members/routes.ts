import type { memberRoutes } from "../../../contract/members.ts";
import type { Handlers } from "../../kernel/call.ts";
import { addMember, changeRole, removeMember } from "./service.ts";
import { membersOf, toMember } from "./store.ts";

export const handlers: Handlers<typeof memberRoutes> = {
  async list({ db, workspaceId }) {
    const rows = await membersOf(db, workspaceId).orderBy("m.created_at").orderBy("u.id").execute();
    return { items: rows.map(toMember) };
  },
  add: (call) => addMember(call, call.body.email, call.body.role),
  patch: (call) => changeRole(call, call.params.userId, call.body.role),
  remove: (call) => removeMember(call, call.params.userId).then(() => undefined),
};
