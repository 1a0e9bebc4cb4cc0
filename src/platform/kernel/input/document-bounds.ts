import type { TSchema } from "typebox";
import { BYTES_A_VALUE, MAX_BYTES } from "../../../contract/wire/schema.ts";
import type { Issue } from "../errors.ts";

/** The keywords of the contract's schemas that hold other schemas, and the size limit of a document. */
interface Composite {
  readonly [MAX_BYTES]?: number;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

const bounding = new WeakMap<TSchema, boolean>();

/** Whether the schema, or a part of it, is a document with a size limit. Parts without one are not walked. */
function bounds(schema: TSchema): boolean {
  const known = bounding.get(schema);
  if (known !== undefined) return known;
  const { [MAX_BYTES]: most, properties = {}, patternProperties = {}, items, anyOf = [] } = schema as Composite;
  const parts = [...Object.values(properties), ...Object.values(patternProperties), ...anyOf];
  const found = most !== undefined || parts.some(bounds) || (items !== undefined && bounds(items));
  bounding.set(schema, found);
  return found;
}

/**
 * Yields the documents in a value that exceed the size in their schema. The value must fit the schema. A stored
 * document is shown in every list that contains it, so one tenant's large documents would delay all callers.
 */
export function* oversized(schema: TSchema, value: unknown, path: string): Generator<Issue> {
  if (typeof value !== "object" || value === null || !bounds(schema)) return;
  const { [MAX_BYTES]: most, properties = {}, patternProperties = {}, items, anyOf = [] } = schema as Composite;
  const message = most === undefined ? undefined : excessOf(value, most);
  if (message !== undefined) {
    yield { path, message };
    return;
  }
  for (const alternative of anyOf) yield* oversized(alternative, value, path);
  if (Array.isArray(value)) {
    if (items === undefined || !bounds(items)) return;
    for (const [index, item] of value.entries()) yield* oversized(items, item, `${path}.${index}`);
    return;
  }
  const map = value as Readonly<Record<string, unknown>>;
  for (const [name, part] of Object.entries(properties)) yield* oversized(part, map[name], `${path}.${name}`);
  // Maps in the contract have one pattern, which every name fits.
  for (const part of Object.values(patternProperties)) {
    if (!bounds(part)) continue;
    for (const name of Object.keys(map)) yield* oversized(part, map[name], `${path}.${name.slice(0, 128)}`);
  }
}

function excessOf(document: object, maxBytes: number): string | undefined {
  const maxValues = maxBytes / BYTES_A_VALUE;
  if (!hasRoom(document, { values: maxValues })) return `has more than ${maxValues} values`;
  return bytesOf(document) > maxBytes ? `is larger than ${maxBytes} bytes` : undefined;
}

/** The bytes of a document as it is sent and stored. */
export function bytesOf(document: unknown): number {
  return Buffer.byteLength(JSON.stringify(document));
}

function hasRoom(part: unknown, left: { values: number }): boolean {
  if (typeof part !== "object" || part === null) return true;
  const children: readonly unknown[] = Array.isArray(part) ? part : Object.values(part);
  left.values -= children.length;
  return left.values >= 0 && children.every((child) => hasRoom(child, left));
}
