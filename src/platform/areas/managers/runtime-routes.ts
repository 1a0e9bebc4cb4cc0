import type { managerRuntimeRoutes } from "../../../contract/managers/manager-runtime.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { notFound } from "../../kernel/errors.ts";
import { type Principal, scopeOfPrincipal } from "../../kernel/tenancy/principal.ts";
import { toApiKey } from "../api-keys/store.ts";
import { waitForWork } from "../work-feed/service.ts";
import { requireManager } from "./record/store.ts";
import { accessToken, bootstrapManager, managementConfigOf, takeHeartbeat } from "./runtime.ts";

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
    const { id } = call.params;
    // Only the manager's own key is admitted, and it is deleted with the manager, so the manager exists.
    if (!isOwnKey(call.principal, id)) throw notFound("manager");
    const leave = call.budgets.take(["manager-work-feeds", id]);
    try {
      return await waitForWork(call, id, call.query.cursor, (call.query.wait ?? 0) * 1000);
    } finally {
      leave();
    }
  },

  async bootstrap(call) {
    const { key, deploymentId } = await bootstrapManager(call, call.params.id);
    return { apiKey: key.secret, keyInfo: toApiKey(key.row), managerId: call.params.id, deploymentId };
  },
};

function isOwnKey(principal: Principal, managerId: string): boolean {
  const scope = scopeOfPrincipal(principal);
  return scope.type === "manager" && scope.managerId === managerId;
}
