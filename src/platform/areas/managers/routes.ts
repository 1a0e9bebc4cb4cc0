import type { managerRoutes } from "../../../contract/managers/managers.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { findManager, toManager } from "./record/store.ts";
import {
  cancelSetup,
  createManager,
  deleteManager,
  listManagers,
  patchManager,
  renewSetup,
  retrySetup,
} from "./service.ts";

export const handlers: Handlers<typeof managerRoutes> = {
  async list(call) {
    const rows = await listManagers(call, call.query.search ?? "", call.query.limit ?? 100);
    return rows.map((row) => toManager(row, call.now));
  },

  create: (call) => createManager(call, call.body),

  setupToken: (call) => renewSetup(call, call.params.id),

  retry: (call) => retrySetup(call, call.params.id),

  async cancelSetup(call) {
    await cancelSetup(call, call.params.id);
    return { message: "the setup is cancelled and its tokens are revoked" };
  },

  async get({ db, principal, params, now }) {
    return toManager(await findManager(db, principal, params.id), now);
  },

  async patch(call) {
    return toManager(await patchManager(call, call.params.id, call.body), call.now);
  },

  async delete(call) {
    await deleteManager(call, call.params.id);
    return { message: "the manager is being deleted" };
  },
};
