import type { TableClient } from "../../api-client/table-client.ts";
import { debugRelayRoutes } from "../../contract/debug-sessions/debug-relay.ts";
import { debugSessionRoutes } from "../../contract/debug-sessions/debug-sessions.ts";

/** Every route that the tunnel can call: its client is made from this table and has no other function. */
export const TUNNEL_ROUTES = {
  debugRelay: { ticket: debugRelayRoutes.ticket },
  debugSessions: { get: debugSessionRoutes.get, patch: debugSessionRoutes.patch },
} as const;

/** The platform as the tunnel sees it. */
export type Platform = TableClient<typeof TUNNEL_ROUTES>;
