import { once } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import { PassThrough, Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { Registry } from "prom-client";
import { systemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { connectInner } from "../../debug-link/inner-client.ts";
import { newSessionKey } from "../../debug-link/session-key.ts";
import { MemoryEnd } from "../../debug-link/testing/memory-pair.ts";
import type { Connection } from "../../kube/client/connection.ts";
import { tunnelMetrics } from "../kernel/metrics.ts";
import { RequestHandler } from "../serving/request-handler.ts";
import { SessionServer } from "../serving/session-server.ts";

// An engineer who has the session's key, and sends bytes of their own making.

const NOW = new Date();
const [engineer, tunnel] = [newSessionKey("engineer", NOW), newSessionKey("tunnel", NOW)];
const signal = new AbortController().signal;
export const PODS = "/api/v1/namespaces/shop/pods";
const PIECE = 65_536;

/**
 * A session whose API server answers a list at once, a log of a pod with bytes without end, gives a watch nothing, and
 * reads nothing of an exec.
 */
export function servedSession() {
  const told: string[] = [];
  const upgraded: PassThrough[] = [];
  const counts = { requests: 0, denied: 0, refused: undefined, bytesIn: 0, bytesOut: 0, lastClientByteMs: 0 };
  const bodyOf = (path: string): Readable => {
    if (path.includes("watch=true")) return new PassThrough();
    if (!path.endsWith("/log")) return Readable.from([Buffer.from("{}")]);
    return new Readable({
      highWaterMark: PIECE,
      read() {
        this.push(Buffer.alloc(PIECE));
      },
    });
  };
  const open: Connection["open"] = async ({ path }) => {
    const body = bodyOf(path);
    return { status: 200, headers: {}, body } as unknown as Awaited<ReturnType<Connection["open"]>>;
  };
  const upgrade = async () => {
    const socket = new PassThrough({ highWaterMark: 16_384 });
    socket.read = () => null;
    upgraded.push(socket);
    return { status: 101, headers: { upgrade: "websocket" }, socket };
  };
  const handler = new RequestHandler({
    scope: () => ({ mode: "exec", namespace: "shop", recordingRequired: false, leftSeconds: 60 }),
    ...{ ports: undefined, recording: undefined, clock: systemClock, log: silentLogger },
    upstream: () => ({ open, upgrade, request: open }) as unknown as Connection,
    audit: { append: () => new Promise((done) => setImmediate(done)) },
    metrics: tunnelMetrics(new Registry()),
    counts,
    onAuditFailed: () => told.push("audit-failed"),
  });
  const server = new SessionServer({
    ...{ key: tunnel, clientPin: engineer.pin, handler, clock: systemClock },
    onAttached: () => told.push("attached"),
    onPinMismatch: () => told.push("pin-mismatch"),
  });
  return { server, told, upgraded, counts };
}

/** The way from an engineer to the tunnel, with `far` at the tunnel. */
export function wayTo(server: SessionServer) {
  const [near, far] = MemoryEnd.pair();
  server.attach(far);
  return { near, far };
}

export function engineerOf(server: SessionServer, { near } = wayTo(server)): Promise<ClientHttp2Session> {
  return connectInner({ stream: near, key: engineer, peerPin: tunnel.pin, clock: systemClock }, signal);
}

export async function statusOf(session: ClientHttp2Session, path = PODS): Promise<unknown> {
  const stream = session.request({ ":path": path });
  // It ends a moment after its answer: an attack on the way may meet it still open.
  stream.on("error", () => undefined);
  stream.resume();
  const [headers] = (await once(stream, "response")) as [Readonly<Record<string, unknown>>];
  return headers[":status"];
}

/** A client of its own making: TLS with the engineer's key, then frames as the attack has them. */
export async function rawClient(server: SessionServer) {
  const { near, far } = wayTo(server);
  const socket = connectTls({
    ...{ socket: near, key: engineer.key, cert: engineer.certificate, ALPNProtocols: ["h2"] },
    rejectUnauthorized: false,
  });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return { socket, near, far };
}

export function h2(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  [head[3], head[4]] = [type, flags];
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** HPACK, each a literal that is not indexed. */
export function hpack(headers: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string): Buffer => {
    const bytes = [Math.min(value.length, 127)];
    for (let left = value.length - 127; left >= 0; left = left < 128 ? -1 : left >> 7) {
      bytes.push(left < 128 ? left : (left & 127) | 128);
    }
    return Buffer.concat([Buffer.from(bytes), Buffer.from(value)]);
  };
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

export const FRAMES = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST: 3,
  SETTINGS: 4,
  PING: 6,
  GOAWAY: 7,
  WINDOW: 8,
  CONTINUATION: 9,
};
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
export const OPENING = Buffer.concat([PREFACE, h2(FRAMES.SETTINGS, 0, 0)]);
export const GET = [
  [":method", "GET"],
  [":scheme", "https"],
  [":authority", "k"],
  [":path", PODS],
] as const;

export const many = (count: number, each: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => each(index)));
/** A request without a body. */
export const ended = (stream: number, headers: readonly (readonly [string, string])[]): Buffer =>
  h2(FRAMES.HEADERS, 5, stream, hpack(headers));

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((done) => setImmediate(done));
}
