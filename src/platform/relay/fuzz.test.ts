import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { onEachDatabase, overSockets } from "../testing/harness.ts";
import { callsOf, type Session } from "./testing/peer.ts";

// A side that says anything at all. It is refused alone: its session goes on for the other side, and so do all others.

const epoch = fc.integer({ min: 0, max: 5 });
const frame = fc.oneof(
  epoch.map((each) => JSON.stringify({ type: "ready", epoch: each })),
  // A reason that is none: a valid close would end the session.
  fc.constant('{"type":"close","reason":"enough"}'),
  fc.constant('{"type":"peer","epoch":1}'),
);
const message: fc.Arbitrary<string | Buffer> = fc.oneof(
  frame,
  fc.string({ maxLength: 1_200 }),
  fc.json(),
  fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
);

let thrown: unknown[];
const onThrown = (error: unknown): void => void thrown.push(error);
beforeEach(() => {
  thrown = [];
  process.on("uncaughtException", onThrown);
  process.on("unhandledRejection", onThrown);
});
afterEach(async () => {
  await new Promise((done) => setImmediate(done));
  process.off("uncaughtException", onThrown);
  process.off("unhandledRejection", onThrown);
  expect(thrown).toEqual([]);
});

onEachDatabase("the relay's frames", (within) => {
  const world = overSockets(within);
  const { attach, join, start } = callsOf(world);

  /** Both sides in one epoch carry a byte each way. */
  async function carries({ site, id, engineer }: Session): Promise<void> {
    const [client, tunnel] = [await attach(id, engineer), await join(id, site.manager.key)];
    // With a side that was there before the client may have had an epoch of its own.
    const isSame = (): boolean => client.epochs.length > 0 && client.epochs.at(-1) === tunnel.epochs.at(-1);
    await Promise.race([client.saw(isSame), tunnel.saw(isSame)]);
    client.send("in;");
    tunnel.send("out;");
    expect([await tunnel.received(3), await client.received(4)]).toEqual(["in;", "out;"]);
  }

  it("property: whatever one side says, the other one and the next connection are served", async () => {
    const session = await start();
    const other = await start();
    const { id, site, engineer } = session;
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(message, { maxLength: 6 }), async (isClient, messages) => {
        const hostile = isClient ? await attach(id, engineer) : await join(id, site.manager.key);
        for (const each of messages) {
          if (hostile.socket.readyState === hostile.socket.OPEN) hostile.socket.send(each);
        }
        if (hostile.socket.readyState === hostile.socket.OPEN) hostile.socket.close(4_000);
        await hostile.closed;
      }),
      { numRuns: 20 },
    );
    await carries(session);
    other.client.send("on;");
    expect(await other.tunnel.received(3)).toBe("on;");
  });

  it("property: bytes that are no WebSocket end their socket alone", async () => {
    const session = await start();
    const other = await start();
    const { id, engineer } = session;
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 2, maxLength: 400 }), async (bytes) => {
        const hostile = await attach(id, engineer);
        const raw = (hostile.socket as unknown as { readonly _socket: Duplex })._socket;
        raw.write(bytes);
        raw.end();
        await hostile.closed;
      }),
      { numRuns: 20 },
    );
    await carries(session);
    other.client.send("on;");
    expect(await other.tunnel.received(3)).toBe("on;");
  });

  it.each([
    ["fragments of one byte", Buffer.from([0x02, 0x81, 0, 0, 0, 0, 1]), Buffer.from([0x00, 0x81, 0, 0, 0, 0, 1]), 70],
    ["a byte a read", Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0]), Buffer.from([1]), 60_000],
  ])("a message in %s, each of which takes memory, is refused, and its socket alone", async (_, first, next, most) => {
    const session = await start();
    const { id, engineer } = session;
    const hostile = await attach(id, engineer);
    const raw = (hostile.socket as unknown as { readonly _socket: Socket })._socket.setNoDelay(true);
    raw.write(first);
    let isClosed = false;
    void hostile.closed.then(() => {
      isClosed = true;
    });
    // A busy machine reads several writes at once, so it is done until the relay has had enough.
    for (let sent = 0; sent < most && !isClosed; sent += 1) {
      await new Promise((done) => setImmediate(done));
      raw.write(next);
    }
    // Once: a second one at the same time would take the first one's ticket away.
    const carried = carries(session);
    // The message is not whole yet.
    expect(await Promise.race([hostile.closed, carried.then(() => "still there")])).toBe(1008);
    await carried;
  });

  it("property: a handshake of rubbish is refused over HTTP, and a ticket is not used up by it", async () => {
    const session = await start();
    const { hostname, port } = new URL(world.platform.url);
    const line = fc.string({ unit: "binary-ascii", maxLength: 60 }).map((text) => text.replace(/[\r\n]/g, " "));
    const side = fc.constantFrom("attach", "tunnel", "tunnel/..", "%61ttach");
    await fc.assert(
      fc.asyncProperty(side, fc.array(line, { maxLength: 5 }), fc.uint8Array(), async (path, lines, body) => {
        const socket = connect(Number(port), hostname);
        socket.on("error", () => undefined);
        await once(socket, "connect");
        const head = [
          `GET /v1/debug-sessions/${session.id}/${path} HTTP/1.1`,
          ...["host: x", "connection: upgrade", "upgrade: websocket", "sec-websocket-protocol: sp-debug.v2, ticket.x"],
          ...lines.map((each, index) => `x-${index}: ${each}`),
        ];
        socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]));
        socket.end();
        expect(await answerTo(socket)).toMatch(/^(HTTP\/1\.1 4\d\d |$)/);
      }),
      { numRuns: 20 },
    );
    await carries(session);
  });
});

/** What came before the end; nothing when the socket was reset. */
async function answerTo(socket: Socket): Promise<string> {
  const parts: Buffer[] = [];
  socket.on("data", (part: Buffer) => parts.push(part));
  await new Promise((closed) => socket.once("close", closed));
  return Buffer.concat(parts).toString("latin1");
}
