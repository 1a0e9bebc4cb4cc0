import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { connectInner } from "../../debug-link/inner-client.ts";
import { newSessionKey } from "../../debug-link/session-key.ts";
import { FakeRelay } from "../../debug-link/testing/fake-relay.ts";
import { streamPair } from "../../debug-link/testing/stream-pair.ts";
import { type Connection, connect } from "../../kube/client/connection.ts";
import { tunnelMetrics } from "../kernel/metrics.ts";
import type { Scope } from "../requests/judge.ts";
import type { SessionCounts } from "./handler-options.ts";
import { RequestHandler } from "./request-handler.ts";
import { SessionServer } from "./session-server.ts";

const NOW = new Date();
const engineer = newSessionKey("engineer", NOW);
const tunnel = newSessionKey("tunnel", NOW);
const signal = new AbortController().signal;

const BULK = 700_000;

let relay: FakeRelay;
let api: Server;
let sockets: Socket[];
let connection: Connection;
let records: { type: string; fields: Readonly<Record<string, unknown>> }[];
let seen: string[];
let isAuditBroken: boolean;
let shown: string[];
let ends: string[];

beforeEach(async () => {
  [sockets, records, seen, shown, ends, isAuditBroken] = [[], [], [], [], [], false];
  relay = await FakeRelay.start();
  api = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization} ${records.length}`);
    if (request.url?.includes("follow=true")) {
      response.writeHead(200, { "content-type": "text/plain" });
      response.write("first\n");
      return;
    }
    if (request.url?.includes("metadata.name%3Dother")) response.end('{"rows":[]}');
    else response.end('{"kind":"PodList","rows":[{}]}');
  });
  api.on("upgrade", (request, socket: Socket, head) => {
    seen.push(
      `${request.method} ${request.url} ${request.headers.upgrade} ${request.headers["sec-websocket-protocol"]}`,
    );
    sockets.push(socket);
    if (request.url?.includes("denied")) {
      const body = '{"kind":"Status","message":"denied by policy"}';
      socket.end(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      return;
    }
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: a\r\n\r\n",
    );
    if (head.length > 0) socket.write(head);
    if (request.url?.includes("command=bulk")) socket.end(Buffer.concat([1, 2].map(() => longFrame(BULK))));
    socket.on("data", (chunk) => socket.write(chunk));
    socket.on("end", () => socket.end());
    socket.on("error", () => undefined);
  });
  api.listen(0, "127.0.0.1");
  await once(api, "listening");
  const server = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  connection = (await connect({ explicit: { server }, environment: {} })).withToken("session-token");
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  api.closeAllConnections();
  await connection.close();
  await relay.close();
  api.close();
});

function serve(more: Partial<Scope> = {}) {
  const counts: SessionCounts = {
    requests: 0,
    denied: 0,
    refused: undefined,
    bytesIn: 0,
    bytesOut: 0,
    lastClientByteMs: 0,
  };
  const handler = new RequestHandler({
    scope: () => ({ mode: "exec", namespace: "shop", recordingRequired: true, leftSeconds: 60, ...more }),
    ports: undefined,
    upstream: () => connection,
    audit: {
      append(type, fields) {
        if (isAuditBroken) return Promise.reject(new Error("disk"));
        records.push({ type, fields });
        return Promise.resolve();
      },
    },
    recording: {
      event: (code, data) => void shown.push(`${code} ${data}`),
      drained: () => Promise.resolve(),
    },
    clock: systemClock,
    log: silentLogger,
    metrics: tunnelMetrics(new Registry()),
    counts,
    onAuditFailed: () => ends.push("audit-failed"),
  });
  const server = new SessionServer({
    ...{ key: tunnel, clientPin: engineer.pin, handler, clock: systemClock },
    onAttached: () => ends.push("attached"),
    onPinMismatch: () => ends.push("pin-mismatch"),
  });
  return { server, handler, counts };
}

async function attach(server: SessionServer, key = engineer, until = signal): Promise<ClientHttp2Session> {
  const { near, far } = await streamPair(relay);
  server.attach(far);
  return connectInner({ stream: near, key, peerPin: tunnel.pin, clock: systemClock }, until);
}

async function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders) {
  const stream = session.request(headers, {
    endStream: headers[":method"] !== "POST" && headers[":method"] !== "CONNECT",
  });
  const [answer] = (await once(stream, "response")) as [Readonly<Record<string, unknown>>];
  return { stream, answer };
}
/** Of a stream that ended whole. */
async function text(stream: ClientHttp2Stream): Promise<string> {
  const parts: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => parts.push(chunk));
  if (!stream.closed || !stream.readableEnded) await once(stream, "end");
  expect(stream.rstCode).toBe(0);
  return Buffer.concat(parts).toString();
}
const get = (path: string) => ({ ":method": "GET", ":path": path });
const PODS = "/api/v1/namespaces/shop/pods";
const exec = (pod: string): OutgoingHttpHeaders => ({
  ...{ ":method": "CONNECT", ":protocol": "websocket", ":scheme": "https", ":authority": "kubernetes" },
  ":path": `${PODS}/${pod}/exec?command=sh&command=-c&command=PASSWORD%3Dhunter2&container=web&tty=true`,
  ...{ "sec-websocket-protocol": "v5.channel.k8s.io", "sec-websocket-extensions": "permessage-deflate" },
});

test("a request goes up with the session's token, after its record, and counts", async () => {
  const { server, counts } = serve();
  const session = await attach(server);
  const { stream, answer } = await ask(session, { ...get(PODS), authorization: "Bearer mine" });
  expect(answer[":status"]).toBe(200);
  expect(await text(stream)).toContain("PodList");
  expect(seen).toEqual([`GET ${PODS} Bearer session-token 1`]);
  expect(records).toMatchObject([{ type: "request", fields: { verb: "list", resource: "pods", namespace: "shop" } }]);
  expect(counts).toMatchObject({ requests: 1, denied: 0 });
  server.cut();
});

test("a refusal is the API server's form of an error, recorded, and nothing goes up", async () => {
  const { server, counts } = serve();
  const session = await attach(server);
  const { stream, answer } = await ask(session, get("/api/v1/namespaces/kube-system/pods"));
  expect(answer[":status"]).toBe(403);
  expect(JSON.parse(await text(stream))).toMatchObject({ kind: "Status", reason: "Forbidden" });
  expect([seen, records[0]?.type, records[0]?.fields.reason, counts.denied]).toEqual([[], "denied", "namespace", 1]);
  server.cut();
});

test("a pod beyond the selector is refused by its labels", async () => {
  const { server } = serve({ selector: "app=web" });
  const session = await attach(server);
  const other = await ask(session, get(`${PODS}/other`));
  expect(other.answer[":status"]).toBe(403);
  expect((await ask(session, get(`${PODS}/web-1`))).answer[":status"]).toBe(200);
  server.cut();
});

test("without a record nothing goes up, and the session ends", async () => {
  const { server } = serve();
  const session = await attach(server);
  isAuditBroken = true;
  expect((await ask(session, get(PODS))).answer[":status"]).toBe(502);
  expect(seen).toEqual([]);
  expect(ends).toContain("audit-failed");
  server.cut();
});

test("another key than the session's is thrown out", async () => {
  const { server } = serve();
  const stop = new AbortController();
  const refused = attach(server, newSessionKey("other", NOW), stop.signal).catch(() => "refused");
  await expect.poll(() => ends).toEqual(["pin-mismatch"]);
  stop.abort(new Error("enough"));
  await refused;
  expect(seen).toEqual([]);
});

function frame(payload: string): Buffer {
  return Buffer.concat([Buffer.from([0x82, payload.length]), Buffer.from(payload)]);
}

/** So much output, as it comes from the API server. */
function longFrame(bytes: number): Buffer {
  const head = Buffer.alloc(11);
  head.set([0x82, 127]);
  head.writeBigUInt64BE(BigInt(bytes + 1), 2);
  head[10] = 1;
  return Buffer.concat([head, Buffer.alloc(bytes, "a")]);
}

test("an exec passes both ways, is recorded, and ends whole; its secrets are not in the audit", async () => {
  const { server, counts } = serve();
  const session = await attach(server);
  const { stream, answer } = await ask(session, exec("web-1"));
  expect(answer).toMatchObject({ ":status": 200, "upgraded-sec-websocket-accept": "a" });
  // What the API server says comes back: here it says what it is told.
  stream.write(frame("\u0001hello"));
  stream.write(frame('\u0003{"status":"Success"}'));
  stream.end();
  expect(await text(stream)).toContain("hello");
  expect(stream.rstCode).toBe(0);
  expect(seen[0]).toMatch(/^GET .* websocket v5\.channel\.k8s\.io$/);
  expect(records[0]?.fields.command).toEqual(["sh", "-c", "PASSWORD=[redacted]"]);
  await expect.poll(() => records.at(-1)).toMatchObject({ type: "stream", fields: { id: 1, exitCode: 0 } });
  expect(shown).toEqual(["m exec 1 begins in web-1/web", "o hello", "m exec 1 ends with exit code 0"]);
  expect(counts.bytesIn).toBeGreaterThan(0);
  server.cut();
});

test("two execs at once are in one recording, and it says whose each output is", async () => {
  const { server } = serve();
  const session = await attach(server);
  const [first, second] = [await ask(session, exec("web-1")), await ask(session, exec("web-2"))];
  for (const [stream, word] of [
    [first.stream, "one"],
    [second.stream, "two"],
    [first.stream, "three"],
  ] as const) {
    stream.write(frame(`\u0001${word}`));
    await expect.poll(() => shown.at(-1)).toBe(`o ${word}`);
  }
  for (const { stream } of [first, second]) {
    stream.end();
    await text(stream);
  }
  await expect
    .poll(() => shown)
    .toEqual([
      ...["m exec 1 begins in web-1/web", "m exec 2 begins in web-2/web", "m exec 1 goes on", "o one"],
      ...["m exec 2 goes on", "o two", "m exec 1 goes on", "o three", "m exec 1 ends", "m exec 2 ends"],
    ]);
  server.cut();
});

test.each([
  ["neither a terminal nor input", true, ""],
  ["a terminal", false, "&tty=true"],
  ["input", false, "&stdin=true"],
  ["a value taken out of its command", false, "&command=TOKEN%3D%2Ftmp%2Fx"],
])("the recording of an exec with %s is cut after 1 MiB: %s", async (_, isCut, words) => {
  const { server } = serve();
  const session = await attach(server);
  const path = `${PODS}/web-1/exec?command=bulk${words}`;
  const { stream } = await ask(session, { ...exec("web-1"), ":path": path });
  stream.end();
  expect((await text(stream)).length).toBe(2 * longFrame(BULK).toString().length);
  await expect.poll(() => shown.at(-1)).toBe("m exec 1 ends");
  const output = shown.filter((each) => each.startsWith("o ")).reduce((sum, each) => sum + each.length - 2, 0);
  expect(output).toBe(isCut ? 1_048_576 : 2 * BULK);
  expect(shown.includes("m exec 1 is recorded no further: 1048576 bytes without input")).toBe(isCut);
  server.cut();
});

test("an upgrade that the API server refuses is told with its status and words", async () => {
  const { server } = serve();
  const { stream, answer } = await ask(await attach(server), exec("denied"));
  expect(answer[":status"]).toBe(403);
  expect(await text(stream)).toContain("denied by policy");
  server.cut();
});

test("what cannot be recorded is broken off, and never looks whole", async () => {
  const { server } = serve();
  const { stream } = await ask(await attach(server), exec("web-1"));
  const error = once(stream, "error");
  stream.write(Buffer.alloc(20, 0xff));
  await error;
  expect(stream.rstCode).not.toBe(0);
  server.cut();
});

test("a cut destroys what is open at the API server, and the engineer sees a loss", async () => {
  const { server, handler } = serve();
  const session = await attach(server);
  const { stream } = await ask(session, exec("web-1"));
  const log = await ask(session, get(`${PODS}/web-1/log?follow=true`));
  const lost = Promise.all([stream, log.stream].map((each: ClientHttp2Stream) => once(each, "close")));
  for (const each of [stream, log.stream]) each.on("error", () => undefined).resume();
  const gone = once(sockets[0] as Socket, "close");
  handler.cut();
  server.cut();
  await Promise.all([lost, gone]);
});

test("the engineer's loss destroys what was open, and the next epoch serves again", async () => {
  const { server } = serve();
  const session = await attach(server);
  const { stream } = await ask(session, exec("web-1"));
  stream.on("error", () => undefined);
  const gone = once(sockets[0] as Socket, "close");
  session.destroy();
  await gone;
  const again = await attach(server);
  expect((await ask(again, get(PODS))).answer[":status"]).toBe(200);
  server.cut();
});

test("a review has a body of its own kind, and no other", async () => {
  const { server } = serve();
  const session = await attach(server);
  const post = { ":method": "POST", ":path": "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" };
  const send = async (body: string): Promise<unknown> => {
    const stream = session.request(post);
    stream.end(body);
    const [answer] = (await once(stream, "response")) as [Readonly<Record<string, unknown>>];
    stream.resume();
    return answer[":status"];
  };
  expect(await send('{"kind":"SelfSubjectAccessReview"}')).toBe(200);
  expect(await send('{"kind":"Secret"}')).toBe(400);
  expect(await send("x".repeat(70_000))).toBe(413);
  server.cut();
});
