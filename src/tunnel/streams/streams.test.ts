import { constants, createDeflate, type Deflate } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import { channelReader, exitCodeOf } from "./channels.ts";
import { forwardedPorts } from "./forwarded-ports.ts";
import { SPDY_DICTIONARY } from "./spdy-dictionary.ts";
import { SpdyReader } from "./spdy-reader.ts";
import { WebSocketReader } from "./websocket-reader.ts";

function frame(opcode: number, payload: Buffer, { fin = true, mask = 0 } = {}): Buffer {
  const size = payload.length;
  const head = Buffer.alloc(size < 126 ? 2 : size < 65_536 ? 4 : 10);
  head[0] = (fin ? 0x80 : 0) | opcode;
  head[1] = (mask === 0 ? 0 : 0x80) | (size < 126 ? size : size < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(size, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(size), 2);
  if (mask === 0) return Buffer.concat([head, payload]);
  const key = Buffer.alloc(4);
  key.writeUInt32BE(mask);
  return Buffer.concat([head, key, payload.map((byte, at) => byte ^ (key[at % 4] ?? 0))]);
}

function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  return places.slice(1).map((to, at) => bytes.subarray(places[at], to));
}

/** As Go's spdystream compresses: one stream for all blocks, flushed after each. */
async function blockOf(deflate: Deflate, headers: Readonly<Record<string, string>>): Promise<Buffer> {
  const number = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const texts = Object.entries(headers).flat();
  const plain = [
    number(texts.length / 2),
    ...texts.flatMap((text) => [number(text.length), Buffer.from(text, "latin1")]),
  ];
  deflate.write(Buffer.concat(plain));
  await new Promise<void>((done) => deflate.flush(constants.Z_SYNC_FLUSH, () => done()));
  const found: Buffer[] = [];
  for (let chunk: unknown = deflate.read(); chunk instanceof Buffer; chunk = deflate.read()) found.push(chunk);
  return Buffer.concat(found);
}

function control(type: number, body: Buffer): Buffer {
  const head = Buffer.from([0x80, 3, 0, type, 0, 0, 0, 0]);
  head.writeUIntBE(body.length, 5, 3);
  return Buffer.concat([head, body]);
}

async function streamsTo(ports: readonly string[]): Promise<Buffer> {
  const deflate = createDeflate({ dictionary: SPDY_DICTIONARY });
  const frames: Buffer[] = [];
  for (const port of ports) {
    for (const streamtype of ["error", "data"]) {
      const block = await blockOf(deflate, { streamtype, port, requestid: String(frames.length) });
      frames.push(control(1, Buffer.concat([Buffer.alloc(10), block])), Buffer.from([0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3]));
    }
    frames.push(control(6, Buffer.from([0, 0, 0, 1])));
  }
  return Buffer.concat(frames);
}

const clock = new FakeClock();
const cuts = fc.array(fc.nat(), { maxLength: 12 });

test("property: messages are read whole, however they are cut, masked and fragmented", () => {
  const message = fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat({ max: 299 }), { maxLength: 3 }));
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 5 }),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      cuts,
      (messages, mask, at) => {
        const wire = messages.flatMap(([bytes, fragments]) => {
          const parts = pieces(Buffer.from(bytes), fragments);
          const all = parts.length === 0 ? [Buffer.alloc(0)] : parts;
          const frames = all.map((part, index) =>
            frame(index === 0 ? 2 : 0, part, { fin: index === all.length - 1, mask }),
          );
          // A ping may come between two fragments.
          return frames.flatMap((each) => [each, frame(9, Buffer.from("p"), { mask })]);
        });
        const read: Buffer[][] = [];
        const ends: boolean[] = [];
        const reader = new WebSocketReader({
          onData(bytes, first, last) {
            if (first) read.push([]);
            read.at(-1)?.push(bytes);
            if (last) ends.push(true);
          },
        });
        for (const piece of pieces(Buffer.concat(wire), at)) reader.push(piece);
        expect(reader.isBroken).toBe(false);
        const filled = messages.map(([bytes]) => Buffer.from(bytes).toString("hex"));
        expect(read.map((parts) => Buffer.concat(parts).toString("hex")).filter((each) => each !== "")).toEqual(
          filled.filter((each) => each !== ""),
        );
      },
    ),
  );
});

test.each([
  ["compressed", Buffer.from([0xc2, 0])],
  ["an unknown opcode", Buffer.from([0x83, 0])],
  ["a continuation of nothing", Buffer.from([0x80, 0])],
  ["a long ping", Buffer.from([0x89, 126, 0, 126])],
  ["a message in a message", Buffer.from([0x02, 0, 0x82, 0])],
  ["longer than numbers go", Buffer.from([0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255])],
])("a WebSocket that is %s is broken", (_, bytes) => {
  const reader = new WebSocketReader({ onData: () => undefined });
  reader.push(bytes);
  expect(reader.isBroken).toBe(true);
});

test("property: garbage breaks a reader, and throws nothing", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 8 }), (chunks) => {
      const readers = [
        channelReader({ onOutput: () => undefined, onStatus: exitCodeOf, onResize: () => undefined }),
        new SpdyReader({}, clock),
      ];
      const checks = [
        forwardedPorts(true, [80], () => undefined, clock),
        forwardedPorts(false, [80], () => undefined, clock),
      ];
      for (const chunk of chunks.map((each) => Buffer.from(each))) {
        for (const reader of readers) reader.push(chunk);
        for (const each of checks) each.check(chunk);
      }
    }),
    { numRuns: runs(1_000) },
  );
});

test("output, status and sizes are told apart, and stdin is never looked at", () => {
  const told: unknown[] = [];
  const reader = channelReader({
    onOutput: (channel, bytes) => told.push([channel, bytes.toString()]),
    onStatus: (text) => told.push(exitCodeOf(text)),
    onResize: (text) => told.push(text),
  });
  const exit = '{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}';
  const messages = [
    "\u0001out",
    "\u0000secret",
    "\u0002err",
    '\u0004{"Width":1}',
    `\u0003${exit}`,
    '\u0003{"status":"Success"}',
  ];
  for (const message of messages) reader.push(frame(2, Buffer.from(message), { mask: 7 }));
  expect(told).toEqual([[1, "out"], [2, "err"], '{"Width":1}', 3, 0]);
});

test.each([true, false])("ports are named before their bytes go up (WebSocket: %s)", async (isWebSocket) => {
  const wire = await streamsTo(["8080", "9090", "8080"]);
  const sent = isWebSocket ? frame(2, wire, { mask: 0x01020304 }) : wire;
  fc.assert(
    fc.property(cuts, (at) => {
      const told: unknown[] = [];
      const all = forwardedPorts(isWebSocket, undefined, (...each) => told.push(each), clock);
      expect(pieces(sent, at).every((piece) => all.check(piece))).toBe(true);
      expect(told).toEqual([
        [8080, true],
        [9090, true],
      ]);
      const some = forwardedPorts(isWebSocket, [8080], () => undefined, clock);
      const went = Buffer.concat(pieces(sent, at).filter((piece) => some.check(piece)));
      const again: number[] = [];
      const upstream = forwardedPorts(isWebSocket, undefined, (port) => again.push(port), clock);
      upstream.check(went);
      expect(again.includes(9090)).toBe(false);
    }),
  );
});

test("a fragment that holds a whole stream is read before the message ends", async () => {
  const wire = await streamsTo(["22"]);
  const check = forwardedPorts(true, [80], () => undefined, clock);
  expect(check.check(frame(2, wire, { fin: false, mask: 9 }))).toBe(false);
  expect(check.check(frame(0, Buffer.from("x"), { mask: 9 }))).toBe(false);
});

// The kubelet connects to some of these: a session that may use any port must not reach one that its audit does not name.
test.each(["", "0", "0x50", "80,22", "-1", "99999999", "65536", "0000000022", "022", "22\0x", " 22"])(
  "the port %j is none, whichever are allowed",
  async (port) => {
    for (const allowed of [[80], undefined]) {
      const told: unknown[] = [];
      const ports = forwardedPorts(false, allowed, (...each) => told.push(each), clock);
      expect(ports.check(await streamsTo([port]))).toBe(false);
      expect(told).toEqual([[0, false]]);
    }
  },
);

test("headers that would inflate without end break the reader", async () => {
  const deflate = createDeflate({ dictionary: SPDY_DICTIONARY });
  const block = await blockOf(deflate, { port: "0".repeat(1_000_000) });
  const reader = new SpdyReader({}, clock);
  reader.push(control(1, Buffer.concat([Buffer.alloc(10), block])));
  expect(reader.isBroken).toBe(true);
});

test("what keeps a connection alive is not what an engineer says", () => {
  const said: string[] = [];
  const exec = channelReader({ onAny: () => said.push("exec") });
  exec.push(frame(9, Buffer.from("ping")));
  exec.push(frame(10, Buffer.from("pong")));
  const onContent = () => said.push("port");
  const forward = forwardedPorts(false, undefined, () => undefined, clock, onContent);
  const [ping, windowUpdate, settings] = [6, 9, 4];
  for (const type of [ping, windowUpdate, settings]) forward.check(control(type, Buffer.alloc(8)));
  expect(said).toEqual([]);
  exec.push(frame(2, Buffer.from([0, 97])));
  forward.check(Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 97]));
  expect(said).toEqual(["exec", "port"]);
});
