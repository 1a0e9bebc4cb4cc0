import { once } from "node:events";
import { createServer, connect as netConnect, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../base/clock.ts";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { connectInner, PinMismatch } from "./inner-client.ts";
import { newSessionKey, pinOf } from "./session-key.ts";
import { FakeRelay } from "./testing/fake-relay.ts";
import { innerServer } from "./testing/inner-server.ts";
import { streamPair } from "./testing/stream-pair.ts";

let relay: FakeRelay;
beforeAll(async () => {
  relay = await FakeRelay.start();
});
afterAll(() => relay.close());

const now = new Date();
const [engineer, tunnel] = [newSessionKey("engineer", now), newSessionKey("tunnel", now)];
const signal = new AbortController().signal;

function connected(stream: Duplex, peerPin = tunnel.pin, clock = systemClock) {
  return connectInner({ stream, key: engineer, peerPin, clock }, signal);
}

describe("the client's end of the inner connection", () => {
  it("shows its key, and asks over HTTP/2", async () => {
    const server = innerServer(tunnel);
    const pins: string[] = [];
    server.on("stream", (stream) => {
      const socket = stream.session?.socket as TLSSocket | undefined;
      pins.push(socket === undefined ? "none" : pinOf(socket.getPeerCertificate().raw));
      stream.respond({ ":status": 200 });
      stream.end("hello");
    });
    const { near, far } = await streamPair(relay);
    server.serve(far);
    const session = await connected(near);
    expect(session.state.effectiveLocalWindowSize).toBe(4 * 1024 * 1024);
    expect(await text(session.request({ ":path": "/" }))).toBe("hello");
    expect(pins).toEqual([engineer.pin]);
    session.close();
    await once(near, "close");
  });

  it("carries an upgrade in both directions at once", async () => {
    const server = innerServer(tunnel);
    server.on("stream", (stream, headers) => {
      expect([headers[":method"], headers[":protocol"]]).toEqual(["CONNECT", "websocket"]);
      stream.respond({ ":status": 200 });
      stream.pipe(stream);
    });
    const { near, far } = await streamPair(relay);
    server.serve(far);
    const session = await connected(near);
    const stream = session.request(
      { ":method": "CONNECT", ":protocol": "websocket", ":scheme": "https", ":path": "/exec", ":authority": "x" },
      { endStream: false },
    );
    const sent = Buffer.alloc(3_000_000, "0123456789");
    stream.end(sent);
    expect((await buffer(stream)).equals(sent)).toBe(true);
    session.destroy();
  });

  it("refuses another key than the record's", async () => {
    const server = innerServer(newSessionKey("other", now));
    const { near, far } = await streamPair(relay);
    server.serve(far);
    await expect(connected(near)).rejects.toThrow(PinMismatch);
    expect(near.destroyed).toBe(true);
  });

  it.each([
    ["TLS 1.2", { minVersion: "TLSv1.2", maxVersion: "TLSv1.2" }],
    ["no upgrades", { settings: {} }],
  ])("refuses %s", async (_, more) => {
    const server = innerServer(tunnel, more);
    const { near, far } = await streamPair(relay);
    server.serve(far);
    await expect(connected(near)).rejects.toThrow();
    expect(near.destroyed).toBe(true);
  });

  it("ends with the connection below, and its streams with an error", async () => {
    const server = innerServer(tunnel);
    server.on("stream", (stream) => stream.respond({ ":status": 200 }));
    const { near, far } = await streamPair(relay);
    server.serve(far);
    const session = await connected(near);
    const stream = session.request({ ":path": "/" });
    await once(stream, "response");
    near.on("error", () => undefined);
    near.destroy(new Error("lost"));
    const [error] = await once(stream, "error");
    expect(error).toBeInstanceOf(Error);
    expect(session.destroyed).toBe(true);
  });

  it("fails at once when the connection is gone before it begins, or goes before the first settings", async () => {
    const clock = new FakeClock();
    const { near } = await streamPair(relay);
    near.destroy();
    await once(near, "close");
    await expect(connected(near, tunnel.pin, clock)).rejects.toThrow("the connection was lost");
    const { key, certificate: cert } = tunnel;
    // TLS alone: the settings never come.
    const silent = createTlsServer({ key, cert, ALPNProtocols: ["h2"] });
    for (const last of [1, 2]) {
      const pair = await streamPair(relay);
      const receive = pair.near.receive.bind(pair.near);
      let chunks = 0;
      pair.near.receive = (data) => {
        chunks += 1;
        receive(data);
        if (chunks === last) setImmediate(() => pair.near.destroy());
      };
      silent.emit("connection", pair.far);
      await expect(connected(pair.near, tunnel.pin, clock)).rejects.toThrow("the connection was lost");
    }
    expect(clock.pending).toBe(0);
  });

  it("leaves an end that says nothing, and one that talks garbage", async () => {
    const clock = new FakeClock();
    const { near } = await streamPair(relay);
    const silent = connected(near, tunnel.pin, clock);
    clock.advance(15_000);
    await expect(silent).rejects.toThrow();
    expect(near.destroyed).toBe(true);
    const garbage: Server = createServer((socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    garbage.listen(0, "127.0.0.1");
    await once(garbage, "listening");
    const { port } = garbage.address() as { port: number };
    await expect(connected(netConnect(port, "127.0.0.1"))).rejects.toThrow();
    garbage.close();
  });
});
