import type { TObject, TSchema } from "typebox";
import { Errors } from "typebox/value";

/**
 * The first thing wrong with the named fields of a record that came over the wire, in words; undefined when they fit.
 *
 * Only the named fields are looked at, and unknown keys inside them pass: a newer platform may send more (§0.8), and a
 * reader must not fail on fields that it does not use.
 */
export function misfit<const S extends TObject>(
  schema: S,
  value: unknown,
  fields: readonly (keyof S["properties"] & string)[],
): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "it is not an object";
  const required = new Set<string>(schema.required ?? []);
  for (const field of fields) {
    const property = schema.properties[field];
    const part = (value as Readonly<Record<string, unknown>>)[field];
    if (property === undefined || (part === undefined && !required.has(field))) continue;
    if (part === undefined) return `${field} is missing`;
    const [problem] = Errors(tolerant(property), part);
    if (problem !== undefined) return `${field}${problem.instancePath.replaceAll("/", ".")} ${problem.message}`;
  }
  return undefined;
}

const seen = new WeakMap<TSchema, TSchema>();

/** The same schema without "no other keys". */
function tolerant(schema: TSchema): TSchema {
  let result = seen.get(schema);
  if (result === undefined) {
    result = relaxed(schema) as TSchema;
    seen.set(schema, result);
  }
  return result;
}

function relaxed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(relaxed);
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node).filter(([key, value]) => key !== "additionalProperties" || value !== false);
  return Object.fromEntries(entries.map(([key, value]) => [key, relaxed(value)]));
}
