import type { Interner } from "./interner.ts";
import { BYTES, DecodeError, type ProtobufInput, VARINT } from "./protobuf.ts";

/**
 * How objects of one kind enter a store: which fields are kept, from either encoding.
 *
 * Both ways give equal values for the same object: that is what the tests hold it to.
 */
export interface Projection<T> {
  fromJson(value: unknown, strings: Interner): T;
  /** Reads from the input's position to `end`. Absent when the kind has no protobuf form (custom resources). */
  fromProtobuf?(input: ProtobufInput, end: number): T;
}

/** One type of value of a declaration. Every declared field is present in the result, with `absent` when unset. */
export interface Type<T> {
  readonly wire: typeof VARINT | typeof BYTES;
  readonly absent: T;
  /** A list or map puts each wire value into `into`, which is `undefined` the first time; others ignore it. */
  read(input: ProtobufInput, end: number, into: T | undefined): T;
  fromJson(value: unknown, strings: Interner): T;
}

export interface OptionalType<T> extends Type<T | undefined> {
  readonly optional: true;
}

export interface Field<T, O extends boolean> {
  /** From `generated.proto` of the kind's package; never changes. */
  readonly number: number;
  readonly type: Type<T>;
  readonly optional: O;
}

type Fields = Readonly<Record<string, Field<unknown, boolean>>>;

/** Optional fields are typed `?:`; the property is always there, so that all objects of a kind share one hidden class. */
export type ProjectedFields<F extends Fields> = Simplify<
  {
    readonly [K in keyof F as F[K] extends Field<unknown, true> ? never : K]: F[K] extends Field<infer T, boolean>
      ? T
      : never;
  } & {
    readonly [K in keyof F as F[K] extends Field<unknown, true> ? K : never]?: F[K] extends Field<infer T, boolean>
      ? NonNullable<T>
      : never;
  }
>;

type Simplify<T> = { [K in keyof T]: T[K] };

/** What a declaration yields: `type Pod = Projected<typeof podShape>`. */
export type Projected<P> = P extends Projection<infer T> ? T : never;

export interface Message<T> extends Type<T>, Projection<T> {}

export function field<T>(number: number, type: OptionalType<T>): Field<T | undefined, true>;
export function field<T>(number: number, type: Type<T>): Field<T, false>;
export function field<T>(number: number, type: Type<T>): Field<T, boolean> {
  return { number, type, optional: "optional" in type };
}

/** Text that seldom repeats; `""` when unset. */
export const string: Type<string> = {
  wire: BYTES,
  absent: "",
  read: (input, end) => input.text(end),
  fromJson: (value) => (value === undefined || value === null ? "" : expectString(value)),
};

/** Text that repeats from object to object, kept once: names of namespaces and nodes, labels, images, reasons. */
export const interned: Type<string> = {
  wire: BYTES,
  absent: "",
  read: (input, end) => input.internedText(end),
  fromJson: (value, strings) => (value === undefined || value === null ? "" : strings.string(expectString(value))),
};

/** int32 or int64; 0 when unset. */
export const int: Type<number> = {
  wire: VARINT,
  absent: 0,
  read: (input, end) => input.int64(end),
  fromJson: (value) => {
    if (value === undefined || value === null) return 0;
    if (typeof value !== "number") throw new DecodeError("not a number");
    return value;
  },
};

/** False when unset. */
export const bool: Type<boolean> = {
  wire: VARINT,
  absent: false,
  read: (input, end) => input.int64(end) !== 0,
  fromJson: (value) => {
    if (value === undefined || value === null) return false;
    if (typeof value !== "boolean") throw new DecodeError("not a boolean");
    return value;
  },
};

function expectString(value: unknown): string {
  if (typeof value !== "string") throw new DecodeError("not a string");
  return value;
}
