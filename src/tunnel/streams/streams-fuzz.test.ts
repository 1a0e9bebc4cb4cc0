import { randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import { channelReader } from "./channels.ts";
import { forwardedPorts } from "./forwarded-ports.ts";
import { SPDY_DICTIONARY } from "./spdy-dictionary.ts";
import { SpdyReader } from "./spdy-reader.ts";
import { WebSocketReader } from "./websocket-reader.ts";

// Bytes as an attacking engineer sends them: nearly right, cut anywhere, lying about their length. A reader that sees
// something else when the same bytes come in other pieces can be led past a check by the sender, who chooses the pieces.

const clock = new FakeClock();
const cuts = fc.array(fc.nat(), { maxLength: 20 });

function pieces(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [...new Set([0, ...at.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  return places.slice(1).map((to, index) => bytes.subarray(places[index], to));
}

/** A frame whose header may lie. */
const frame = fc
  .record({
    first: fc.oneof(fc.constantFrom(0x82, 0x81, 0x02, 0x00, 0x80, 0x89, 0x88), fc.nat(255)),
    mask: fc.option(fc.uint8Array({ minLength: 4, maxLength: 4 }), { nil: undefined }),
    payload: fc.uint8Array({ maxLength: 40 }),
    form: fc.constantFrom(0, 126, 127),
    lie: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { nil: undefined, freq: 8 }),
  })
  .map(({ first, mask, payload, form, lie }) => {
    const length = lie ?? BigInt(payload.length);
    const head = Buffer.alloc(form === 0 ? 2 : form === 126 ? 4 : 10);
    head[0] = first;
    head[1] = (mask === undefined ? 0 : 0x80) | (form === 0 ? Number(length % 126n) : form);
    if (form === 126) head.writeUInt16BE(Number(length % 65_536n), 2);
    if (form === 127) head.writeBigUInt64BE(length, 2);
    return Buffer.concat([head, ...(mask === undefined ? [] : [mask]), payload]);
  });
const webSocket = fc.array(fc.oneof({ weight: 12, arbitrary: frame }, fc.uint8Array({ maxLength: 12 })), {
  maxLength: 12,
});

/** What a listener was told, without the places where pieces were cut. */
function toldOf(chunks: readonly Buffer[]): unknown[] {
  const messages: { bytes: string; isWhole: boolean }[] = [];
  const reader = new WebSocketReader({
    onData(bytes, first, last) {
      if (first) messages.push({ bytes: "", isWhole: false });
      const current = messages.at(-1);
      if (current === undefined) throw new Error("bytes before a first one");
      current.bytes += bytes.toString("hex");
      current.isWhole = last;
    },
  });
  for (const chunk of chunks) reader.push(chunk);
  return [messages, reader.isBroken];
}

test("property: a WebSocket is read the same wherever it is cut, whatever its frames say of themselves", () => {
  fc.assert(
    fc.property(webSocket, cuts, (frames, at) => {
      const wire = Buffer.concat(frames);
      const whole = toldOf([wire]);
      expect(toldOf(pieces(wire, at))).toEqual(whole);
      expect(toldOf([...wire].map((byte) => Buffer.from([byte])))).toEqual(whole);
    }),
    { numRuns: runs(1_000) },
  );
});

/** Masked as a client's, one channel after the other. */
const channel = fc.tuple(fc.constantFrom(0, 1, 2, 3, 4, 255), fc.integer({ min: 0, max: 6_000 }), fc.boolean());

test("property: channels are told the same wherever they are cut; one that is too long is told not at all", () => {
  fc.assert(
    fc.property(fc.array(channel, { maxLength: 5 }), cuts, (messages, at) => {
      const wire = Buffer.concat(
        messages.map(([id, length, isJson]) => {
          const payload = Buffer.alloc(length + 1, isJson ? '{"Width":1}' : "x");
          payload[0] = id;
          const head = Buffer.from([0x82, 126, 0, 0]);
          head.writeUInt16BE(payload.length, 2);
          return Buffer.concat([head, payload]);
        }),
      );
      const tell = (chunks: readonly Buffer[]) => {
        const texts: string[] = [];
        const shown = { 1: "", 2: "" };
        const reader = channelReader({
          onOutput: (id, bytes) => {
            shown[id] += bytes.toString();
          },
          onStatus: (text) => texts.push(`status ${text}`),
          onResize: (text) => texts.push(`resize ${text}`),
        });
        for (const chunk of chunks) reader.push(chunk);
        return { texts, shown };
      };
      const whole = tell([wire]);
      expect(tell(pieces(wire, at))).toEqual(whole);
      const fitting = messages.filter(([id, length]) => (id === 3 || id === 4) && length <= 4_096);
      expect(whole.texts).toHaveLength(fitting.length);
    }),
  );
});

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** SPDY/3.1 of one direction, whose blocks are one zlib stream, as Go's are; `bend` turns a byte of the wire. */
function spdyWire(frames: readonly SpdyFrame[], bend: readonly [number, number] | undefined): Buffer {
  let history = SPDY_DICTIONARY;
  let isFirst = true;
  const wire = frames.map((each) => {
    if (each.is === "data") {
      return Buffer.concat([number(1), withLength(0, each.lie ?? each.bytes.length), Buffer.from(each.bytes)]);
    }
    if (each.is === "control") {
      return Buffer.concat([controlHead(each.type, each.lie ?? each.bytes.length), Buffer.from(each.bytes)]);
    }
    const texts = ["port", each.port, "streamtype", "data"].map((text) => Buffer.from(text));
    const plain = Buffer.concat([number(2), ...texts.flatMap((text) => [number(text.length), text])]);
    const deflated = deflateRawSync(plain, { dictionary: history.subarray(-32_768), finishFlush: 2 });
    history = Buffer.concat([history, plain]);
    const zlib = isFirst ? Buffer.from("78bbe3c6a7c2", "hex") : Buffer.alloc(0);
    isFirst = false;
    const block = Buffer.concat([Buffer.alloc(10), zlib, deflated]);
    return Buffer.concat([controlHead(1, block.length), block]);
  });
  const bytes = Buffer.concat(wire);
  if (bend !== undefined && bytes.length > 0) {
    const place = bend[0] % bytes.length;
    bytes[place] = (bytes[place] ?? 0) ^ (1 + (bend[1] % 255));
  }
  return bytes;
}

function withLength(flags: number, length: number): Buffer {
  const bytes = Buffer.from([flags, 0, 0, 0]);
  bytes.writeUIntBE(length % 2 ** 24, 1, 3);
  return bytes;
}

function controlHead(type: number, length: number): Buffer {
  return Buffer.concat([Buffer.from([0x80, 3, 0, type]), withLength(0, length)]);
}

type SpdyFrame =
  | { readonly is: "stream"; readonly port: string }
  | { readonly is: "data"; readonly bytes: Uint8Array; readonly lie: number | undefined }
  | { readonly is: "control"; readonly type: number; readonly bytes: Uint8Array; readonly lie: number | undefined };

const lie = fc.option(fc.oneof(fc.nat(70_000), fc.constant(2 ** 24 - 1)), { nil: undefined, freq: 8 });
const bytes = fc.uint8Array({ maxLength: 30 });
const spdyFrame: fc.Arbitrary<SpdyFrame> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ is: fc.constant("stream" as const), port: fc.constantFrom("80", "22", "x") }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constant("data" as const), bytes, lie }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant("control" as const), type: fc.nat(12), bytes, lie }) },
);
const spdy = fc
  .tuple(fc.array(spdyFrame, { maxLength: 8 }), fc.option(fc.tuple(fc.nat(), fc.nat()), { nil: undefined }))
  .map(([frames, bend]) => spdyWire(frames, bend));

/** In order; what repeats itself is told once, as pieces of one frame are. */
function spdyTold(chunks: readonly Buffer[]): unknown[] {
  const told: string[] = [];
  const tell = (what: string): void => {
    if (told.at(-1) !== what || what !== "content") told.push(what);
  };
  const onStream = (headers: ReadonlyMap<string, string>): void => tell(`stream ${JSON.stringify([...headers])}`);
  const reader = new SpdyReader({ onStream, onContent: () => tell("content") }, clock);
  for (const chunk of chunks) reader.push(chunk);
  return [told, reader.isBroken];
}

test("property: SPDY is read the same wherever it is cut, also when it is bent or lies about lengths", () => {
  fc.assert(
    fc.property(spdy, cuts, (wire, at) => {
      const whole = spdyTold([wire]);
      expect(spdyTold(pieces(wire, at))).toEqual(whole);
      expect(spdyTold([...wire].map((byte) => Buffer.from([byte])))).toEqual(whole);
    }),
    { numRuns: runs(300) },
  );
});

test("property: however a port-forward is cut or bent, what went up opens no port that was not asked for", () => {
  fc.assert(
    fc.property(fc.boolean(), spdy, cuts, (isWebSocket, plain, at) => {
      const wire = isWebSocket ? inFrames(plain, at) : plain;
      const allowed = forwardedPorts(isWebSocket, [80], () => undefined, clock);
      const up = pieces(wire, at).filter((piece) => allowed.check(piece));
      // The API server, which takes any port.
      const opened: number[] = [];
      forwardedPorts(isWebSocket, undefined, (port, isAllowed) => isAllowed && opened.push(port), clock).check(
        Buffer.concat(up),
      );
      expect(opened.filter((port) => port !== 80)).toEqual([]);
      // Once it is cut, nothing goes up any more.
      const went = Buffer.concat(up);
      expect(wire.subarray(0, went.length).equals(went)).toBe(true);
    }),
    { numRuns: runs(300) },
  );
});

function inFrames(plain: Buffer, at: readonly number[]): Buffer {
  const parts = pieces(plain, at);
  return Buffer.concat(
    parts.flatMap((part) => {
      const head = Buffer.from([0x82, 126, 0, 0]);
      head.writeUInt16BE(part.length, 2);
      return [head, part];
    }),
  );
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Of all buffers, after a collection. */
function heldBytes(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const GIANT_FRAME = Buffer.from([0x82, 127, 0, 0x1f, 255, 255, 255, 255, 255, 255]);
const GIANT_CONTROL = controlHead(6, 2 ** 24 - 1);
const UNFINISHED_BLOCK = Buffer.concat([controlHead(1, 32_768), randomBytes(32_767)]);
const LONG_STATUS = Buffer.concat([GIANT_FRAME, Buffer.from([3])]);

test.each<[string, () => { push(chunk: Buffer): void }, Buffer]>([
  ["a message of 8 PB", () => new WebSocketReader({ onData: () => undefined }), GIANT_FRAME],
  ["a status of 8 PB", () => channelReader({ onStatus: () => undefined }), LONG_STATUS],
  ["a control frame of 16 MB", () => new SpdyReader({}, clock), GIANT_CONTROL],
  ["a block of headers that waits for its last byte", () => new SpdyReader({}, clock), UNFINISHED_BLOCK],
])("a reader keeps little of %s", (_, make, opening) => {
  const readers = Array.from({ length: 100 }, make);
  const before = heldBytes();
  const isWaiting = opening === UNFINISHED_BLOCK;
  const more = Buffer.alloc(65_536, "m");
  for (const reader of readers) {
    reader.push(opening);
    // 13 MB for each; the block gets no byte more, because its last one would end it.
    for (let count = 0; count < 200 && !isWaiting; count += 1) reader.push(more);
  }
  expect((heldBytes() - before) / readers.length).toBeLessThan(50_000);
  // They are still there, and were not collected.
  for (const reader of readers) reader.push(Buffer.alloc(0));
});
