import Type from "typebox";
import { WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import { AccessRequestId, DebugSessionId, DeploymentId, HumanText, Strict, Timestamp, Words } from "../wire/schema.ts";
import { DEBUG_MODES, DebugPorts, DebugSelector, DebugSession, KeyPin } from "./debug-sessions.ts";

/** The subprotocol that both sides speak; the ticket travels beside it as `ticket.<ticket>`, never in the URL. */
export const RELAY_PROTOCOL = "sp-debug.v2";
export const RELAY_TICKET_PREFIX = "ticket.";
/** Largest binary frame. Smaller ones serve better: a frame is read whole before it goes on. */
export const RELAY_FRAME_MAX_BYTES = 256 * 1024;
/**
 * In how many fragments a message may come, and how many reads of the socket it may take. Each piece that waits for the rest
 * takes memory of its own, and may hold all that was read with it: far more than its bytes.
 */
export const RELAY_MESSAGE_MAX_FRAGMENTS = 64;
export const RELAY_MESSAGE_MAX_READS = 4_096;
/** Largest text frame (relay-frames.ts). */
export const RELAY_CONTROL_MAX_BYTES = 1024;
/** Bytes on their way to one side. At this many the relay stops reading from the other side. */
export const RELAY_WINDOW_BYTES = 1024 * 1024;
export const RELAY_TICKET_MS = 60_000;
/** Each end of a WebSocket pings the other this often (§19.3), and leaves it when so many pings have no answer. */
export const RELAY_PING_MS = 20_000;
export const RELAY_MISSED_PONGS = 2;
/** What the last of them has for its answer; those before it had the time to the next ping. A lost way is left in 45 s. */
export const RELAY_PONG_MS = 1_000;
/** Most text frames from one ping to the next: no end has a use for more, and parsing them costs more than bytes do. */
export const RELAY_CONTROL_FRAMES = 32;
/** An end that does not answer the close frame within this time is disconnected. */
export const RELAY_CLOSE_GRACE_MS = 2_000;

/** §19.3. */
export const RELAY_CLOSE_CODES = {
  done: 1000,
  /** RFC 6455: a text frame that is none of relay-frames.ts, or too many of them. */
  refused: 1008,
  restart: 1012,
  ticket: 4401,
  idle: 4408,
  replaced: 4409,
  expired: 4410,
  killed: 4411,
  lost: 4412,
} as const;

const ticket = { ticket: Type.String(), ticketExpiresAt: Timestamp };
const params = Type.Object({ id: DebugSessionId });

export const debugRelayRoutes = routes({
  request: {
    method: "POST",
    path: "/v1/deployments/{id}/debug-requests",
    summary: "Asks for a debug session and gives the ticket of its client side.",
    roles: WRITERS,
    params: Type.Object({ id: DeploymentId }),
    body: Strict({
      reason: HumanText(10, 500),
      mode: Words(DEBUG_MODES),
      namespace: Type.String({ minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" }),
      clientKey: KeyPin,
      ports: Type.Optional(DebugPorts),
      selector: Type.Optional(DebugSelector),
      minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 480, default: 60 })),
      accessRequestId: Type.Optional(AccessRequestId),
    }),
    success: 201,
    response: Strict({ session: DebugSession, attachUrl: Type.String(), ...ticket }),
    errors: [
      "NOT_FOUND",
      "ACCESS_REQUEST_REQUIRED",
      "MANAGER_UNAVAILABLE",
      "DEPLOYMENT_HAS_NO_MANAGER",
      "BUDGET_EXCEEDED",
    ],
    repeat: "key",
    secret: true,
  },
  ticket: {
    method: "POST",
    path: "/v1/debug-sessions/{id}/tickets",
    summary: "Gives a fresh ticket: the tunnel's side to the manager, the client's to the owner.",
    roles: [...WRITERS, "manager.runtime"],
    params,
    body: Strict({ tunnelKey: Type.Optional(KeyPin) }),
    bodyOptional: true,
    success: 201,
    response: Strict({ url: Type.String(), ...ticket }),
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "none",
    secret: true,
  },
  attach: {
    method: "GET",
    path: "/v1/debug-sessions/{id}/attach",
    summary: "Upgrades to the WebSocket of the session's client side.",
    roles: "ticket",
    params,
    success: 101,
    errors: ["TICKET_INVALID", "UPGRADE_REQUIRED", "INVALID_STATE_TRANSITION"],
    repeat: "none",
  },
  tunnel: {
    method: "GET",
    path: "/v1/debug-sessions/{id}/tunnel",
    summary: "Upgrades to the WebSocket of the session's cluster side.",
    roles: "ticket",
    params,
    success: 101,
    errors: ["TICKET_INVALID", "UPGRADE_REQUIRED", "INVALID_STATE_TRANSITION"],
    repeat: "none",
  },
});
