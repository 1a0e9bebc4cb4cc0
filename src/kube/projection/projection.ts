import type { Interner } from "./interner.ts";
import { BYTES, DecodeError, type ProtobufInput, type VARINT } from "./protobuf.ts";

/**
 * How objects of one kind enter a store: which fields are kept, from either encoding.
 *
 * Both ways give equal values for the same object: that is what the tests hold it to. What is not declared never
 * reaches the heap from protobuf, and is dropped at once from JSON.
 */
export interface Projection<T> {
  fromJson(value: unknown, strings: Interner): T;
  /** Reads from the input's position to `end`. Absent when the kind has no protobuf form (custom resources). */
  fromProtobuf?(input: ProtobufInput, end: number): T;
}

/** What a declaration yields: `type Pod = Projected<typeof podShape>`. */
export type Projected<P> = P extends Projection<infer T> ? T : never;

/** The type of a declared field: how one value of it is read. */
export interface Type<T> {
  readonly wire: typeof VARINT | typeof BYTES;
  /** The value when unset. Shared by all objects, hence frozen. */
  readonly absent: T;
  /** Lists and maps: each occurrence on the wire adds to `into`, undefined at the first. */
  readonly repeated?: true;
  read(input: ProtobufInput, end: number, into: T | undefined): T;
  fromJson(value: unknown, strings: Interner): T;
}

export interface OptionalType<T> extends Type<T | undefined> {
  readonly optional: true;
}

export interface Field<T, Optional extends boolean> {
  /** From `generated.proto` of the kind's package; never changes. */
  readonly number: number;
  readonly type: Type<T>;
  /** Carries {@link OptionalType} into {@link ProjectedFields}. */
  readonly optional: Optional;
}

type Fields = Readonly<Record<string, Field<unknown, boolean>>>;
type Value<F> = F extends Field<infer T, boolean> ? T : never;
type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K]["optional"] extends true ? K : never }[keyof F];

/**
 * Optional fields are typed `?:`; the property is always there, so that all objects of a kind share one hidden class.
 */
export type ProjectedFields<F extends Fields> = Simplify<
  { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: Value<F[K]> } & {
    readonly [K in OptionalKeys<F>]?: Exclude<Value<F[K]>, undefined>;
  }
>;

type Simplify<T> = { [K in keyof T]: T[K] };

/** A declared message is a type of its fields' kind, and a projection when it is a whole object. */
export interface Message<T> extends Type<T>, Required<Projection<T>> {}

export function field<T>(number: number, type: OptionalType<T>): Field<T | undefined, true>;
export function field<T>(number: number, type: Type<T>): Field<T, false>;
export function field<T>(number: number, type: Type<T>): Field<T, boolean> {
  return { number, type, optional: "optional" in type };
}

/**
 * Declares a message by the kind's own JSON names and its protobuf field numbers, and compiles it: one table from
 * field number to handler, so that decoding is one loop that skips what is not declared.
 *
 * An embedded message that occurs twice is taken from its last occurrence, not merged: no Kubernetes encoder splits
 * one.
 */
export function message<F extends Fields>(fields: F): Message<ProjectedFields<F>> {
  const plan = compile(fields);
  const read = (input: ProtobufInput, end: number): ProjectedFields<F> =>
    readMessage(plan, input, end) as ProjectedFields<F>;
  return {
    wire: BYTES,
    absent: Object.freeze({ ...plan.template }) as ProjectedFields<F>,
    read,
    fromProtobuf: read,
    fromJson: (value, strings) => messageFromJson(plan, value, strings) as ProjectedFields<F>,
  };
}

/**
 * Whole objects of a custom resource, as the server sent them but for `managedFields`.
 *
 * @param parse checks or shapes what others wrote; it may throw, which ends the watch as an unparsable frame does.
 */
export function jsonProjection<T>(parse?: (object: T) => T): Projection<T> {
  return {
    fromJson(value) {
      const object = expectObject(value);
      const { managedFields: _, ...metadata } = expectObject(object.metadata);
      const kept = { ...object, metadata } as T;
      return parse === undefined ? kept : parse(kept);
    },
  };
}

type Mutable = Record<string, unknown>;

interface Handler {
  readonly name: string;
  readonly type: Type<unknown>;
}

interface Plan {
  readonly byNumber: readonly (Handler | undefined)[];
  readonly handlers: readonly Handler[];
  readonly lists: readonly string[];
  /** Every field at its `absent` value: copied, it gives each object the same hidden class. */
  readonly template: Readonly<Mutable>;
}

function compile(fields: Fields): Plan {
  const handlers = Object.entries(fields).map(([name, { type }]) => ({ name, type }));
  const byNumber: (Handler | undefined)[] = [];
  const highest = Math.max(0, ...Object.values(fields).map(({ number }) => number));
  // Filled, not sparse: a hole would make each look-up walk the prototypes.
  for (let number = 0; number <= highest; number += 1) byNumber.push(undefined);
  for (const [name, { number, type }] of Object.entries(fields)) byNumber[number] = { name, type };
  return {
    byNumber,
    handlers,
    lists: handlers.filter(({ type }) => Array.isArray(type.absent)).map(({ name }) => name),
    template: Object.fromEntries(handlers.map(({ name, type }) => [name, type.absent])),
  };
}

function readMessage(plan: Plan, input: ProtobufInput, end: number): Mutable {
  const object: Mutable = { ...plan.template };
  while (input.pos < end) {
    const tag = input.uint32(end);
    const wire = tag & 7;
    const number = tag >>> 3;
    const handler = plan.byNumber[number];
    if (handler === undefined) {
      if (number === 0) throw new DecodeError("field number 0");
      input.skip(wire, end);
      continue;
    }
    const { name, type } = handler;
    if (wire !== type.wire) throw new DecodeError(`${name}: wire type ${wire}`);
    const valueEnd = wire === BYTES ? input.lengthDelimited(end) : end;
    const before = type.repeated === true && object[name] !== type.absent ? object[name] : undefined;
    object[name] = type.read(input, valueEnd, before);
  }
  for (const name of plan.lists) object[name] = trimmed(object[name] as unknown[]);
  return object;
}

/** `push` leaves room for 16 more elements; a cache of 50,000 pods would hold 40 MB of such room. */
function trimmed(list: unknown[]): unknown[] {
  return list.length > 1 ? list.slice() : list;
}

function messageFromJson(plan: Plan, value: unknown, strings: Interner): Mutable {
  if (value === undefined || value === null) return { ...plan.template };
  const source = expectObject(value);
  const object: Mutable = { ...plan.template };
  for (const { name, type } of plan.handlers) {
    const given = source[name];
    if (given !== undefined && given !== null) object[name] = type.fromJson(given, strings);
  }
  return object;
}

export function expectObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new DecodeError("not an object");
  return value as Readonly<Record<string, unknown>>;
}
