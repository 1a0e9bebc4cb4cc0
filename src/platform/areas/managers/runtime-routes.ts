import type { managerRuntimeRoutes } from "../../../contract/manager-runtime.ts";
import type { Handlers } from "../../kernel/call.ts";
import { notFound } from "../../kernel/errors.ts";
import { toApiKey } from "../api-keys/store.ts";
import { waitForWork } from "../work-feed/service.ts";
import { accessToken, bootstrapManager, managementConfigOf, takeHeartbeat } from "./runtime.ts";
import { requireManager } from "./store.ts";

export const handlers: Handlers<typeof managerRuntimeRoutes> = {
  async heartbeat(call) {
    await takeHeartbeat(call, call.params.id, call.body);
    return { acknowledged: true, timestamp: call.now.toISOString() };
  },

  async managementConfig({ db, principal, params, query }) {
    const config = managementConfigOf(await requireManager(db, principal, params.id), query.platform);
    if (config === undefined) throw notFound("management config");
    return config;
  },

  token: (call) => accessToken(call, call.params.id, call.body.project),

  async work(call) {
    const { id } = await requireManager(call.db, call.principal, call.params.id);
    return waitForWork(call, id, call.query.cursor, (call.query.wait ?? 0) * 1000);
  },

  async bootstrap(call) {
    const { key, deploymentId } = await bootstrapManager(call, call.params.id);
    return { apiKey: key.secret, keyInfo: toApiKey(key.row), managerId: call.params.id, deploymentId };
  },
};
