import type { TObject, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import Format from "typebox/format";
import { Settings } from "typebox/system";
import { isInstant } from "../../../base/instant.ts";
import { oneOf } from "../../../base/one-of.ts";
import { AVATAR_URL } from "../../../contract/projects/portal-appearance.ts";
import { HUMAN_LINE, HUMAN_TEXT } from "../../../contract/wire/schema.ts";
import { type Issue, MAX_ISSUES } from "../errors.ts";
import { MAX_DEPTH, MAX_KEYS, MAX_VALUES } from "./body.ts";
import { oversized } from "./document-bounds.ts";
import { type Misfit, misfits } from "./misfits.ts";

// typebox stops at 8 errors and accepts dates that RFC 3339 does not. Both registries are global to the process.
Settings.Set({ maxErrors: 200 });
Format.Set("date-time", isInstant);

/** A compiled schema that reports what is wrong by the caller's own names. */
export class Checker {
  readonly #where: string;
  readonly #schema: TSchema;
  readonly #validator: Validator;

  /** @param where first word of every path: `body`, `query`, `path`, `response`. */
  constructor(where: string, schema: TSchema) {
    this.#where = where;
    this.#schema = schema;
    this.#validator = Compile(schema);
  }

  /** For values that come from the database: it does not check again whether SQL can hold them. */
  fits(value: unknown): boolean {
    return this.#validator.Check(value);
  }

  issues(value: unknown): readonly Issue[] {
    const unfit = unfitForStorage(this.#where, value);
    if (unfit !== undefined) return [unfit];
    if (this.#validator.Check(value)) return [...oversized(this.#schema, value, this.#where)].slice(0, MAX_ISSUES);
    const found = new Map<string, Issue>();
    for (const error of misfits(this.#schema, value)) {
      for (const issue of toIssues(this.#where, error)) {
        if (found.size < MAX_ISSUES) found.set(`${issue.path} ${issue.message}`, issue);
      }
      if (found.size === MAX_ISSUES) break;
    }
    return found.size > 0 ? [...found.values()] : [{ path: this.#where, message: "does not fit its schema" }];
  }
}

function toIssues(where: string, error: Misfit): Issue[] {
  const path = [where, ...error.instancePath.split("/").slice(1).map(unescapePointer)].join(".");
  switch (error.keyword) {
    case "required":
      return error.params.requiredProperties.map((name) => ({ path: `${path}.${name}`, message: "is required" }));
    case "additionalProperties":
      return error.params.additionalProperties.map((name) => ({
        path: `${path}.${name.slice(0, 128)}`,
        message: "is not a known key",
      }));
    case "enum":
      return [{ path, message: `must be ${oneOf(error.params.allowedValues)}` }];
    case "const":
      return [{ path, message: `must be ${JSON.stringify(error.params.allowedValue)}` }];
    case "pattern":
      return [{ path, message: IN_WORDS.get(String(error.params.pattern)) ?? error.message }];
    // The errors of the parts say it better.
    case "boolean":
    case "anyOf":
      return [];
    default:
      return [{ path, message: error.message }];
  }
}

/** The patterns that say little as an expression. */
const IN_WORDS: ReadonlyMap<string, string> = new Map([
  [HUMAN_LINE, "has an invisible or control character"],
  [HUMAN_TEXT, "has an invisible or control character"],
  [AVATAR_URL, "must be https:// with the name of a host, without user or fragment, or data:image/…;base64,…"],
]);

function unescapePointer(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~").slice(0, 128);
}

/**
 * Refuses strings that SQL cannot hold, numbers that JSON cannot, nesting too deep for recursion, and more values than the event loop should
 * walk.
 */
function unfitForStorage(where: string, root: unknown): Issue | undefined {
  const fault = faultIn(root, 0, { values: MAX_VALUES });
  return fault && { path: [where, ...(fault.at ?? [])].join("."), message: fault.message };
}

interface Fault {
  readonly message: string;
  /**
   * Built on the way back from the fault, because a path for each valid value would cost more than reading the value.
   */
  readonly at?: readonly string[];
}

function faultIn(value: unknown, depth: number, left: { values: number }): Fault | undefined {
  if (depth > MAX_DEPTH) return { message: `is nested deeper than ${MAX_DEPTH}` };
  if (typeof value === "string") {
    return isStorable(value) ? undefined : { message: "contains NUL or a lone surrogate", at: [] };
  }
  // JSON.parse reads 1e400 as Infinity, which no JSON can hold again.
  if (typeof value === "number" && !Number.isFinite(value)) return { message: "is beyond all numbers", at: [] };
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) {
    left.values -= value.length;
    if (left.values < 0) return { message: `has more than ${MAX_VALUES} values` };
    for (let index = 0; index < value.length; index += 1) {
      const fault = faultIn(value[index], depth + 1, left);
      if (fault !== undefined) return within(String(index), fault);
    }
    return undefined;
  }
  const map = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(map);
  if (names.length > MAX_KEYS) return { message: `has more than ${MAX_KEYS} keys`, at: [] };
  left.values -= names.length;
  if (left.values < 0) return { message: `has more than ${MAX_VALUES} values` };
  for (const name of names) {
    if (!isStorable(name)) return { message: "has a key with NUL or a lone surrogate", at: [] };
    const fault = faultIn(map[name], depth + 1, left);
    if (fault !== undefined) return within(name, fault);
  }
  return undefined;
}

function within(name: string, { message, at }: Fault): Fault {
  return { message, ...(at !== undefined && { at: [name.slice(0, 128), ...at] }) };
}

function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/**
 * Converts query strings to the types of the schema: arrays from repeats or commas, integers, numbers, booleans. Fills
 * in defaults and drops unknown parameters (§0.1). A value that does not convert stays text, and the checker then
 * reports it.
 */
export function convertQuery(schema: TObject, search: URLSearchParams): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const form = property as QueryForm;
    const given = search.getAll(name);
    if (given.length === 0) {
      if (form.default !== undefined) query[name] = form.default;
    } else if (form.type === "array") {
      query[name] = given.flatMap((text) => text.split(",")).map((text) => convert(form.items?.type, text));
    } else {
      query[name] = given.length === 1 ? convert(form.type, given[0] ?? "") : given;
    }
  }
  return query;
}

/** The JSON Schema keywords that a query parameter uses. */
interface QueryForm {
  readonly type?: string;
  readonly default?: unknown;
  readonly items?: { readonly type?: string };
}

function convert(type: string | undefined, text: string): unknown {
  if (type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === "number" && /^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}
