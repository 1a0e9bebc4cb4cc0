import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Clock } from "../../base/clock.ts";
import { doubledHeader } from "../../base/doubled-header.ts";
import type { Logger } from "../../base/log.ts";
import {
  debugRelayRoutes,
  RELAY_FRAME_MAX_BYTES,
  RELAY_MESSAGE_MAX_FRAGMENTS,
  RELAY_MESSAGE_MAX_READS,
  RELAY_PROTOCOL,
  RELAY_TICKET_PREFIX,
} from "../../contract/debug-sessions/debug-relay.ts";
import type { ErrorCode } from "../../contract/wire/errors.ts";
import type { RelaySide } from "../database/tables/debug-sessions.ts";
import { RATES, type RateLimiter, tooManyRequests } from "../kernel/budgets/rate-limit.ts";
import { toPlatformError } from "../kernel/call/answer.ts";
import type { Engine } from "../kernel/call/execute.ts";
import { requestIdOf } from "../kernel/call/trace.ts";
import { addressBucket, callerAddress, type Trust } from "../kernel/caller-address.ts";
import { invalid, PlatformError, toBody } from "../kernel/errors.ts";
import { linger } from "../kernel/linger.ts";
import { FORWARDED_HEADER, type Forwarder, type HomesRefusal } from "./forward.ts";
import type { Relay } from "./relay.ts";

const PATH = /^\/v1\/debug-sessions\/(dbg_[0-9a-zA-Z]{28})\/(attach|tunnel)(?:\?|$)/;

/**
 * True for WebSocket upgrades of the relay's paths. All other requests stay plain HTTP: an upgrade that they offer is not taken.
 */
export function isRelayUpgrade({ url, headers }: IncomingMessage): boolean {
  return PATH.test(url ?? "") && headers.upgrade?.toLowerCase() === "websocket";
}

export interface UpgradeDeps {
  readonly engine: Engine;
  readonly relay: Relay;
  readonly forwarder: Forwarder;
  readonly limiter: RateLimiter | undefined;
  readonly trustedProxies: Trust;
  readonly log: Logger;
}

/** Checks the ticket before the handshake, so that a refusal is an HTTP answer with the nine-field error. */
export function relayUpgrades(deps: UpgradeDeps): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const { engine, relay, forwarder, log } = deps;
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: RELAY_FRAME_MAX_BYTES,
    maxFragments: RELAY_MESSAGE_MAX_FRAGMENTS,
    maxBufferedChunks: RELAY_MESSAGE_MAX_READS,
    handleProtocols: (protocols) => (protocols.has(RELAY_PROTOCOL) ? RELAY_PROTOCOL : false),
  });
  return (request, socket, head) => {
    const startedMs = engine.clock.monotonicMs();
    const requestId = requestIdOf(request.headers["x-request-id"], engine.clock.wallNow());
    const [, sessionId = "", side = ""] = PATH.exec(request.url ?? "") ?? [];
    const { path } = side === "tunnel" ? debugRelayRoutes.tunnel : debugRelayRoutes.attach;
    const logged = (status: number, code?: ErrorCode): void => {
      const durationMs = engine.clock.monotonicMs() - startedMs;
      engine.metrics.request("GET", path, status, durationMs / 1000);
      if (code !== undefined) engine.metrics.refused(code);
      log.info(
        { requestId, method: "GET", route: path, status, debugSessionId: sessionId, ...(code && { code }) },
        "request",
      );
    };
    // Until the handshake nothing else handles errors of the socket: without this listener an early reset would end the
    // process.
    const onError = (): void => void socket.destroy();
    socket.on("error", onError);
    const admit = async (): Promise<void> => {
      const twice = doubledHeader(request.rawHeaders);
      if (twice !== undefined) throw invalid({ path: `headers.${twice}`, message: "stands in the request twice" });
      const offered = { sessionId, side: side as RelaySide, ticket: ticketOf(request) };
      const entry = await relay.admit(offered, request.headers[FORWARDED_HEADER] !== undefined);
      if (socket.destroyed) return;
      if ("peerUrl" in entry) {
        const refusal = await forwarder.forward({ request, socket, head, requestId, peerUrl: entry.peerUrl });
        logged(refusal?.status ?? 101);
        if (refusal !== undefined) passOn(socket, refusal, requestId, engine.clock);
        return;
      }
      socket.off("error", onError);
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        logged(101);
        engine.metrics.relaySocket(side as RelaySide, 1);
        webSocket.once("close", () => engine.metrics.relaySocket(side as RelaySide, -1));
        relay.join(entry.joining, webSocket);
      });
    };
    admit().catch((thrown: unknown) => {
      const error = limited(deps, request, toPlatformError(thrown));
      if (error.code === "INTERNAL_ERROR") log.error({ err: thrown, requestId, route: path }, "request failed");
      logged(error.spec.status, error.code);
      refuse(socket, error, requestId, engine.clock);
    });
  };
}

/** The ticket is sent as a subprotocol: browsers can set no other header, and URLs are logged. */
function ticketOf({ headers }: IncomingMessage): string {
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim());
  const ticket = offered.find((each) => each.startsWith(RELAY_TICKET_PREFIX))?.slice(RELAY_TICKET_PREFIX.length);
  if (ticket === undefined || !offered.includes(RELAY_PROTOCOL)) throw new PlatformError("TICKET_INVALID");
  return ticket;
}

/** A wrong ticket is paid from the rate limit of its address, like other wrong credentials. */
function limited(
  { limiter, trustedProxies }: UpgradeDeps,
  request: IncomingMessage,
  error: PlatformError,
): PlatformError {
  if (error.spec.status !== 401) return error;
  const allowance = limiter?.take(addressBucket(callerAddress(request, trustedProxies)), RATES.unauthenticated);
  if (allowance === undefined || allowance.allowed) return error;
  return tooManyRequests("unauthenticated", allowance);
}

function refuse(socket: Duplex, error: PlatformError, requestId: string, clock: Clock): void {
  const { status } = error.spec;
  const retryAfter = status === 429 || status === 503 ? String(error.detail.retryAfterSeconds ?? 5) : undefined;
  passOn(socket, { status, retryAfter, body: Buffer.from(JSON.stringify(toBody(error, requestId))) }, requestId, clock);
}

function passOn(socket: Duplex, { status, retryAfter, body }: HomesRefusal, requestId: string, clock: Clock): void {
  const head = [
    `HTTP/1.1 ${status} Refused`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${body.length}`,
    `x-request-id: ${requestId}`,
    "cache-control: no-store",
    "connection: close",
    ...(status === 401 ? ["www-authenticate: Bearer"] : []),
    ...(retryAfter === undefined ? [] : [`retry-after: ${retryAfter}`]),
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  socket.end(body);
  linger(socket, clock);
}
