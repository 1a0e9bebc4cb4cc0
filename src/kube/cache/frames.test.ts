import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { DecodeError } from "../projection/protobuf.ts";
import { type FrameSplitter, JsonFrames, type OnFrame, ProtobufFrames } from "./frames.ts";

interface Format {
  readonly name: string;
  readonly frame: (content: Buffer) => Buffer;
  readonly splitter: (onFrame: OnFrame, maxBytes?: number) => FrameSplitter;
  readonly content: fc.Arbitrary<Buffer>;
}

const formats: readonly Format[] = [
  {
    name: "JSON",
    frame: (content) => Buffer.concat([content, Buffer.from("\n")]),
    splitter: (onFrame, maxBytes) => new JsonFrames(onFrame, maxBytes),
    content: fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
      .map((text) => Buffer.from(text.replaceAll("\n", "x"))),
  },
  {
    name: "protobuf",
    frame(content) {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(content.length);
      return Buffer.concat([length, content]);
    },
    splitter: (onFrame, maxBytes) => new ProtobufFrames(onFrame, maxBytes),
    content: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  },
];

describe.each(formats)("$name frames", ({ frame, splitter, content }) => {
  function split(chunks: readonly Buffer[], maxBytes?: number): string[] {
    const seen: string[] = [];
    const frames = splitter((bytes, start, end) => seen.push(bytes.toString("hex", start, end)), maxBytes);
    for (const chunk of chunks) frames.push(chunk);
    return seen;
  }

  test("are the same wherever the chunks end", () => {
    fc.assert(
      fc.property(
        fc.array(content, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        (contents, sizes) => {
          const stream = Buffer.concat(contents.map(frame));
          const chunks: Buffer[] = [];
          for (let at = 0, turn = 0; at < stream.length; turn += 1) {
            const size = sizes[turn % sizes.length] ?? 1;
            chunks.push(stream.subarray(at, at + size));
            at += size;
          }
          expect(split(chunks)).toEqual(contents.map((each) => each.toString("hex")));
        },
      ),
      { numRuns: runs(500) },
    );
  });

  test("are the same when the stream is cut in two at any byte", () => {
    const contents = ["ü", "second", "a somewhat longer third"].map((text) => Buffer.from(text));
    const stream = Buffer.concat(contents.map(frame));
    for (let at = 0; at <= stream.length; at += 1) {
      const seen = split([stream.subarray(0, at), stream.subarray(at)]);
      expect(seen).toEqual(contents.map((each) => each.toString("hex")));
    }
  });

  test("leave an unfinished frame at the end unsaid", () => {
    const stream = frame(Buffer.from("whole"));
    expect(split([stream, stream.subarray(0, stream.length - 1)])).toHaveLength(1);
  });

  test("above the limit are refused before they are held", () => {
    const stream = frame(Buffer.alloc(101, "x"));
    expect(split([frame(Buffer.alloc(100, "x"))], 100)).toHaveLength(1);
    expect(() => split([stream], 100)).toThrow(DecodeError);
    // All but the last byte: still no newline, and still too long.
    expect(() => split([stream.subarray(0, 50), stream.subarray(50, 105)], 100)).toThrow(DecodeError);
  });
});
