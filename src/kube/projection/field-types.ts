import type { Interner } from "./interner.ts";
import { expectObject, type OptionalType, type Type } from "./projection.ts";
import { BYTES, DecodeError, type ProtobufInput, VARINT } from "./protobuf.ts";

/** Text that seldom repeats: names, uids, messages. `""` when unset. */
export const string: Type<string> = {
  wire: BYTES,
  absent: "",
  read: (input, end) => input.text(end),
  fromJson: expectString,
};

/** Text that repeats from object to object, kept once: namespaces, nodes, labels, images, reasons. `""` when unset. */
export const interned: Type<string> = {
  wire: BYTES,
  absent: "",
  read: (input, end) => input.internedText(end),
  fromJson: (value, strings) => strings.string(expectString(value)),
};

/** int32 or int64; 0 when unset. */
export const int: Type<number> = {
  wire: VARINT,
  absent: 0,
  read: (input, end) => input.int64(end),
  fromJson(value) {
    if (typeof value !== "number") throw new DecodeError("not a number");
    return value;
  },
};

/** False when unset. */
export const bool: Type<boolean> = {
  wire: VARINT,
  absent: false,
  read: (input, end) => input.int64(end) !== 0,
  fromJson(value) {
    if (typeof value !== "boolean") throw new DecodeError("not a boolean");
    return value;
  },
};

/** `meta/v1.Time`: RFC 3339 in whole seconds, as JSON has it; `""` when unset. */
export const time: Type<string> = {
  wire: BYTES,
  absent: "",
  read(input, end) {
    // An unset time is an empty message, not an absent field.
    const at = input.pos === end ? undefined : readTimestamp(input, end);
    return at === undefined ? "" : input.strings.time(at.seconds);
  },
  fromJson: expectString,
};

/** `meta/v1.MicroTime`: RFC 3339 with six digits of a second; `""` when unset. */
export const microTime: Type<string> = {
  wire: BYTES,
  absent: "",
  read(input, end) {
    const at = input.pos === end ? undefined : readTimestamp(input, end);
    if (at === undefined) return "";
    const micros = String(Math.floor(at.nanos / 1000)).padStart(6, "0");
    return `${input.strings.time(at.seconds).slice(0, -1)}.${micros}Z`;
  },
  fromJson: expectString,
};

/** `api/resource.Quantity`: the text, e.g. `"250m"`. `""` when unset. */
export const quantity: Type<string> = {
  wire: BYTES,
  absent: "",
  read: (input, end) => readStringField(input, end),
  // Whole numbers may be written bare in JSON.
  fromJson: (value, strings) => strings.string(typeof value === "number" ? String(value) : expectString(value)),
};

/**
 * A field that may be missing, which means something: `undefined` then. For pointers and times; empty text counts as
 * missing, since JSON leaves it out where protobuf writes it. Not for plain numbers: protobuf writes their 0.
 */
export function optional<T>(type: Type<T>): OptionalType<T> {
  const present = (value: T): T | undefined => (value === "" ? undefined : value);
  return {
    optional: true,
    wire: type.wire,
    absent: undefined,
    read: (input, end) => present(type.read(input, end, undefined)),
    fromJson: (value, strings) => present(type.fromJson(value, strings)),
  };
}

/** A repeated field; empty when unset. */
export function list<T>(element: Type<T>): Type<readonly T[]> {
  if (element.wire === VARINT) throw new Error("packed numbers are not decoded: Kubernetes has none that we read");
  return {
    wire: BYTES,
    repeated: true,
    absent: Object.freeze([]),
    read(input, end, into) {
      const value = element.read(input, end, undefined);
      if (into === undefined) return [value];
      // The array was made by the first occurrence and is this message's alone until it is done.
      (into as T[]).push(value);
      return into;
    },
    fromJson(value, strings) {
      if (!Array.isArray(value)) throw new DecodeError("not a list");
      return value.map((each) => element.fromJson(each, strings));
    },
  };
}

/** A map from text to `value`; empty when unset. Keys are kept once, as are values of type {@link interned}. */
export function map<T>(value: Type<T>): Type<Readonly<Record<string, T>>> {
  return {
    wire: BYTES,
    repeated: true,
    absent: Object.freeze({}),
    read(input, end, into) {
      const entries = (into ?? {}) as Record<string, T>;
      readEntry(input, end, value, entries);
      return entries;
    },
    fromJson(given, strings) {
      const entries: Record<string, T> = {};
      for (const [key, each] of Object.entries(expectObject(given))) {
        entries[strings.string(key)] = value.fromJson(each, strings);
      }
      return entries;
    },
  };
}

/**
 * A map of which only the `keys` are kept: other values are skipped unread, so that they never reach the heap. For
 * annotations, where others may have written anything.
 */
export function entries<T>(keys: readonly string[], value: Type<T>): Type<Readonly<Record<string, T>>> {
  return {
    wire: BYTES,
    repeated: true,
    absent: Object.freeze({}),
    read(input, end, into) {
      const kept = (into ?? {}) as Record<string, T>;
      readChosen(input, end, keys, value, kept);
      return kept;
    },
    fromJson(given, strings) {
      const source = expectObject(given);
      const kept: Record<string, T> = {};
      for (const key of keys) {
        const each = Object.hasOwn(source, key) ? source[key] : undefined;
        if (each !== undefined) kept[key] = value.fromJson(each, strings);
      }
      return kept;
    },
  };
}

/** Key and value may come in either order: where the value lies is noted, and it is read once the key is known. */
function readChosen<T>(
  input: ProtobufInput,
  end: number,
  keys: readonly string[],
  type: Type<T>,
  into: Record<string, T>,
): void {
  let key: string | undefined;
  let start = end;
  let valueEnd = end;
  while (input.pos < end) {
    const tag = input.uint32(end);
    if (tag === KEY) {
      const keyEnd = input.lengthDelimited(end);
      // A longer key is none of ours, and making a string of it would cost what it is long.
      const isLong = keyEnd - input.pos > MAX_CHOSEN_KEY;
      key = isLong ? undefined : input.internedText(keyEnd);
      input.pos = keyEnd;
    } else if (tag === VALUE) {
      valueEnd = input.lengthDelimited(end);
      start = input.pos;
      input.pos = valueEnd;
    } else input.skip(tag & 7, end);
  }
  if (key === undefined || !keys.includes(key)) return;
  input.pos = start;
  into[key] = start === end ? type.absent : type.read(input, valueEnd, undefined);
  input.pos = end;
}

/** A label's or annotation's key: a prefix of 253 bytes, a slash and 63. */
const MAX_CHOSEN_KEY = 317;

function readEntry<T>(input: ProtobufInput, end: number, type: Type<T>, into: Record<string, T>): void {
  let key = "";
  let value = type.absent;
  while (input.pos < end) {
    const tag = input.uint32(end);
    if (tag === KEY) key = input.internedText(input.lengthDelimited(end));
    else if (tag === VALUE) value = type.read(input, input.lengthDelimited(end), undefined);
    else input.skip(tag & 7, end);
  }
  into[key] = value;
}

const KEY = (1 << 3) | BYTES;
const VALUE = (2 << 3) | BYTES;
const SECONDS = (1 << 3) | VARINT;
const NANOS = (2 << 3) | VARINT;

/** The years 0000 to 9999, which is what RFC 3339 can say. */
const MIN_SECONDS = -62_167_219_200;
const MAX_SECONDS = 253_402_300_799;

/**
 * Undefined for what is no time: the API server stores any number that a client sends in protobuf, such as a kubelet. It
 * counts as unset, because an error would end the watch of all objects of the kind, again and again.
 */
function readTimestamp(
  input: ProtobufInput,
  end: number,
): { readonly seconds: number; readonly nanos: number } | undefined {
  let seconds = 0;
  let nanos = 0;
  while (input.pos < end) {
    const tag = input.uint32(end);
    if (tag === SECONDS) seconds = input.int64(end);
    else if (tag === NANOS) nanos = input.int64(end);
    else input.skip(tag & 7, end);
  }
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS || nanos < 0 || nanos > 999_999_999) {
    return undefined;
  }
  return { seconds, nanos };
}

function readStringField(input: ProtobufInput, end: number): string {
  let value = "";
  while (input.pos < end) {
    const tag = input.uint32(end);
    if (tag === KEY) value = input.internedText(input.lengthDelimited(end));
    else input.skip(tag & 7, end);
  }
  return value;
}

function expectString(value: unknown, _strings?: Interner): string {
  if (typeof value !== "string") throw new DecodeError("not a string");
  return value;
}
