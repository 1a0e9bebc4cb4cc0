import type { Status } from "../client/api-error.ts";
import { enter, FIRST, isWrapped, SECOND, unwrap } from "../projection/envelope.ts";
import { map, string } from "../projection/field-types.ts";
import type { Interner } from "../projection/interner.ts";
import { expectObject, field, message, type Projection } from "../projection/projection.ts";
import { DecodeError, ProtobufInput } from "../projection/protobuf.ts";
import { statusShape } from "../projection/status-shape.ts";

export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

/** One event of a watch, decoded. */
export type WatchEvent<T> =
  | { readonly type: ChangeType; readonly object: T }
  /** Nothing changed up to `resourceVersion`. `initialEnd`: all that existed has been sent. */
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string; readonly initialEnd: boolean }
  | { readonly type: "ERROR"; readonly status: Status };

/** One page of a list, decoded. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** `""` on the last page. */
  readonly next: string;
}

export interface Codec<T> {
  event(bytes: Buffer, start: number, end: number): WatchEvent<T>;
  page(bytes: Buffer): Page<T>;
}

/** Marks the bookmark after the last object of the initial list (KEP-3157). */
const INITIAL_END = "k8s.io/initial-events-end";

const bookmarkShape = message({
  metadata: field(1, message({ resourceVersion: field(6, string), annotations: field(12, map(string)) })),
});

export class JsonCodec<T> implements Codec<T> {
  readonly #projection: Projection<T>;
  readonly #strings: Interner;

  constructor(projection: Projection<T>, strings: Interner) {
    this.#projection = projection;
    this.#strings = strings;
  }

  event(bytes: Buffer, start: number, end: number): WatchEvent<T> {
    const { type, object } = expectObject(parseJson(bytes.toString("utf8", start, end)));
    if (type === "BOOKMARK") return bookmarkOf(bookmarkShape.fromJson(object, this.#strings));
    if (type === "ERROR") return { type, status: statusShape.fromJson(object, this.#strings) };
    return { type: changeType(type), object: this.#projection.fromJson(object, this.#strings) };
  }

  page(bytes: Buffer): Page<T> {
    const { metadata, items } = expectObject(parseJson(bytes.toString("utf8")));
    const { resourceVersion, continue: next } = expectObject(metadata);
    // A list that is made up for each request has none: metrics.k8s.io.
    if (typeof (resourceVersion ?? "") !== "string") throw new DecodeError("a list whose resourceVersion is no text");
    // Some aggregated servers write null for an empty list.
    const given: unknown = items ?? [];
    if (!Array.isArray(given)) throw new DecodeError("a list without items");
    return {
      items: given.map((item: unknown) => this.#projection.fromJson(item, this.#strings)),
      resourceVersion: String(resourceVersion ?? ""),
      next: typeof next === "string" ? next : "",
    };
  }
}

type ProtobufProjection<T> = Required<Projection<T>>;

export function hasProtobuf<T>(projection: Projection<T>): projection is ProtobufProjection<T> {
  return projection.fromProtobuf !== undefined;
}

export class ProtobufCodec<T> implements Codec<T> {
  readonly #projection: ProtobufProjection<T>;
  readonly #input: ProtobufInput;

  constructor(projection: ProtobufProjection<T>, strings: Interner) {
    this.#projection = projection;
    this.#input = new ProtobufInput(strings);
  }

  event(bytes: Buffer, start: number, end: number): WatchEvent<T> {
    const input = this.#input;
    input.bytes = bytes;
    input.pos = start;
    // Servers frame the event bare or wrapped as an object; both are in use.
    const eventEnd = isWrapped(bytes, start, end) ? unwrap(input, end) : end;
    const { type, objectStart, objectEnd } = readEvent(input, eventEnd);
    input.pos = objectStart;
    const rawEnd = enter(input, FIRST, objectEnd);
    const valueEnd = unwrap(input, rawEnd);
    if (type === "BOOKMARK") return bookmarkOf(bookmarkShape.fromProtobuf(input, valueEnd));
    if (type === "ERROR") return { type, status: statusShape.fromProtobuf(input, valueEnd) };
    return { type: changeType(type), object: this.#projection.fromProtobuf(input, valueEnd) };
  }

  page(bytes: Buffer): Page<T> {
    const input = this.#input;
    input.bytes = bytes;
    input.pos = 0;
    const end = unwrap(input, bytes.length);
    const items: T[] = [];
    let metadata = listMetaShape.absent;
    while (input.pos < end) {
      const tag = input.uint32(end);
      if (tag === FIRST) metadata = listMetaShape.read(input, input.lengthDelimited(end), undefined);
      else if (tag === SECOND) items.push(this.#projection.fromProtobuf(input, input.lengthDelimited(end)));
      else input.skip(tag & 7, end);
    }
    return { items, resourceVersion: metadata.resourceVersion, next: metadata.continue };
  }
}

const listMetaShape = message({ resourceVersion: field(2, string), continue: field(3, string) });

/** `meta/v1.WatchEvent`. */
function readEvent(
  input: ProtobufInput,
  end: number,
): { readonly type: string; readonly objectStart: number; readonly objectEnd: number } {
  let type = "";
  let objectStart = 0;
  let objectEnd = 0;
  while (input.pos < end) {
    const tag = input.uint32(end);
    if (tag === FIRST) type = input.internedText(input.lengthDelimited(end));
    else if (tag === SECOND) {
      objectEnd = input.lengthDelimited(end);
      objectStart = input.pos;
      input.pos = objectEnd;
    } else input.skip(tag & 7, end);
  }
  return { type, objectStart, objectEnd };
}

function changeType(type: unknown): ChangeType {
  if (type === "ADDED" || type === "MODIFIED" || type === "DELETED") return type;
  throw new DecodeError("not a type of watch event");
}

function bookmarkOf(object: {
  readonly metadata: { readonly resourceVersion: string; readonly annotations: Readonly<Record<string, string>> };
}): WatchEvent<never> {
  const { resourceVersion, annotations } = object.metadata;
  return { type: "BOOKMARK", resourceVersion, initialEnd: annotations[INITIAL_END] === "true" };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DecodeError("not JSON", { cause });
  }
}
