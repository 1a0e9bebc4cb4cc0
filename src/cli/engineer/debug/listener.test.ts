import { once } from "node:events";
import { type IncomingMessage, request as plainRequest } from "node:http";
import type { ClientHttp2Session, ServerHttp2Stream } from "node:http2";
import { Agent, type RequestOptions, request as secureRequest } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { buffer, json, text } from "node:stream/consumers";
import { connect as tlsConnect } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import { cutStream } from "../../../debug-link/cut-stream.ts";
import { connectInner } from "../../../debug-link/inner-client.ts";
import { newSessionKey } from "../../../debug-link/session-key.ts";
import { FakeRelay } from "../../../debug-link/testing/fake-relay.ts";
import { innerServer } from "../../../debug-link/testing/inner-server.ts";
import { streamPair } from "../../../debug-link/testing/stream-pair.ts";
import { answeredUpgrade } from "../../../debug-link/upgrade-wire.ts";
import { type Listener, startListener } from "./listener.ts";

type Seen = Readonly<Record<string, unknown>>;

let relay: FakeRelay;
let listener: Listener;
let inner: ClientHttp2Session | undefined;
let cut: () => void;
/** What reached the far end, and how it answers. */
let seen: Seen[];
let answers: (stream: ServerHttp2Stream, headers: Seen) => void;

beforeEach(async () => {
  relay = await FakeRelay.start();
  seen = [];
  answers = (stream) => {
    stream.respond({ ":status": 200, "content-type": "text/plain" });
    stream.end("from the cluster");
  };
  const [engineer, tunnel] = [newSessionKey("engineer", new Date()), newSessionKey("tunnel", new Date())];
  const server = innerServer(tunnel);
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    seen.push(headers);
    answers(stream, headers);
  });
  const { near, far } = await streamPair(relay);
  near.on("error", () => undefined);
  server.serve(far);
  const { signal } = new AbortController();
  inner = await connectInner({ stream: near, key: engineer, peerPin: tunnel.pin, clock: systemClock }, signal);
  cut = () => near.destroy(new Error("lost"));
  listener = await startListener({ now: new Date(), way: () => inner ?? "the tunnel is away" });
});
afterEach(async () => {
  await listener.close();
  await relay.close();
});

const options = (more: RequestOptions = {}): RequestOptions => ({
  ca: listener.certificate,
  agent: false,
  servername: "",
  // An attacker does not look at the certificate.
  ...("host" in (more.headers ?? {}) && { checkServerIdentity: () => undefined }),
  ...more,
  headers: { authorization: `Bearer ${listener.token}`, ...more.headers },
});

async function ask(path: string, more: RequestOptions = {}, body?: Buffer): Promise<IncomingMessage> {
  const request = secureRequest(`${listener.url}${path}`, options(more));
  request.end(body);
  const [response] = await once(request, "response");
  return response;
}

/** Asks for an upgrade; the answer, and the socket when it was one. */
async function upgrade(protocol: string, more: RequestOptions = {}) {
  const headers = { connection: "Upgrade", upgrade: protocol, ...more.headers };
  const request = secureRequest(`${listener.url}/exec`, options({ ...more, headers }));
  request.end();
  const first = await Promise.race([once(request, "upgrade"), once(request, "response")]);
  return { response: first[0] as IncomingMessage, socket: first[1] as Socket | undefined };
}

describe("the address that kubectl is given", () => {
  it("sends a request on without what names the engineer's machine, and brings the answer back", async () => {
    const response = await ask("/api/v1/pods?watch=1", {
      headers: { accept: "application/json", "x-multi": ["a", "b"] },
    });
    expect([response.statusCode, response.headers["content-type"]]).toEqual([200, "text/plain"]);
    expect(await text(response)).toBe("from the cluster");
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ ":method": "GET", ":path": "/api/v1/pods?watch=1", accept: "application/json" });
    expect(Object.keys(seen[0] ?? {})).not.toContain("authorization");
    expect(JSON.stringify(seen)).not.toContain(listener.token);
    expect(seen[0]?.[":authority"]).toBe("kubernetes");
  });

  it("carries bodies of any size both ways", async () => {
    answers = (stream) => {
      stream.respond({ ":status": 200 });
      stream.pipe(stream);
    };
    const sent = Buffer.alloc(6_000_000, "0123456789");
    const response = await ask("/review", { method: "POST", headers: { "content-length": sent.length } }, sent);
    expect((await buffer(response)).equals(sent)).toBe(true);
  });

  it.each([
    ["another Host", 403, { headers: { host: "evil.example.com" } }],
    ["the Host of this machine by name", 403, { headers: { host: "localhost" } }],
    ["the address without its port", 403, { headers: { host: "127.0.0.1" } }],
    ["a web page", 403, { headers: { origin: "https://evil.example.com" } }],
    ["a page without an origin", 403, { headers: { origin: "null" } }],
    ["no bearer", 401, { headers: { authorization: "" } }],
    ["another bearer", 401, { headers: { authorization: `Bearer ${"x".repeat(43)}` } }],
    ["a bearer that is cut off", 401, { headers: { authorization: "Bearer " } }],
    ["another scheme", 401, { headers: { authorization: "Basic eDp4" } }],
  ])("refuses %s, as a request and as an upgrade", async (_, status, more) => {
    const response = await ask("/api", more);
    expect(response.statusCode).toBe(status);
    expect(await json(response)).toMatchObject({ kind: "Status", status: "Failure", code: status });
    expect(response.headers["access-control-allow-origin"]).toBeUndefined();
    expect(response.headers.connection).toBe("close");
    const upgraded = await upgrade("websocket", more);
    expect(upgraded.response.statusCode).toBe(status);
    expect(await json(upgraded.response)).toMatchObject({ kind: "Status", code: status });
    expect(seen).toEqual([]);
  });

  it("lets a library name the listener's own address as the origin, and does not tell the cluster of it", async () => {
    answers = (stream) => stream.respond({ ":status": 403 }, { endStream: true });
    const own = { headers: { origin: listener.url } };
    await upgrade("websocket", own);
    await ask("/api", own);
    expect(seen).toHaveLength(2);
    expect(JSON.stringify(seen)).not.toContain(listener.url);
    for (const origin of [`${listener.url}/`, listener.url.replace("https", "http"), "https://127.0.0.1"]) {
      expect((await upgrade("websocket", { headers: { origin } })).response.statusCode).toBe(403);
    }
    expect(seen).toHaveLength(2);
  });

  it("keeps no connection of a client that shows no bearer, though that client would", async () => {
    const agent = new Agent({ keepAlive: true });
    const response = await ask("/api", { agent, headers: { authorization: "" } });
    response.resume();
    await once(response.socket, "close");
    agent.destroy();
  });

  it("has a place for kubectl while others open connections and say nothing: the oldest of them go", async () => {
    const { port } = new URL(listener.url);
    const open = async (): Promise<Socket> => {
      const socket = connectTcp(Number(port), "127.0.0.1");
      socket.on("error", () => undefined);
      await once(socket, "connect");
      return socket;
    };
    const silent: Socket[] = [];
    for (let count = 0; count < 32; count += 1) silent.push(await open());
    const first = once(silent[0] as Socket, "close");
    const response = await ask("/api");
    expect(await text(response)).toBe("from the cluster");
    await first;
    expect(silent.filter(({ closed }) => closed)).toHaveLength(1);
    for (const socket of silent) socket.destroy();
  });

  it("waits for a handshake and for the head of a request a short time only", async () => {
    await listener.close();
    listener = await startListener({ now: new Date(), way: () => inner ?? "away", headersMs: 100 });
    const { port } = new URL(listener.url);
    const plain = connectTcp(Number(port), "127.0.0.1");
    const secure = tlsConnect({ port: Number(port), host: "127.0.0.1", ca: listener.certificate });
    const closed = [plain, secure].map((socket) => once(socket.on("error", () => undefined).resume(), "close"));
    secure.write("GET /api HTTP/1.1\r\n");
    await Promise.all(closed);
    const response = await ask("/api");
    expect(await text(response)).toBe("from the cluster");
  });

  it("refuses plain HTTP, h2 alone, and who does not know its certificate", async () => {
    const plain = plainRequest(listener.url.replace("https", "http"));
    plain.end();
    expect((await once(plain, "error"))[0]).toBeInstanceOf(Error);
    const { port } = new URL(listener.url);
    const h2 = tlsConnect({ port: Number(port), host: "127.0.0.1", ca: listener.certificate, ALPNProtocols: ["h2"] });
    expect((await once(h2, "error"))[0].message).toMatch(/application protocol/);
    const stranger = secureRequest(listener.url);
    expect((await once(stranger, "error"))[0].code).toMatch(/SELF_SIGNED/);
    expect(seen).toEqual([]);
  });

  it.each([
    ["websocket", "GET"],
    ["SPDY/3.1", "POST"],
  ])("carries an upgrade to %s", async (protocol, method) => {
    answers = (stream, headers) => {
      expect(headers).toMatchObject({ ":method": "CONNECT", ":protocol": protocol.toLowerCase(), ":path": "/exec" });
      expect(headers["content-length"]).toBeUndefined();
      const accepted = { connection: "Upgrade", upgrade: protocol, "sec-websocket-accept": "abc" };
      stream.respond({ ":status": 200, ...answeredUpgrade(accepted) });
      stream.pipe(stream);
    };
    const headers = { "sec-websocket-key": "k", ...(method === "POST" && { "content-length": "0" }) };
    const { response, socket } = await upgrade(protocol, { method, headers });
    expect(response.statusCode).toBe(101);
    expect(response.headers).toMatchObject({ upgrade: protocol, "sec-websocket-accept": "abc" });
    expect(seen[0]?.["sec-websocket-key"]).toBe("k");
    if (socket === undefined) throw new Error("not upgraded");
    const sent = Buffer.alloc(4_000_000, "abcdefg");
    socket.end(sent);
    expect((await buffer(socket)).equals(sent)).toBe(true);
  });

  it("hands a refused upgrade on as an answer", async () => {
    answers = (stream) => {
      stream.respond({ ":status": 403, "content-type": "application/json" });
      stream.end(JSON.stringify({ kind: "Status", message: "not in this mode" }));
    };
    const { response } = await upgrade("websocket");
    expect(response.statusCode).toBe(403);
    expect(await json(response)).toEqual({ kind: "Status", message: "not in this mode" });
  });

  it.each([
    ["h2c", "GET"],
    ["websocket", "POST"],
    ["spdy/3.1", "GET"],
    ["toString", "GET"],
  ])("does not upgrade to %s by %s", async (protocol, method) => {
    const { response } = await upgrade(protocol, { method });
    expect(response.statusCode).toBe(400);
    expect(seen).toEqual([]);
  });

  it("says in a Status that the tunnel is away", async () => {
    inner = undefined;
    const response = await ask("/api");
    expect([response.statusCode, response.headers["retry-after"]]).toEqual([503, "1"]);
    expect(await json(response)).toMatchObject({
      message: "sallyport: the tunnel is away",
      reason: "ServiceUnavailable",
    });
    expect((await upgrade("websocket")).response.statusCode).toBe(503);
  });

  it("a loss is an error for what is open, never its end", async () => {
    answers = (stream) => {
      stream.respond({ ":status": 200, ...answeredUpgrade({ upgrade: "websocket", connection: "Upgrade" }) });
      stream.write("half of");
    };
    const response = await ask("/api/v1/pods");
    await once(response, "data");
    const { socket } = await upgrade("websocket");
    if (socket === undefined) throw new Error("not upgraded");
    await once(socket, "data");
    const broken = once(response, "error");
    const ended = new Promise<string>((resolve) => {
      for (const how of ["end", "error"]) socket.once(how, () => resolve(how));
    });
    cut();
    expect((await broken)[0].message).toBe("aborted");
    await ended;
  });

  it("a stream that the far end resets is an error here", async () => {
    answers = (stream) => {
      stream.respond({ ":status": 200 });
      stream.write("half of", () => cutStream(stream, "cut"));
    };
    const response = await ask("/api/v1/pods");
    response.resume();
    expect((await once(response, "error"))[0].message).toBe("aborted");
  });

  it("ends a request in the cluster when kubectl goes away", async () => {
    const closed = Promise.withResolvers<void>();
    answers = (stream) => {
      stream.respond({ ":status": 200 });
      stream.write("first");
      stream.once("close", () => closed.resolve());
    };
    const response = await ask("/watch");
    response.on("error", () => undefined);
    await once(response, "data");
    response.destroy();
    await closed.promise;
  });
});
