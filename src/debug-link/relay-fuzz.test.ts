import { once } from "node:events";
import type { Duplex } from "node:stream";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { runs } from "../base/testing/runs.ts";
import type { EpochStream } from "./epoch-stream.ts";
import { RelaySocket, type SocketEnd } from "./relay-socket.ts";
import { FakeRelay, say } from "./testing/fake-relay.ts";

// A relay that says anything at all. An end of a session refuses it and can connect again; it never throws and keeps
// nothing.

let relay: FakeRelay;
let clock: FakeClock;
let thrown: unknown[];
const onThrown = (error: unknown): void => void thrown.push(error);

beforeEach(async () => {
  relay = await FakeRelay.start();
  [clock, thrown] = [new FakeClock(), []];
  process.on("uncaughtException", onThrown);
  process.on("unhandledRejection", onThrown);
});
afterEach(async () => {
  await relay.close();
  await new Promise((done) => setImmediate(done));
  process.off("uncaughtException", onThrown);
  process.off("unhandledRejection", onThrown);
  expect(thrown).toEqual([]);
});

interface Met {
  readonly socket: WebSocket;
  readonly side: RelaySocket;
  readonly streams: EpochStream[];
}

/** One connection; what its epochs carry is read, unless `isDeaf`. */
async function connected(isDeaf = false): Promise<Met> {
  const streams: EpochStream[] = [];
  const side = new RelaySocket(relay.relayUrl, "t", {
    ...{ clock, random: () => 0.5 },
    onEpoch({ stream }) {
      streams.push(stream);
      if (!isDeaf) stream.resume();
    },
  });
  return { side, streams, socket: await relay.accept() };
}

const epoch = fc.integer({ min: 1, max: 4 });
const frame = fc.oneof(
  epoch.map((each) => JSON.stringify({ type: "peer", epoch: each })),
  fc.constant('{"type":"gone"}'),
  fc.constant('{"type":"until","at":"2026-01-01T13:00:00Z"}'),
  // Leap second: the schema takes it, and Date does not.
  fc.constant('{"type":"until","at":"2026-01-01T23:59:60Z"}'),
  fc.constant('{"type":"close","reason":"idle"}'),
);
/** A frame with bytes of it turned, cut or doubled. */
const bent = fc.tuple(frame, fc.nat(), fc.nat(), fc.string({ maxLength: 4 })).map(([text, from, to, more]) => {
  const [one, other] = [from % text.length, to % text.length];
  return text.slice(0, one) + more + text.slice(other);
});
const message: fc.Arbitrary<string | Buffer> = fc.oneof(
  { weight: 4, arbitrary: frame },
  { weight: 3, arbitrary: bent },
  { weight: 1, arbitrary: fc.string({ maxLength: 2_000 }) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)) },
);

async function isOver({ side, socket }: Met): Promise<SocketEnd> {
  // A side that was refused waits for the answer to its close; one that was not is told to come back.
  if (socket.readyState === socket.OPEN) socket.close(1012);
  return side.ended;
}

test("property: whatever the relay says, a side is served by the next connection, and no timer or stream is left", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 8 }), async (messages) => {
      const met = await connected();
      for (const each of messages) if (met.socket.readyState === met.socket.OPEN) met.socket.send(each);
      await isOver(met);
      expect(met.streams.every(({ destroyed }) => destroyed)).toBe(true);
      // Epochs grow, or the side has refused: an old one is never begun again.
      expect(clock.pending).toBe(0);
    }),
    { numRuns: runs(150) },
  );
  const next = await connected();
  say(next.socket, { type: "peer", epoch: 1 });
  expect(String((await once(next.socket, "message"))[0])).toBe('{"type":"ready","epoch":1}');
  next.socket.terminate();
  await next.side.ended;
});

test("property: bytes that are no WebSocket end the connection, and nothing else", async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.uint8Array({ minLength: 2, maxLength: 600 }), async (isPaired, bytes) => {
      const met = await connected();
      if (isPaired) {
        say(met.socket, { type: "peer", epoch: 1 });
        await once(met.socket, "message");
      }
      const raw = rawOf(met.socket);
      raw.write(bytes);
      raw.end();
      await met.side.ended;
      expect(met.streams.every(({ destroyed }) => destroyed)).toBe(true);
      expect(clock.pending).toBe(0);
    }),
    { numRuns: runs(150) },
  );
});

test("a frame that says it is longer than any may be is refused by its header", async () => {
  const met = await connected();
  say(met.socket, { type: "peer", epoch: 1 });
  await once(met.socket, "message");
  rawOf(met.socket).write(Buffer.from([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0]));
  expect(await met.side.ended).toMatchObject({ is: expect.anything() });
  expect(met.streams[0]?.destroyed).toBe(true);
});

test("what this side does not read stops at the relay's socket", async () => {
  const met = await connected(true);
  say(met.socket, { type: "peer", epoch: 1 });
  await once(met.socket, "message");
  const block = Buffer.alloc(200_000);
  for (let index = 0; index < 200; index += 1) met.socket.send(block);
  const [stream] = met.streams;
  if (stream === undefined) throw new Error("no epoch");
  let last = -1;
  while (last !== stream.readableLength || last === 0) {
    last = stream.readableLength;
    for (let turn = 0; turn < 50; turn += 1) await new Promise((done) => setImmediate(done));
  }
  // The window, and what one read of the socket brought with the frame that filled it.
  expect(stream.readableLength).toBeLessThan(1_500_000);
  expect(met.socket.bufferedAmount).toBeGreaterThan(10_000_000);
  met.socket.terminate();
  stream.destroy();
  await met.side.ended;
});

/** Under the WebSocket. */
function rawOf(socket: WebSocket): Duplex {
  return (socket as unknown as { readonly _socket: Duplex })._socket;
}
