import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import { forwardedPorts } from "./forwarded-ports.ts";
import { SPDY_DICTIONARY } from "./spdy-dictionary.ts";
import { SpdyReader } from "./spdy-reader.ts";

// What the API server's decoder would read otherwise than the tunnel's, and what would take the tunnel's time.

const ZLIB = Buffer.from("78bbe3c6a7c2", "hex");
const FLUSHED = Buffer.from("000000ffff", "hex");

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function plainOf(headers: readonly (readonly [string, Buffer | string])[]): Buffer {
  const texts = headers.flat().map((each) => Buffer.from(each));
  return Buffer.concat([number(headers.length), ...texts.flatMap((text) => [number(text.length), text])]);
}

/** A stored block: deflated data without compression, as a client may send it. */
function stored(plain: Buffer, first = 0): Buffer {
  const head = Buffer.from([first, 0, 0, 0, 0]);
  head.writeUInt16LE(plain.length, 1);
  head.writeUInt16LE(plain.length ^ 0xffff, 3);
  return Buffer.concat([head, plain]);
}

function synStream(block: Buffer): Buffer {
  const head = Buffer.from([0x80, 3, 0, 1, 0, 0, 0, 0]);
  head.writeUIntBE(10 + block.length, 5, 3);
  return Buffer.concat([head, Buffer.alloc(10), block]);
}

const HONEST = plainOf([
  ["streamtype", "error"],
  ["port", "8080"],
  ["requestid", "0"],
]);

test("a block that ends in the middle of deflated data is cut before the next one goes up", () => {
  const DISTANCE = 529;
  const evilHeaders = (padding: number) =>
    plainOf([
      ["port", "22"],
      ["requestid", "0"],
      ["streamtype", "data"],
      ["z", Buffer.alloc(padding, "p")],
    ]);
  const evil = evilHeaders(258 - evilHeaders(0).length);
  const first = plainOf([
    ["streamtype", "error"],
    ["port", "8080"],
    ["requestid", "0"],
    ["y", Buffer.concat([evil, Buffer.alloc(DISTANCE - 258, "f")])],
  ]);
  expect(first.indexOf(evil)).toBe(first.length - DISTANCE);
  // 0 (not the last), 1 0 (fixed codes), 11000101 (length 258), 10010 (distance 513 and 8 more bits, which are missing).
  const torn = [0, 1, 0, ...[1, 1, 0, 0, 0, 1, 0, 1], ...[1, 0, 0, 1, 0]];
  const tail = Buffer.alloc(2);
  for (const [at, bit] of torn.entries()) tail[at >> 3] = (tail[at >> 3] ?? 0) | (bit << (at & 7));
  // The 8 missing bits for one reader, a stored block's header for another.
  const second = stored(HONEST, DISTANCE - 513);
  const told: unknown[] = [];
  const check = forwardedPorts(false, [8080], (...each) => told.push(each), new FakeClock());
  const opening = synStream(Buffer.concat([ZLIB, stored(first), FLUSHED, tail]));
  expect(check.check(opening)).toBe(false);
  expect(check.check(synStream(Buffer.concat([second, FLUSHED])))).toBe(false);
  expect(told).toEqual([[0, false]]);
  // The same without the torn end passes.
  const honest = forwardedPorts(false, [8080], () => undefined, new FakeClock());
  expect(honest.check(synStream(Buffer.concat([ZLIB, stored(first), FLUSHED])))).toBe(true);
  expect(honest.check(synStream(Buffer.concat([stored(HONEST), FLUSHED])))).toBe(true);
});

test.each([5, 16, 21, 26])("a last block that would swallow %i bytes of what is put behind it breaks", (missing) => {
  // The header's value is longer than what the client sends of it.
  for (const swallowed of [0, 5, 21]) {
    const plain = Buffer.concat([
      plainOf([["port", "8080"]]).subarray(0, -8),
      number(4 + swallowed),
      Buffer.from("8080"),
    ]);
    const head = stored(Buffer.alloc(missing), 1).subarray(0, 5);
    const reader = new SpdyReader({}, new FakeClock());
    reader.push(synStream(Buffer.concat([ZLIB, stored(plain), head])));
    expect(reader.isBroken).toBe(true);
  }
});

test("property: no bits behind a flushed block pass, but for empty blocks", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 4 }), (bits) => {
      const reader = new SpdyReader({}, new FakeClock());
      reader.push(synStream(Buffer.concat([ZLIB, stored(HONEST), FLUSHED, Buffer.from(bits)])));
      expect(reader.isBroken).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

test("what was said long ago is looked back at as far as zlib does", () => {
  const told: string[] = [];
  const reader = new SpdyReader({ onStream: (headers) => told.push(headers.get("port") ?? "") }, new FakeClock());
  let history = SPDY_DICTIONARY;
  for (let each = 0; each < 30; each += 1) {
    const filler = Buffer.from(Array.from({ length: 7_000 }, (_, at) => ((at * (each + 3) * 31) % 251) + 1));
    const plain = plainOf([
      ["port", String(1_000 + each)],
      ["filler", filler],
    ]);
    const dictionary = history.subarray(-32_768);
    // Ends with a stored empty block, as each flush does; the last block of Node's is made one that is not the last.
    const { length } = plain;
    const half = deflateRawSync(plain, { dictionary, finishFlush: 2 });
    expect(half.length).toBeLessThan(length + 100);
    reader.push(synStream(each === 0 ? Buffer.concat([ZLIB, half]) : half));
    history = Buffer.concat([dictionary, plain]);
  }
  expect(reader.isBroken).toBe(false);
  expect(told).toEqual(Array.from({ length: 30 }, (_, each) => String(1_000 + each)));
});

test.each([{ allowed: [8080] }, {}])(
  "floods of headers are cut, what kubectl opens at once is not: %j",
  ({ allowed }) => {
    const clock = new FakeClock();
    const check = forwardedPorts(false, allowed, () => undefined, clock);
    const block = Buffer.concat([stored(HONEST), FLUSHED]);
    expect(check.check(synStream(Buffer.concat([ZLIB, block])))).toBe(true);
    const next = synStream(block);
    const passed = (most: number): number => {
      for (let each = 0; each < most; each += 1) if (!check.check(next)) return each;
      return most;
    };
    // Eight connections at once, two streams each.
    for (let second = 0; second < 20; second += 1) {
      expect(passed(16)).toBe(16);
      clock.advance(1_000);
    }
    expect(passed(1_000)).toBe(200);
    clock.advance(60_000);
    expect(passed(1)).toBe(0);
  },
);

test("a connection opens a bounded number of streams in its life", () => {
  const clock = new FakeClock();
  const check = forwardedPorts(false, undefined, () => undefined, clock);
  const block = Buffer.concat([stored(HONEST), FLUSHED]);
  let passed = Number(check.check(synStream(Buffer.concat([ZLIB, block]))));
  const next = synStream(block);
  for (; passed < 10_000 && check.check(next); passed += 1) clock.advance(20);
  expect(passed).toBe(4_096);
});
