import type { TableClient } from "../../api-client/table-client.ts";
import { accessRelayRoutes } from "../../contract/access-requests/access-relay.ts";
import { debugSessionRoutes } from "../../contract/debug-sessions/debug-sessions.ts";
import { syncRoutes } from "../../contract/deployments/sync.ts";
import { machineRuntimeRoutes } from "../../contract/machines/machines.ts";
import { managerRuntimeRoutes } from "../../contract/managers/manager-runtime.ts";
import { commandRoutes } from "../../contract/operations/commands.ts";
import { whoamiRoutes } from "../../contract/workspaces/whoami.ts";

/**
 * Every route that the agent can call: its client is made from this table and has no other function. What leaves the
 * cluster is therefore no more than these routes take; `docs/data-that-leaves.md` is made from the same table.
 */
export const AGENT_ROUTES = {
  whoami: { get: whoamiRoutes.get },
  managerRuntime: { heartbeat: managerRuntimeRoutes.heartbeat, work: managerRuntimeRoutes.work },
  sync: {
    list: syncRoutes.list,
    acquire: syncRoutes.acquire,
    renew: syncRoutes.renew,
    reconcile: syncRoutes.reconcile,
    release: syncRoutes.release,
  },
  accessRelay: {
    pending: accessRelayRoutes.pending,
    materialized: accessRelayRoutes.materialized,
    approvals: accessRelayRoutes.approvals,
    decisions: accessRelayRoutes.decisions,
    receipts: accessRelayRoutes.receipts,
  },
  commands: {
    list: commandRoutes.list,
    get: commandRoutes.get,
    dispatch: commandRoutes.dispatch,
    complete: commandRoutes.complete,
  },
  debugSessions: { list: debugSessionRoutes.list, patch: debugSessionRoutes.patch },
  machines: { actions: machineRuntimeRoutes.actions, report: machineRuntimeRoutes.report },
} as const;

/** The platform as the agent sees it. */
export type Platform = TableClient<typeof AGENT_ROUTES>;
