import { sql } from "kysely";
import type { userRoutes } from "../../../contract/workspaces/user.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { userOf } from "../../kernel/tenancy/principal.ts";
import { toMembership, workspacesOfUser } from "../workspaces/store.ts";
import { getProfile, patchProfile, setupProfile } from "./service.ts";

export const handlers: Handlers<typeof userRoutes> = {
  getProfile: ({ db, principal }) => getProfile(db, userOf(principal).id),
  patchProfile: ({ db, principal, body }) => patchProfile(db, userOf(principal).id, body.name),
  setupProfile: (call) => setupProfile(call, userOf(call.principal).id, call.body),
  async listMemberships({ db, principal }) {
    // Ordered by bytes, whatever the locale of the database is.
    const rows = await workspacesOfUser(db, userOf(principal).id).orderBy(sql`w.name collate "C"`).execute();
    return { items: rows.map(toMembership) };
  },
};
