import { type Issue, pointer } from "./issue.ts";
import type { PatternJudge } from "./stranger-pattern.ts";

/**
 * The supported params schemas: JSON Schema 2020-12 without references. A vendor supplies them, so checking a value
 * must cost no more than its size times the number of alternatives, and both are limited.
 */
export type ParamsSchema = boolean | SchemaObject;

export interface SchemaObject {
  readonly type?: string | readonly string[];
  readonly enum?: readonly Scalar[];
  readonly const?: Scalar;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly items?: ParamsSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, ParamsSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: ParamsSchema;
  readonly propertyNames?: ParamsSchema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly ParamsSchema[];
  readonly anyOf?: readonly ParamsSchema[];
  readonly oneOf?: readonly ParamsSchema[];
  readonly not?: ParamsSchema;
}

export type Scalar = string | number | boolean | null;

const MAX_BYTES = 64 * 1024;
/** Deepest nesting of schemas, and of other values such as an example. */
const MAX_DEPTH = 16;
const MAX_JSON_DEPTH = 64;
const MAX_UNIQUE = 256;
const MOST = { schemas: 256, alternatives: 32, values: 256, names: 256 };
const NAMES = {
  schemas: "schemas",
  alternatives: "of allOf, anyOf, oneOf, not and propertyNames",
  values: "values of enums",
  names: "required names",
};

const TYPES: readonly string[] = ["object", "array", "string", "number", "integer", "boolean", "null"];
/** Each can be checked in linear time. */
const FORMATS: readonly string[] = "date-time date time duration email hostname ipv4 ipv6 uri uuid".split(" ");
const NOTES: readonly string[] =
  "$schema $comment title description default examples deprecated readOnly writeOnly".split(" ");
const REFERENCES: ReadonlySet<string> = new Set(
  "$ref $dynamicRef $recursiveRef $anchor $dynamicAnchor $recursiveAnchor $id $defs definitions".split(" "),
);
const NO_REFERENCES = "is not allowed: a params schema is written out, without references";
const NOT_ALLOWED = "is not allowed: the Management API's documentation lists what is; notes of your own begin with x-";

/**
 * What is wrong with a params schema; the paths are JSON pointers below `path`. One pass, linear in the schema's size.
 */
export function schemaFaults(schema: unknown, path: string, judge: PatternJudge): readonly Issue[] {
  if (isDeeperThan(schema, MAX_JSON_DEPTH)) return [{ path, message: `nests deeper than ${MAX_JSON_DEPTH}` }];
  const bytes = Buffer.byteLength(JSON.stringify(schema) ?? "");
  if (bytes > MAX_BYTES) return [{ path, message: `has ${bytes} bytes, at most ${MAX_BYTES}` }];
  if (!isObject(schema) || schema.type !== "object") return [{ path, message: "must have type object" }];
  const reader = new Reader(judge);
  reader.schema(schema, path, 0);
  return reader.issues;
}

interface Rule {
  readonly must: string;
  fits(value: unknown, beside: Readonly<Record<string, unknown>>): boolean;
}

const NUMBER: Rule = { must: "be a number", fits: (value) => typeof value === "number" };
const COUNT: Rule = {
  must: "be a whole number from 0 on",
  fits: (value) => Number.isInteger(value) && Number(value) >= 0,
};
const NOTE: Rule = { must: "be anything", fits: () => true };

/** Keywords whose value contains no schema and no pattern. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [
    "type",
    {
      must: `be of ${TYPES.join(", ")}, each once at most`,
      fits: (value) => isType(value) || (isListOf(value, isType) && isWithoutDoubles(value)),
    },
  ],
  ["enum", { must: "be a list of strings, numbers, booleans or nulls", fits: (value) => isListOf(value, isScalar) }],
  ["const", { must: "be a string, number, boolean or null", fits: isScalar }],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].map((name) => [name, NUMBER] as const),
  ["multipleOf", { must: "be a number above 0", fits: (value) => typeof value === "number" && value > 0 }],
  ...["Length", "Items", "Properties"].flatMap((of) => [[`min${of}`, COUNT] as const, [`max${of}`, COUNT] as const]),
  [
    "uniqueItems",
    {
      must: `be true or false, and true only beside maxItems of at most ${MAX_UNIQUE}`,
      fits: (value, { maxItems }) =>
        value === false || (value === true && Number(maxItems ?? Number.NaN) <= MAX_UNIQUE),
    },
  ],
  ["required", { must: "be a list of names", fits: (value) => isListOf(value, isText) }],
  ["format", { must: `be one of ${FORMATS.join(", ")}`, fits: (value) => isText(value) && FORMATS.includes(value) }],
  ...NOTES.map((name) => [name, NOTE] as const),
]);

/** Walks a schema once and counts what it contains. */
class Reader {
  readonly issues: Issue[] = [];
  readonly #judge: PatternJudge;
  readonly #found = { schemas: 0, alternatives: 0, values: 0, names: 0 };

  constructor(judge: PatternJudge) {
    this.#judge = judge;
  }

  schema(schema: unknown, path: string, depth: number): void {
    if (!this.#isFree("schemas", 1, path)) return;
    if (depth > MAX_DEPTH) this.#fault(path, `is nested deeper than ${MAX_DEPTH} schemas`);
    else if (isObject(schema)) {
      for (const [name, value] of Object.entries(schema)) {
        this.#keyword(name, value, `${path}/${pointer(name)}`, depth + 1, schema);
      }
    } else if (typeof schema !== "boolean") this.#fault(path, "must be a schema: an object, true or false");
  }

  #fault(path: string, message: string): void {
    this.issues.push({ path, message });
  }

  /** Reports a limit once, where it is passed; the rest of the schema is not walked. */
  #isFree(what: keyof typeof MOST, count: number, path: string): boolean {
    const before = this.#found[what];
    this.#found[what] = before + count;
    if (before <= MOST[what] && before + count > MOST[what])
      this.#fault(path, `is too much: at most ${MOST[what]} ${NAMES[what]}`);
    return before + count <= MOST[what];
  }

  #keyword(name: string, value: unknown, path: string, depth: number, beside: Record<string, unknown>): void {
    const rule = name.startsWith("x-") ? NOTE : RULES.get(name);
    if (rule !== undefined) {
      if (!rule.fits(value, beside)) this.#fault(path, `must ${rule.must}`);
      else if (name === "enum") this.#isFree("values", (value as readonly unknown[]).length, path);
      else if (name === "required") this.#isFree("names", (value as readonly unknown[]).length, path);
      return;
    }
    switch (name) {
      case "pattern":
        this.#pattern(value, path);
        break;
      case "properties":
        this.#properties(value, path, depth);
        break;
      case "items":
      case "additionalProperties":
        this.schema(value, path, depth);
        break;
      case "not":
      case "propertyNames":
        this.#alternatives([value], () => path, depth);
        break;
      case "allOf":
      case "anyOf":
      case "oneOf":
        if (!Array.isArray(value) || value.length === 0) this.#fault(path, "must be a list of schemas");
        else this.#alternatives(value, (index) => `${path}/${index}`, depth);
        break;
      default:
        this.#fault(path, REFERENCES.has(name) ? NO_REFERENCES : NOT_ALLOWED);
    }
  }

  #pattern(value: unknown, path: string): void {
    const fault = isText(value) ? this.#judge.fault(value) : "must be a text";
    if (fault !== undefined) this.#fault(path, fault);
  }

  #properties(value: unknown, path: string, depth: number): void {
    if (!isObject(value)) this.#fault(path, "must be an object of schemas");
    else for (const [name, schema] of Object.entries(value)) this.schema(schema, `${path}/${pointer(name)}`, depth);
  }

  #alternatives(schemas: readonly unknown[], path: (index: number) => string, depth: number): void {
    for (const [index, schema] of schemas.entries()) {
      if (this.#isFree("alternatives", 1, path(index))) this.schema(schema, path(index), depth);
    }
  }
}

function isListOf(value: unknown, fits: (each: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.every(fits);
}

function isWithoutDoubles(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isType(value: unknown): boolean {
  return isText(value) && TYPES.includes(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

export function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== "object") return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}
