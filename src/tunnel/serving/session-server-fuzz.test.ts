import { once } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { attackedProcess } from "../testing/attacked-process.ts";
import {
  ended,
  engineerOf,
  FRAMES,
  GET,
  h2,
  hpack,
  many,
  OPENING,
  PODS,
  PREFACE,
  rawClient,
  statusOf,
  turns,
  wayTo,
} from "../testing/raw-engineer.ts";
import type { SessionServer } from "./session-server.ts";

// Rubbish where TLS should be, and rubbish inside of TLS from an engineer who has the key.

const serve = attackedProcess();

const rubbish = fc.uint8Array({ minLength: 1, maxLength: 400 }).map((bytes) => Buffer.from(bytes));
/** A record's header that is right, before what is not. */
const record = fc
  .tuple(fc.constantFrom(20, 21, 22, 23, 24), fc.nat(0x4200), rubbish)
  .map(([type, length, bytes]) => Buffer.concat([Buffer.from([type, 3, 1, length >> 8, length & 255]), bytes]));

test("property: what is no ClientHello begins nothing, and the next epoch is served", async () => {
  const { server, told } = serve();
  await fc.assert(
    fc.asyncProperty(fc.oneof(rubbish, record), async (bytes) => {
      const { near, far } = wayTo(server);
      near.write(bytes);
      await turns(5);
      expect(far.writableLength).toBeLessThan(1_000);
    }),
    { numRuns: runs(100) },
  );
  expect(told).toEqual([]);
  expect(await statusOf(await engineerOf(server))).toBe(200);
});

/** A frame of any kind, on one of a few streams, often with a length that is not its own. */
const frame = fc
  .tuple(
    fc.oneof(fc.constantFrom(...Object.values(FRAMES)), fc.nat(255)),
    fc.oneof(fc.constantFrom(0, 1, 4, 5, 8, 32), fc.nat(255)),
    fc.oneof(fc.constantFrom(0, 1, 3, 5), fc.nat(2 ** 31 - 1)),
    fc.oneof(rubbish, fc.constant(hpack(GET)), fc.constant(Buffer.alloc(4)), fc.constant(Buffer.alloc(0))),
    fc.option(fc.nat(2 ** 24 - 1), { nil: undefined, freq: 6 }),
  )
  .map(([type, flags, stream, payload, lie]) => {
    const bytes = h2(type, flags, stream, payload);
    if (lie !== undefined) bytes.writeUIntBE(lie, 0, 3);
    return bytes;
  });

test("property: no frames of an engineer's own making throw, and the next epoch is served", async () => {
  const { server } = serve();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(OPENING, PREFACE, Buffer.alloc(0)),
      fc.array(fc.oneof({ weight: 5, arbitrary: frame }, rubbish), { maxLength: 12 }),
      async (opening, frames) => {
        const { socket, near, far } = await rawClient(server);
        socket.resume();
        socket.write(Buffer.concat([opening, ...frames]));
        await turns(10);
        expect(far.writableLength).toBeLessThan(1_048_576);
        near.destroy();
      },
    ),
    { numRuns: runs(60) },
  );
  expect(await statusOf(await engineerOf(server))).toBe(200);
});

const window = (bytes: number): Buffer => {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return payload;
};
/** SETTINGS with one value. */
const setting = (id: number, value: number): Buffer =>
  h2(FRAMES.SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, id]), window(value)]));
const LOG = [...GET.slice(0, 3), [":path", `${PODS}/api-0/log`]] as const;
const [INITIAL_WINDOW, HEADER_TABLE] = [4, 1];

test("windows of 0: what the API server would say waits there, whatever the number of streams", async () => {
  const { server, counts } = serve();
  const { socket, near, far } = await rawClient(server);
  socket.resume();
  socket.write(Buffer.concat([PREFACE, setting(INITIAL_WINDOW, 0), many(2_000, (index) => ended(2 * index + 1, LOG))]));
  let last = -1;
  while (last !== counts.bytesOut || last === 0) {
    last = counts.bytesOut;
    await turns(100);
  }
  // Two pieces of 64 KiB for each of the 256 streams that may be there at once; without a limit it would be 2,000.
  expect(counts.requests).toBeLessThanOrEqual(256);
  expect(counts.bytesOut).toBeLessThan(256 * 2 * 65_536 + 1);
  expect(far.writableLength).toBeLessThan(1_048_576);
  near.destroy();
  expect(await statusOf(await engineerOf(server))).toBe(200);
});

/** `closes`: whether the connection must be gone afterwards. */
test.each<[string, boolean, () => Buffer]>([
  ["empty DATA frames", true, () => Buffer.concat([post(1), many(20_000, () => h2(FRAMES.DATA, 0, 1))])],
  ["window updates of 0", true, () => many(2_000, () => h2(FRAMES.WINDOW, 0, 0, window(0)))],
  ["window updates of 1", false, () => many(20_000, () => h2(FRAMES.WINDOW, 0, 0, window(1)))],
  ["priorities", false, () => many(20_000, (at) => h2(FRAMES.PRIORITY, 0, 2 * at + 1, Buffer.alloc(5)))],
  ["goodbyes", false, () => many(2_000, () => h2(FRAMES.GOAWAY, 0, 0, Buffer.alloc(8)))],
  ["header tables that grow and shrink", false, () => many(30, (at) => setting(HEADER_TABLE, at % 2 ? 2 ** 31 : 0))],
  ["DATA of a stream that is not there", true, () => many(100, () => h2(FRAMES.DATA, 0, 7, Buffer.alloc(100)))],
  ["a header in capitals", false, () => ended(1, [...GET, ["Accept", "x"]])],
  ["a header block that is cut", true, () => h2(FRAMES.HEADERS, 5, 1, hpack(GET).subarray(0, -3))],
  ["streams that go backwards", false, () => Buffer.concat([ended(9, GET), ended(3, GET)])],
])("a flood: %s", async (_, closes, bytes) => {
  const { server, told } = serve();
  const { socket, near, far } = await rawClient(server);
  // The attacker reads nothing: what the tunnel answers must not grow in its memory.
  socket.pause();
  socket.write(Buffer.concat([OPENING, bytes()]));
  if (closes) await expect.poll(() => far.destroyed).toBe(true);
  else {
    // The tunnel's own settings and what it answered.
    socket.resume();
    await once(socket, "data");
    expect(far.destroyed).toBe(false);
  }
  expect(far.writableLength).toBeLessThan(1_048_576);
  expect(told).toEqual(["attached"]);
  near.destroy();
  expect(await statusOf(await engineerOf(server))).toBe(200);
});

test("a header that the table repeats 4,000 times is 16 MB, and no request", async () => {
  const { server, counts } = serve();
  const { socket, near, far } = await rawClient(server);
  socket.write(Buffer.concat([OPENING, bomb(4_000)]));
  await once(socket, "data");
  await turns(20);
  expect(counts.requests).toBe(0);
  // Once is a request, so it was the size.
  socket.write(bomb(1, 3));
  await expect.poll(() => counts.requests).toBe(1);
  expect(far.writableLength).toBeLessThan(1_048_576);
  near.destroy();
  expect(await statusOf(await engineerOf(server))).toBe(200);
});

/** A request whose body may come. */
function post(stream: number): Buffer {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  return h2(FRAMES.HEADERS, 4, stream, hpack([[":method", "POST"], ...GET.slice(1, 3), [":path", path]]));
}

/** One long header, put into the table, and then one byte for each time that it is meant. */
function bomb(times: number, stream = 1): Buffer {
  const long = Buffer.concat([Buffer.from([0x40, 1]), Buffer.from("a"), Buffer.from([127, 0x81, 0x1e])]);
  const value = Buffer.alloc(4_000, "b");
  // 127 + 1 + 30 · 128 is 3,968.
  const entry = Buffer.concat([long, value.subarray(0, 3_968)]);
  return h2(FRAMES.HEADERS, 5, stream, Buffer.concat([hpack(GET), entry, Buffer.alloc(times, 0x80 | 62)]));
}

/** The way through a relay that keeps what the engineer sends, and may send something else instead. */
function throughRelay(server: SessionServer) {
  const way = wayTo(server);
  const heard: Buffer[] = [];
  const relay = { heard, instead: (bytes: Buffer): Buffer => bytes };
  const write = way.near._write.bind(way.near);
  way.near._write = (chunk: Buffer, encoding, done) => {
    heard.push(Buffer.from(chunk));
    write(relay.instead(chunk), encoding, done);
  };
  return { way, relay };
}

test("bytes of one epoch begin no other: replayed by a relay, they are no engineer's and ask for nothing", async () => {
  const { server, told, counts } = serve();
  const { way, relay } = throughRelay(server);
  expect(await statusOf(await engineerOf(server, way))).toBe(200);
  const before = { told: [...told], requests: counts.requests };
  expect(before).toEqual({ told: ["attached"], requests: 1 });
  const { near, far } = wayTo(server);
  for (const bytes of relay.heard) near.write(bytes);
  await expect.poll(() => far.destroyed).toBe(true);
  expect({ told, requests: counts.requests }).toEqual(before);
  expect(await statusOf(await engineerOf(server))).toBe(200);
});

test.each<[string, (bytes: Buffer) => Buffer]>([
  ["changes", (bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([(bytes.at(-1) ?? 0) ^ 1])])],
  ["adds", (bytes) => Buffer.concat([Buffer.from([0x17]), bytes])],
  ["leaves out", (bytes) => bytes.subarray(1)],
  ["says twice", (bytes) => Buffer.concat([bytes, bytes])],
])("what a relay %s ends the epoch, and is asked of no API server", async (name, bend) => {
  // The engineer's own one may have come through before its copy.
  const most = name === "says twice" ? 2 : 1;
  const { server, counts } = serve();
  const { way, relay } = throughRelay(server);
  const session = await engineerOf(server, way);
  expect(await statusOf(session)).toBe(200);
  let isBent = false;
  relay.instead = (bytes) => {
    if (isBent) return bytes;
    isBent = true;
    return bend(bytes);
  };
  const asked = session.request({ ":path": PODS });
  asked.on("error", () => undefined);
  asked.resume();
  await expect.poll(() => way.far.destroyed).toBe(true);
  expect(counts.requests).toBeLessThanOrEqual(most);
  expect(await statusOf(await engineerOf(server))).toBe(200);
});
