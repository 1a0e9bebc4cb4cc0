import canonicalize from "canonicalize";
import Format from "typebox/format";
import { isInstant } from "../base/instant.ts";
import { oneOf } from "../base/one-of.ts";
import { type Issue, MAX_ISSUES, pointer } from "./issue.ts";
import type { ParamsSchema, Scalar, SchemaObject } from "./params-schema.ts";
import { PatternJudge } from "./stranger-pattern.ts";

/**
 * Lists what does not fit a schema of the supported subset, up to the number of issues in an answer. This is our
 * own interpreter: it must not compile a vendor's text, and interpreters of complete JSON Schema can work for
 * longer than the size of a value suggests.
 */
export function paramsIssues(
  schema: ParamsSchema,
  value: unknown,
  path = "",
  judge: PatternJudge = new PatternJudge(),
): readonly Issue[] {
  const found = new Misfits(MAX_ISSUES, judge);
  found.look(schema, value, path);
  return found.issues;
}

class Misfits {
  readonly issues: Issue[] = [];
  readonly #most: number;
  readonly #judge: PatternJudge;

  constructor(most: number, judge: PatternJudge) {
    this.#most = most;
    this.#judge = judge;
  }

  look(schema: ParamsSchema, value: unknown, path: string): void {
    if (schema === true) return;
    if (schema === false) {
      this.#add(path, "is not allowed");
      return;
    }
    this.#add(path, kindProblem(schema, value));
    if (typeof value === "number") this.#add(path, numberProblem(schema, value));
    if (typeof value === "string") this.#add(path, textProblem(schema, value, this.#judge));
    if (Array.isArray(value)) this.#list(schema, value, path);
    if (isObject(value)) this.#object(schema, value, path);
    this.#combined(schema, value, path);
  }

  get #isFull(): boolean {
    return this.issues.length >= this.#most;
  }

  #add(path: string, message: string | undefined): void {
    if (message !== undefined && !this.#isFull) this.issues.push({ path, message });
  }

  #list(schema: SchemaObject, list: readonly unknown[], path: string): void {
    const { minItems = 0, maxItems = list.length, uniqueItems, items = true } = schema;
    if (list.length < minItems) {
      this.#add(path, `must have at least ${minItems} items`);
      return;
    }
    if (list.length > maxItems) {
      this.#add(path, `must have at most ${maxItems} items`);
      return;
    }
    const isTwice = uniqueItems === true && new Set(list.map((item) => canonicalize(item))).size < list.length;
    this.#add(path, isTwice ? "must have no item twice" : undefined);
    for (const [index, item] of list.entries()) {
      if (this.#isFull) return;
      this.look(items, item, `${path}/${index}`);
    }
  }

  #object(schema: SchemaObject, value: Readonly<Record<string, unknown>>, path: string): void {
    const { properties = {}, required = [], additionalProperties = true, propertyNames = true } = schema;
    const names = Object.keys(value);
    const { minProperties = 0, maxProperties = names.length } = schema;
    if (names.length < minProperties) {
      this.#add(path, `must have at least ${minProperties} keys`);
      return;
    }
    if (names.length > maxProperties) {
      this.#add(path, `must have at most ${maxProperties} keys`);
      return;
    }
    for (const name of required) {
      if (this.#isFull) return;
      if (!Object.hasOwn(value, name)) this.#add(`${path}/${pointer(name)}`, "is required");
    }
    for (const name of names) {
      if (this.#isFull) return;
      const at = `${path}/${pointer(name)}`;
      const inner = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
      if (inner === false) this.#add(at, "is not a known key");
      else this.look(inner ?? true, value[name], at);
      this.look(propertyNames, name, at);
    }
  }

  #combined({ allOf = [], anyOf, oneOf, not }: SchemaObject, value: unknown, path: string): void {
    if (this.#isFull) return;
    const fits = (each: ParamsSchema): boolean => {
      const first = new Misfits(1, this.#judge);
      first.look(each, value, path);
      return first.issues.length === 0;
    };
    for (const each of allOf) this.look(each, value, path);
    if (anyOf?.some(fits) === false) this.#add(path, "must fit one of its schema's alternatives");
    if (oneOf !== undefined && oneOf.filter(fits).length !== 1) {
      this.#add(path, "must fit exactly one of its schema's alternatives");
    }
    if (not !== undefined && fits(not)) this.#add(path, "must not fit what its schema excludes");
  }
}

function kindProblem({ type, enum: words, const: only }: SchemaObject, value: unknown): string | undefined {
  const types = typeof type === "string" ? [type] : type;
  if (types?.some((each) => isOfType(each, value)) === false) return `must be ${types.join(" or ")}`;
  if (words?.includes(value as Scalar) === false) return `must be ${oneOf(words)}`;
  return only !== undefined && value !== only ? `must be ${JSON.stringify(only).slice(0, 128)}` : undefined;
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

function numberProblem(schema: SchemaObject, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (minimum !== undefined && value < minimum) return `must be >= ${minimum}`;
  if (maximum !== undefined && value > maximum) return `must be <= ${maximum}`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `must be > ${exclusiveMinimum}`;
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return `must be < ${exclusiveMaximum}`;
  return multipleOf !== undefined && !isMultiple(value, multipleOf) ? `must be a multiple of ${multipleOf}` : undefined;
}

/** Allows for rounding: 0.3 counts as a multiple of 0.1, although binary fractions are not exact. */
function isMultiple(value: number, unit: number): boolean {
  const times = value / unit;
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
}

function textProblem(schema: SchemaObject, value: string, judge: PatternJudge): string | undefined {
  const { minLength, maxLength, format, pattern } = schema;
  const length = minLength === undefined && maxLength === undefined ? 0 : [...value].length;
  if (minLength !== undefined && length < minLength) return `must have at least ${minLength} characters`;
  if (maxLength !== undefined && length > maxLength) return `must have at most ${maxLength} characters`;
  if (format !== undefined && !isOfFormat(format, value)) return `must be of format ${format}`;
  return pattern === undefined ? undefined : judge.problem(pattern, value);
}

/** The library's own check of `date-time` takes days that no month has. */
function isOfFormat(format: string, value: string): boolean {
  return format === "date-time" ? isInstant(value) : Format.Test(format, value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
