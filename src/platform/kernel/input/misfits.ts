import type { TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { Errors } from "typebox/value";
import { MAX_ISSUES } from "../errors.ts";

export type Misfit = ReturnType<typeof Errors>[number];

/**
 * Yields what does not fit a schema of the contract. The library's own search walks the whole value and takes a hundred
 * times as long as its check. This one descends only into parts that fail their check, and stops when the caller takes
 * no more.
 */
export function* misfits(schema: TSchema, value: unknown, at = ""): Generator<Misfit> {
  const { check, own } = judgeOf(schema);
  if (check.Check(value)) return;
  const tooMany = excessOf(schema, value, at);
  // Each of the items may be wrong as well: what is too much is not searched.
  if (tooMany !== undefined) return yield tooMany;
  const double = doubleOf(schema, value, at);
  if (double !== undefined) yield double;
  for (const error of Errors(own, value)) yield { ...error, instancePath: `${at}${error.instancePath}` };
  const strangers = strangersOf(schema, value);
  if (strangers.length > 0) yield stranger(at, strangers);
  for (const [name, part, inner] of partsOf(schema, value)) yield* misfits(part, inner, `${at}/${escapePointer(name)}`);
  for (const alternative of alternativesOf(schema, value)) yield* misfits(alternative, value, at);
}

interface Judge {
  readonly check: Validator;
  /** The schema without its parts and alternatives, which are searched on their own. */
  readonly own: TSchema;
}

const judges = new WeakMap<TSchema, Judge>();

function judgeOf(schema: TSchema): Judge {
  const known = judges.get(schema);
  if (known !== undefined) return known;
  const {
    properties: _p,
    patternProperties: _r,
    additionalProperties: _a,
    items: _i,
    anyOf: _o,
    // The library's own search for doubles copies the list of them for each one.
    uniqueItems: _u,
    ...own
  } = composite(schema);
  const judge = { check: Compile(schema), own };
  judges.set(schema, judge);
  return judge;
}

/** The keywords of the contract's schemas that hold other schemas. */
interface Composite {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: boolean;
  readonly items?: TSchema;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly anyOf?: readonly TSchema[];
}

function composite(schema: TSchema): Composite {
  return schema as Composite;
}

function excessOf(schema: TSchema, value: unknown, instancePath: string): Misfit | undefined {
  const { maxItems: limit } = composite(schema);
  if (!Array.isArray(value) || limit === undefined || value.length <= limit) return undefined;
  const message = `must not have more than ${limit} items`;
  return { keyword: "maxItems", schemaPath: "#", instancePath, params: { limit }, message };
}

/** Only the first, which is what a person needs to know. Items of our lists without doubles are texts and numbers. */
function doubleOf(schema: TSchema, value: unknown, instancePath: string): Misfit | undefined {
  if (!Array.isArray(value) || composite(schema).uniqueItems !== true) return undefined;
  const seen = new Set<unknown>();
  const index = value.findIndex((item) => seen.size === seen.add(item).size);
  if (index < 0) return undefined;
  const message = "must not have duplicate items";
  return { keyword: "uniqueItems", schemaPath: "#", instancePath, params: { duplicateItems: [index] }, message };
}

/** The names that the schema does not know, up to the number that an answer shows: a body can hold ten thousand. */
function strangersOf(schema: TSchema, value: unknown): readonly string[] {
  const { properties = {}, additionalProperties } = composite(schema);
  if (additionalProperties !== false || typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const patterns = patternsOf(schema);
  const strangers: string[] = [];
  for (const name in value) {
    if (!Object.hasOwn(value, name) || Object.hasOwn(properties, name)) continue;
    if (patterns.some(([pattern]) => pattern.test(name))) continue;
    if (strangers.push(name) === MAX_ISSUES) break;
  }
  return strangers;
}

function stranger(instancePath: string, additionalProperties: readonly string[]): Misfit {
  return {
    keyword: "additionalProperties",
    schemaPath: "#",
    instancePath,
    params: { additionalProperties: [...additionalProperties] },
    message: "must not have additional properties",
  };
}

function patternsOf(schema: TSchema): readonly (readonly [RegExp, TSchema])[] {
  const { patternProperties = {} } = composite(schema);
  return Object.entries(patternProperties).map(([pattern, part]) => [new RegExp(pattern, "u"), part] as const);
}

function* partsOf(schema: TSchema, value: unknown): Generator<readonly [string, TSchema, unknown]> {
  const { properties = {}, items } = composite(schema);
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    if (items === undefined) return;
    for (const [index, item] of value.entries()) yield [String(index), items, item];
    return;
  }
  const map = value as Readonly<Record<string, unknown>>;
  for (const [name, part] of Object.entries(properties)) if (Object.hasOwn(map, name)) yield [name, part, map[name]];
  const patterns = patternsOf(schema);
  if (patterns.length === 0) return;
  for (const name in map) {
    if (!Object.hasOwn(map, name)) continue;
    for (const [pattern, each] of patterns) if (pattern.test(name)) yield [name, each, map[name]];
  }
}

/**
 * No alternatives when one of them fits. Otherwise those that the value probably means, so that the error does not
 * mention the others.
 */
function alternativesOf(schema: TSchema, value: unknown): readonly TSchema[] {
  const { anyOf = [] } = composite(schema);
  if (anyOf.some((each) => judgeOf(each).check.Check(value))) return [];
  // The caller gave a value that is not null, so the alternative null explains nothing.
  const kinds = anyOf.filter((each) => (each as Typed).type !== "null");
  const alike = kinds.filter((each) => isAlike(each as Typed, value));
  if (alike.length === 0) return kinds;
  const discriminator = typeof value === "object" && value !== null ? discriminatorOf(alike) : undefined;
  if (discriminator === undefined) return alike;
  const { name, words, other, choice } = discriminator;
  const word = (value as Readonly<Record<string, unknown>>)[name];
  const found = word === undefined ? -1 : words.indexOf(word);
  const chosen = found < 0 ? other : found;
  return chosen < 0 ? [choice] : alike.slice(chosen, chosen + 1);
}

interface Typed extends Composite {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}

function isAlike({ type }: Typed, value: unknown): boolean {
  const kind = Array.isArray(value) ? "array" : typeof value;
  return type === undefined || type === kind || (type === "integer" && kind === "number");
}

interface Discriminator {
  readonly name: string;
  /** The constant of each alternative; undefined of `other`. */
  readonly words: readonly unknown[];
  /** The alternative for every other text; -1 when there is none. */
  readonly other: number;
  /** A schema that accepts one of the constants and nothing else. */
  readonly choice: TSchema;
}

const discriminators = new WeakMap<TSchema, Discriminator | null>();

/** The field whose constant differs in each of several alternatives, such as `platform`; one may take any other text. */
function discriminatorOf(alternatives: readonly TSchema[]): Discriminator | undefined {
  const [first, second] = alternatives;
  if (first === undefined || second === undefined) return undefined;
  const known = discriminators.get(first);
  if (known !== undefined) return known ?? undefined;
  const fieldsOf = (name: string) => alternatives.map((each) => (each as Composite).properties?.[name] as Typed);
  const wordsOf = (name: string) => fieldsOf(name).map((field) => field?.const);
  const name = Object.keys((first as Composite).properties ?? {}).find((each) => {
    const isTold = fieldsOf(each).every((field) => field?.const !== undefined || isFreeText(field));
    return isTold && new Set(wordsOf(each)).size === alternatives.length;
  });
  const words = name === undefined ? [] : wordsOf(name);
  const choice =
    name === undefined ? {} : { type: "object", required: [name], properties: { [name]: { enum: words } } };
  const other = name === undefined ? -1 : words.indexOf(undefined);
  const found = name === undefined ? null : { name, words, other, choice: choice as TSchema };
  discriminators.set(first, found);
  return found ?? undefined;
}

function isFreeText(field: Typed | undefined): boolean {
  return field?.type === "string" && field.const === undefined && field.enum === undefined;
}

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
