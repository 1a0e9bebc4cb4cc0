import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { bytesField, intField, mapField, textField, varint } from "../testing/protobuf-writer.ts";
import { bool, entries, int, interned, list, map, microTime, optional, quantity, string, time } from "./field-types.ts";
import { Interner } from "./interner.ts";
import { field, jsonProjection, message, type Projected } from "./projection.ts";
import { DecodeError, ProtobufInput } from "./protobuf.ts";
import type { podShape } from "./shapes.ts";

const innerShape = message({ label: field(1, interned), count: field(2, int), seen: field(9, optional(time)) });
const shape = message({
  name: field(1, string),
  size: field(3, int),
  replicas: field(4, optional(int)),
  ready: field(5, bool),
  labels: field(11, map(interned)),
  inner: field(12, innerShape),
  maybe: field(13, optional(innerShape)),
  items: field(20, list(innerShape)),
  words: field(21, list(string)),
  at: field(22, time),
  precisely: field(23, microTime),
  notes: field(24, entries(["k", "--"], string)),
  limits: field(300, map(quantity)),
});
type Thing = Projected<typeof shape>;
type Inner = Projected<typeof innerShape>;

function decode(bytes: Buffer): Thing {
  const input = new ProtobufInput(new Interner(4));
  input.bytes = bytes;
  return shape.fromProtobuf(input, bytes.length);
}

/** The straightforward way: every field of the message into a table first, then picked by number. */
function decodeFully(bytes: Buffer): Map<number, (bigint | Buffer)[]> {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let at = 0;
  const next = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = next();
    const number = Number(tag >> 3n);
    const wire = Number(tag & 7n);
    let value: bigint | Buffer;
    if (wire === 0) value = next();
    else {
      const length = wire === 2 ? Number(next()) : wire === 1 ? 8 : 4;
      value = bytes.subarray(at, at + length);
      at += length;
    }
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const asText = (value: bigint | Buffer | undefined): string => (value instanceof Buffer ? value.toString("utf8") : "");
const asInt = (value: bigint | Buffer | undefined): number =>
  typeof value === "bigint" ? Number(BigInt.asIntN(64, value)) : 0;
const asTime = (value: bigint | Buffer | undefined, digits: number): string => {
  if (!(value instanceof Buffer) || value.length === 0) return "";
  const fields = decodeFully(value);
  const whole = new Date(asInt(fields.get(1)?.at(-1)) * 1000).toISOString().slice(0, 19);
  const micros = String(Math.floor(asInt(fields.get(2)?.at(-1)) / 1000)).padStart(6, "0");
  return digits === 0 ? `${whole}Z` : `${whole}.${micros}Z`;
};
const asMap = (values: readonly (bigint | Buffer)[] | undefined, of: (value: bigint | Buffer | undefined) => string) =>
  Object.fromEntries(
    (values ?? []).map((entry) => {
      const fields = decodeFully(entry as Buffer);
      return [asText(fields.get(1)?.at(-1)), of(fields.get(2)?.at(-1))];
    }),
  );
const asInner = (value: bigint | Buffer | undefined): Inner => {
  const fields = value instanceof Buffer ? decodeFully(value) : new Map<number, (bigint | Buffer)[]>();
  const seen = asTime(fields.get(9)?.at(-1), 0);
  return {
    label: asText(fields.get(1)?.at(-1)),
    count: asInt(fields.get(2)?.at(-1)),
    ...(seen === "" ? {} : { seen }),
  };
};

function project(bytes: Buffer): Thing {
  const fields = decodeFully(bytes);
  const last = (number: number): bigint | Buffer | undefined => fields.get(number)?.at(-1);
  return {
    name: asText(last(1)),
    size: asInt(last(3)),
    ...(fields.has(4) ? { replicas: asInt(last(4)) } : {}),
    ready: asInt(last(5)) !== 0,
    labels: asMap(fields.get(11), asText),
    inner: asInner(last(12)),
    ...(fields.has(13) ? { maybe: asInner(last(13)) } : {}),
    items: (fields.get(20) ?? []).map(asInner),
    words: (fields.get(21) ?? []).map(asText),
    at: asTime(last(22), 0),
    precisely: asTime(last(23), 6),
    notes: Object.fromEntries(
      Object.entries(asMap(fields.get(24), asText)).filter(([key]) => key === "k" || key === "--"),
    ),
    limits: asMap(fields.get(300), (value) =>
      asText(
        decodeFully(value as Buffer)
          .get(1)
          ?.at(-1),
      ),
    ),
  };
}

const text = fc.string({ unit: "grapheme", maxLength: 200 });
const word = fc.string({ unit: fc.constantFrom("a", "b", "ü", "字"), maxLength: 4 });
const integer = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.constantFrom(0, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)));
const seconds = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 });
const keys = fc.dictionary(fc.string({ unit: fc.constantFrom("k", "é", "-"), minLength: 1, maxLength: 5 }), word, {
  maxKeys: 4,
});

const timeBytes = fc
  .tuple(seconds, fc.integer({ min: 0, max: 999_999_999 }))
  .map(([s, nanos]) => Buffer.concat([intField(1, s), intField(2, nanos)]));
const innerBytes = fc
  .array(
    fc.oneof(
      word.map((value) => textField(1, value)),
      integer.map((value) => intField(2, value)),
      timeBytes.map((value) => bytesField(9, value)),
      text.map((value) => textField(17, value)),
    ),
    { maxLength: 5 },
  )
  .map((fields) => Buffer.concat(fields));

/** Any fields of the message in any order, any number of times, among fields that are not declared. */
const messageBytes = fc
  .array(
    fc.oneof(
      text.map((value) => textField(1, value)),
      integer.map((value) => intField(3, value)),
      integer.map((value) => intField(4, value)),
      fc.boolean().map((value) => intField(5, Number(value))),
      keys.map((value) => mapField(11, value)),
      innerBytes.map((value) => bytesField(12, value)),
      innerBytes.map((value) => bytesField(13, value)),
      innerBytes.map((value) => bytesField(20, value)),
      text.map((value) => textField(21, value)),
      timeBytes.map((value) => bytesField(22, value)),
      timeBytes.map((value) => bytesField(23, value)),
      fc.constant(bytesField(22)),
      keys.map((value) => mapField(24, value)),
      word.map((value) => bytesField(24, textField(2, value), textField(1, "k"))),
      fc.constant(bytesField(24, textField(1, "k"))),
      word.map((value) => bytesField(300, textField(1, "cpu"), bytesField(2, textField(1, value)))),
      text.map((value) => textField(999, value)),
      integer.map((value) => intField(998, value)),
      fc.constant(Buffer.concat([varint(997 * 8 + 1), Buffer.alloc(8, 7)])),
      fc.constant(Buffer.concat([varint(996 * 8 + 5), Buffer.alloc(4, 7)])),
    ),
    { maxLength: 30, size: "max" },
  )
  .map((fields) => Buffer.concat(fields));

describe("a protobuf projection", () => {
  test("equals what a full decoder gives, for any message", () => {
    fc.assert(
      fc.property(messageBytes, (bytes) => {
        expect(decode(bytes)).toEqual(project(bytes));
      }),
      { numRuns: runs(2000) },
    );
  });

  test("of cut or corrupted bytes is a value or a DecodeError, never a crash, a hang or a read past the end", () => {
    fc.assert(
      fc.property(
        messageBytes,
        fc.nat(),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        (bytes, cut, flips) => {
          const length = bytes.length === 0 ? 0 : cut % (bytes.length + 1);
          const damaged = Buffer.from(bytes.subarray(0, length));
          for (const [at, value] of flips) if (length > 0) damaged[at % length] = value;
          const input = new ProtobufInput(new Interner(4));
          input.bytes = Buffer.concat([damaged, Buffer.from("beyond the end")]);
          try {
            shape.fromProtobuf(input, length);
            expect(input.pos).toBe(length);
          } catch (error) {
            if (!(error instanceof DecodeError)) throw error;
          }
        },
      ),
      { numRuns: runs(5000) },
    );
  });

  const broken: readonly (readonly [string, Buffer])[] = [
    ["a length that points past its message", Buffer.from([0x0a, 0x05, 0x61])],
    ["a length past its parent, though not past the bytes", bytesField(12, Buffer.from([0x0a, 0x7f]))],
    ["a start of a group", Buffer.from([0x0b])],
    ["an end of a group", Buffer.from([0x0c])],
    ["a group among undeclared fields", varint(500 * 8 + 3)],
    ["a varint that is cut off", Buffer.from([0x18, 0x80])],
    ["a varint of eleven bytes", Buffer.from([0x18, ...new Array<number>(10).fill(0xff), 0x01])],
    ["a tag that is cut off", Buffer.from([0x80])],
    ["field number 0", Buffer.from([0x02, 0x00])],
    ["a wire type other than the declared one", Buffer.from([0x08, 0x01])],
    ["a fixed field that is cut off", Buffer.concat([varint(997 * 8 + 1), Buffer.alloc(7)])],
  ];
  test.each(broken)("refuses %s", (_, bytes) => {
    expect(() => decode(bytes)).toThrow(DecodeError);
  });

  test.each([2 ** 50, -(2 ** 50)])("reads a time that no calendar has as unset: %s s", (seconds) => {
    const never = intField(1, seconds);
    expect(decode(bytesField(22, never)).at).toBe("");
    expect(decode(bytesField(23, never)).precisely).toBe("");
    expect(decode(bytesField(23, Buffer.concat([intField(1, 1), intField(2, 2 ** 31)]))).precisely).toBe("");
  });

  test("keeps one copy of a repeated string", () => {
    const input = new ProtobufInput(new Interner());
    const kept = new Set<string>();
    for (let at = 0; at < 3; at += 1) {
      input.bytes = textField(1, "node-1");
      input.pos = 2;
      kept.add(input.internedText(input.bytes.length));
    }
    expect(kept).toEqual(new Set(["node-1"]));
  });

  test("never reads the value of a map's key that it does not keep", () => {
    const secret = Buffer.from([0xff, 0xfe]);
    const strings = new Interner();
    const read: string[] = [];
    const input = new ProtobufInput(strings);
    const text = input.text.bind(input);
    input.text = (end) => {
      const value = text(end);
      read.push(value);
      return value;
    };
    input.bytes = Buffer.concat([
      bytesField(24, textField(1, "other"), bytesField(2, secret)),
      bytesField(24, textField(1, "k"), textField(2, "kept")),
      bytesField(24, textField(1, "k".repeat(1_000)), textField(2, "long")),
    ]);
    expect(shape.fromProtobuf(input, input.bytes.length).notes).toEqual({ k: "kept" });
    expect(read).toEqual(["kept"]);
  });

  test("of an empty message has every field, unset", () => {
    expect(Object.keys(decode(Buffer.alloc(0)))).toEqual(Object.keys(decode(textField(1, "x"))));
  });
});

describe("a JSON projection", () => {
  test("of a declared kind drops what is not declared and fills what is missing", () => {
    const value = {
      name: "a",
      extra: 1,
      labels: null,
      notes: { k: "v", other: "w" },
      items: [{ label: "x", other: true }],
      limits: { cpu: 2 },
    };
    const projected = shape.fromJson(value, new Interner());
    expect(projected).toEqual({
      ...decode(Buffer.alloc(0)),
      name: "a",
      notes: { k: "v" },
      items: [innerShape.fromJson({ label: "x" }, new Interner())],
      limits: { cpu: "2" },
    });
  });

  test.each([
    ["a number for a name", { name: 1 }],
    ["a text for a number", { size: "1" }],
    ["an object for a list", { items: {} }],
    ["a list for a map", { labels: [] }],
    ["a list for a message", { inner: [] }],
    ["null", null],
  ])("refuses %s unless unset", (_, value) => {
    const read = (): unknown => shape.fromJson(value, new Interner());
    if (value === null) expect(read()).toEqual(decode(Buffer.alloc(0)));
    else expect(read).toThrow(DecodeError);
  });

  test("of a custom resource keeps all but managedFields, and leaves the input as it was", () => {
    const given = { metadata: { name: "a", managedFields: [{}] }, spec: { deep: { x: 1 } } };
    const kept = jsonProjection<typeof given>().fromJson(given, new Interner());
    expect(kept).toEqual({ metadata: { name: "a" }, spec: { deep: { x: 1 } } });
    expect(given.metadata.managedFields).toHaveLength(1);
  });

  test("passes a custom resource through the parser it was given", () => {
    const projection = jsonProjection<{ metadata: object; n: number }>((object) => ({ ...object, n: object.n + 1 }));
    expect(projection.fromJson({ metadata: {}, n: 1 }, new Interner())).toMatchObject({ n: 2 });
  });
});

test("a projected type says which fields may be missing", () => {
  expectTypeOf<Thing["replicas"]>().toEqualTypeOf<number | undefined>();
  expectTypeOf<Thing["name"]>().toEqualTypeOf<string>();
  expectTypeOf<Thing["items"]>().toEqualTypeOf<readonly Inner[]>();
  expectTypeOf<Projected<typeof podShape>["metadata"]["deletionTimestamp"]>().toEqualTypeOf<string | undefined>();
});
