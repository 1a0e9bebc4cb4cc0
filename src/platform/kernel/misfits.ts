import type { TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { Errors } from "typebox/value";

export type Misfit = ReturnType<typeof Errors>[number];

/**
 * What does not fit a schema of the contract. The library's own search walks all of a value and takes a hundred times as long
 * as its check: this one goes into the parts that fail their check alone, and ends when the caller has enough.
 */
export function* misfits(schema: TSchema, value: unknown, at = ""): Generator<Misfit> {
  const { check, own } = judgeOf(schema);
  if (check.Check(value)) return;
  for (const error of Errors(own, value)) yield { ...error, instancePath: `${at}${error.instancePath}` };
  for (const [name, part, inner] of partsOf(schema, value)) yield* misfits(part, inner, `${at}/${escapePointer(name)}`);
  for (const alternative of alternativesOf(schema, value)) yield* misfits(alternative, value, at);
}

interface Judge {
  readonly check: Validator;
  /** What the schema says by itself: its parts and alternatives are searched on their own. */
  readonly own: TSchema;
}

const judges = new WeakMap<TSchema, Judge>();

function judgeOf(schema: TSchema): Judge {
  const known = judges.get(schema);
  if (known !== undefined) return known;
  const { properties, patternProperties, items, anyOf, ...own } = schema as Composite;
  const anything = (of: object) => Object.fromEntries(Object.keys(of).map((name) => [name, {}]));
  const judge = {
    check: Compile(schema),
    own: {
      ...own,
      ...(properties && { properties: anything(properties) }),
      ...(patternProperties && { patternProperties: anything(patternProperties) }),
    },
  };
  judges.set(schema, judge);
  return judge;
}

/** The keywords of our schemas that hold other schemas. */
interface Composite {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

function* partsOf(schema: TSchema, value: unknown): Generator<readonly [string, TSchema, unknown]> {
  const { properties = {}, patternProperties = {}, items } = schema as Composite;
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    if (items === undefined) return;
    for (const [index, item] of value.entries()) yield [String(index), items, item];
    return;
  }
  const patterns = Object.entries(patternProperties).map(
    ([pattern, part]) => [new RegExp(pattern, "u"), part] as const,
  );
  for (const [name, inner] of Object.entries(value)) {
    const part = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (part !== undefined) yield [name, part, inner];
    for (const [pattern, each] of patterns) if (pattern.test(name)) yield [name, each, inner];
  }
}

/** None when one of them fits. */
function alternativesOf(schema: TSchema, value: unknown): readonly TSchema[] {
  const { anyOf = [] } = schema as Composite;
  return anyOf.some((each) => judgeOf(each).check.Check(value)) ? [] : anyOf;
}

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
