import type { debugRelayRoutes } from "../../../contract/debug-sessions/debug-relay.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { upgradeRequired } from "../../kernel/errors.ts";
import { requestDebug } from "./request.ts";
import { toSession } from "./store.ts";
import { freshTicket } from "./tickets.ts";

/**
 * The server handles WebSocket upgrades itself (relay/upgrade.ts). These handlers see only requests without an upgrade.
 */
export const relayHandlers: Handlers<typeof debugRelayRoutes> = {
  async request(call) {
    const { row, ticket: made } = await requestDebug(call, call.params.id, call.body);
    const { url, ticket, ticketExpiresAt } = made;
    return { session: toSession(row, call), attachUrl: url, ticket, ticketExpiresAt };
  },
  ticket: (call) => freshTicket(call, call.params.id, call.body?.tunnelKey),
  attach: () => Promise.reject(upgradeRequired()),
  tunnel: () => Promise.reject(upgradeRequired()),
};
