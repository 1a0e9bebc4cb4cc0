import { once } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import { PassThrough, Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { connectInner } from "../../debug-link/inner-client.ts";
import { newSessionKey } from "../../debug-link/session-key.ts";
import { MemoryEnd } from "../../debug-link/testing/memory-pair.ts";
import type { Connection } from "../../kube/client/connection.ts";
import { tunnelMetrics } from "../kernel/metrics.ts";
import { RequestHandler } from "./request-handler.ts";
import { SessionServer } from "./session-server.ts";

const NOW = new Date();
const [engineer, tunnel] = [newSessionKey("engineer", NOW), newSessionKey("tunnel", NOW)];
const signal = new AbortController().signal;
const PODS = "/api/v1/namespaces/shop/pods";

let servers: SessionServer[];
let thrown: unknown[];
const onThrown = (error: unknown): void => void thrown.push(error);
let quiet: ClientHttp2Session;

beforeEach(async () => {
  [servers, thrown] = [[], []];
  process.on("uncaughtException", onThrown);
  process.on("unhandledRejection", onThrown);
  quiet = await engineerOf(serve().server);
});
/** After each attack: nothing was thrown, and the other session of the process answers. */
afterEach(async () => {
  expect(await statusOf(quiet)).toBe(200);
  for (const server of servers) server.cut();
  await new Promise((done) => setImmediate(done));
  process.off("uncaughtException", onThrown);
  process.off("unhandledRejection", onThrown);
  expect(thrown).toEqual([]);
});

/** A session whose API server answers a list at once, gives a watch without end, and reads nothing of an exec. */
function serve() {
  const told: string[] = [];
  const upgraded: PassThrough[] = [];
  const open: Connection["open"] = async ({ path }) => {
    const body = path.includes("watch=true") ? new PassThrough() : Readable.from([Buffer.from("{}")]);
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
    counts: { requests: 0, denied: 0, bytesIn: 0, bytesOut: 0, lastClientByteMs: 0 },
    onAuditFailed: () => told.push("audit-failed"),
  });
  const server = new SessionServer({
    ...{ key: tunnel, clientPin: engineer.pin, handler, clock: systemClock },
    onAttached: () => told.push("attached"),
    onPinMismatch: () => told.push("pin-mismatch"),
  });
  servers.push(server);
  return { server, told, upgraded };
}

/** The way from an engineer to the tunnel, with `far` at the tunnel. */
function wayTo(server: SessionServer) {
  const [near, far] = MemoryEnd.pair();
  server.attach(far);
  return { near, far };
}

function engineerOf(server: SessionServer, { near } = wayTo(server)): Promise<ClientHttp2Session> {
  return connectInner({ stream: near, key: engineer, peerPin: tunnel.pin, clock: systemClock }, signal);
}

async function statusOf(session: ClientHttp2Session, path = PODS): Promise<unknown> {
  const stream = session.request({ ":path": path });
  stream.resume();
  const [headers] = (await once(stream, "response")) as [Readonly<Record<string, unknown>>];
  return headers[":status"];
}

test("a new epoch is served though the handshake of the one before was never finished", async () => {
  const { server, told } = serve();
  for (let lost = 0; lost < 3; lost += 1) {
    const { near } = wayTo(server);
    const socket = connectTls({ socket: near, rejectUnauthorized: false });
    socket.on("error", () => undefined);
    if (lost > 0) await once(near, "data");
  }
  const session = await engineerOf(server);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((done) => setImmediate(done));
  expect(await statusOf(session)).toBe(200);
  expect(told).toEqual(["attached"]);
});

test("watches that come together are counted before their records are on the disk", async () => {
  const session = await engineerOf(serve().server);
  const found = await Promise.all(Array.from({ length: 60 }, () => statusOf(session, `${PODS}?watch=true`)));
  expect(found.filter((status) => status === 429)).toHaveLength(28);
});

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

test("bodies that are too long are refused, and read away", async () => {
  const { server } = serve();
  const way = wayTo(server);
  const session = await engineerOf(server, way);
  const { far } = way;
  const before = far.received;
  const streams = Array.from({ length: 40 }, () => session.request({ ":method": "POST", ":path": REVIEWS }));
  const answers = streams.map((stream) => once(stream, "response") as Promise<[Readonly<Record<string, unknown>>]>);
  for (const stream of streams) {
    stream.on("error", () => undefined);
    stream.resume();
    stream.write(Buffer.alloc(100_000));
  }
  for (const [headers] of await Promise.all(answers)) expect(headers[":status"]).toBe(413);
  // More than the window in all: what was refused is read away, or the connection would stand still.
  for (const stream of streams) stream.end(Buffer.alloc(300_000));
  await expect.poll(() => far.received - before).toBeGreaterThan(40 * 400_000);
  expect(await statusOf(session)).toBe(200);
});

test("a body that never ends holds its own stream and no other", async () => {
  const session = await engineerOf(serve().server);
  const slow = Array.from({ length: 200 }, () => session.request({ ":method": "POST", ":path": REVIEWS }));
  for (const stream of slow) {
    stream.on("error", () => undefined);
    stream.write("{");
  }
  expect(await statusOf(session)).toBe(200);
  session.destroy();
});

test("what the API server does not read is held up to a bound for all streams together", async () => {
  const { server, upgraded } = serve();
  const way = wayTo(server);
  const session = await engineerOf(server, way);
  const { near, far } = way;
  const exec = { ":method": "CONNECT", ":protocol": "websocket", ":scheme": "https", ":authority": "k" };
  const wanted = { "sec-websocket-protocol": "v5.channel.k8s.io", ":path": `${PODS}/a/exec?command=cat` };
  const streams = Array.from({ length: 32 }, () => session.request({ ...exec, ...wanted }, { endStream: false }));
  await Promise.all(streams.map((stream) => once(stream, "response")));
  for (const stream of streams) {
    stream.on("error", () => undefined);
    stream.write(Buffer.alloc(1_048_576));
  }
  let last = -1;
  while (last !== far.received) {
    last = far.received;
    for (let turn = 0; turn < 50; turn += 1) await new Promise((done) => setImmediate(done));
  }
  // The connection's window is 4 MiB, and Node gives back what it handed to a stream before that one was full.
  expect(upgraded).toHaveLength(32);
  expect(far.received).toBeGreaterThan(1_000_000);
  expect(far.received).toBeLessThan(12 * 1_048_576);
  near.destroy();
});

/** A client of its own making: TLS with the engineer's key, then frames as the attack has them. */
async function rawClient(server: SessionServer) {
  const { near, far } = wayTo(server);
  const socket = connectTls({
    ...{ socket: near, key: engineer.key, cert: engineer.certificate, ALPNProtocols: ["h2"] },
    rejectUnauthorized: false,
  });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return { socket, near, far };
}

function h2(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  [head[3], head[4]] = [type, flags];
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** HPACK, each a literal that is not indexed. */
function hpack(headers: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string): Buffer => {
    const bytes = [Math.min(value.length, 127)];
    for (let left = value.length - 127; left >= 0; left = left < 128 ? -1 : left >> 7) {
      bytes.push(left < 128 ? left : (left & 127) | 128);
    }
    return Buffer.concat([Buffer.from(bytes), Buffer.from(value)]);
  };
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

const [HEADERS, RST, SETTINGS, PING, WINDOW, CONTINUATION] = [1, 3, 4, 6, 8, 9];
const OPENING = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2(SETTINGS, 0, 0)]);
const GET = [
  [":method", "GET"],
  [":scheme", "https"],
  [":authority", "k"],
  [":path", PODS],
] as const;
const CONNECT = [
  [":method", "CONNECT"],
  [":authority", "k"],
] as const;
const EXTENDED = [...CONNECT, [":protocol", "websocket"], [":scheme", "https"], [":path", `${PODS}/a/exec`]] as const;
const many = (count: number, each: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => each(index)));
const ended = (stream: number, headers: readonly (readonly [string, string])[]): Buffer =>
  h2(HEADERS, 5, stream, hpack(headers));

/** `closes`: whether the connection must be gone afterwards; the others are answered, or refused for their stream alone. */
test.each<[string, boolean, () => Buffer]>([
  ["settings", true, () => many(20_000, () => h2(SETTINGS, 0, 0))],
  ["pings", false, () => many(20_000, () => h2(PING, 0, 0, Buffer.alloc(8)))],
  [
    "resets",
    true,
    () => many(2_000, (at) => Buffer.concat([ended(2 * at + 1, GET), h2(RST, 0, 2 * at + 1, Buffer.alloc(4))])),
  ],
  [
    "a header of 1 MB",
    true,
    () =>
      Buffer.concat([
        h2(HEADERS, 1, 1, hpack(GET)),
        many(64, (at) => h2(CONTINUATION, at === 63 ? 4 : 0, 1, hpack([["a".repeat(20), "b".repeat(16_000)]]))),
      ]),
  ],
  [
    "headers that never end",
    true,
    () => Buffer.concat([h2(HEADERS, 1, 1, hpack(GET)), many(5_000, () => h2(CONTINUATION, 0, 1))]),
  ],
  [
    "300 streams at once",
    false,
    () => many(300, (at) => ended(2 * at + 1, [...GET.slice(0, 3), [":path", `${PODS}?watch=true`]])),
  ],
  ["a CONNECT without a protocol", false, () => h2(HEADERS, 4, 1, hpack(CONNECT))],
  ["a CONNECT with a length", false, () => h2(HEADERS, 4, 1, hpack([...EXTENDED, ["content-length", "0"]]))],
  ["a window beyond its limit", true, () => many(2, () => h2(WINDOW, 0, 0, Buffer.from([0x7f, 255, 255, 255])))],
  ["frames of no known type", false, () => many(5_000, (at) => h2(0x20 + (at % 64), 0, 0, Buffer.alloc(16)))],
  ["an answer instead of a request", true, () => ended(2, [[":status", "200"]])],
  ["no HTTP/2 at all", true, () => Buffer.alloc(100_000, "GET / HTTP/1.1\r\n\r\n")],
])("a flood: %s", async (name, closes, bytes) => {
  const { server, told } = serve();
  const { socket, near, far } = await rawClient(server);
  // The attacker reads nothing: what the tunnel answers must not grow in its memory.
  socket.pause();
  const attack = bytes();
  socket.write(name.startsWith("no HTTP/2") ? attack : Buffer.concat([OPENING, attack]));
  if (closes) {
    await expect.poll(() => far.destroyed, { timeout: 5_000 }).toBe(true);
  } else {
    socket.resume();
    await once(socket, "data");
    expect([far.destroyed, near.destroyed]).toEqual([false, false]);
  }
  expect(far.writableLength).toBeLessThan(1_048_576);
  expect(told).toEqual(["attached"]);
  near.destroy();
  // The session itself lives on: the next epoch is served.
  expect(await statusOf(await engineerOf(server))).toBe(200);
});
