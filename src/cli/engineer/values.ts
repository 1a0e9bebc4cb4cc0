import { isRecord } from "../../base/is-record.ts";
import { kebab } from "../../contract/wire/kebab.ts";
import { FriendlyError, UsageError } from "../kernel/command.ts";
import { givenText, givenValue } from "../kernel/given/given-file.ts";
import type { Flag, ValueSchema, Verb } from "./verbs.ts";

export interface CallValues {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Undefined: the call has no body. */
  readonly body: unknown;
  /** By flag, what was written as `NAME=VALUE`: of which kind a value is may be another's to say. */
  readonly words?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface Given {
  readonly positionals: readonly string[];
  /** By flag; each may have been written several times. */
  readonly texts: Readonly<Record<string, readonly string[]>>;
  /** `--file`: the body as YAML or JSON; `-` is standard input. Flags win over it. */
  readonly file: string | undefined;
}

/**
 * Turns the typed words into the parts of the call. The API checks the values; this refuses only what cannot be sent.
 * @throws UsageError when a word is missing, too many, or not of its kind.
 */
export async function callValues(verb: Verb, given: Given, readInput: () => Promise<string>): Promise<CallValues> {
  const spared = verb.inWorkspace && given.positionals.length === verb.positionals.length - 1;
  const positionals = spared ? verb.positionals.slice(1) : verb.positionals;
  if (given.positionals.length !== positionals.length) {
    const wanted = verb.positionals
      .slice(verb.inWorkspace ? 1 : 0)
      .map((name) => name.toUpperCase())
      .join(" ");
    throw new UsageError(
      given.positionals.length > positionals.length
        ? `too many words: ${given.positionals.slice(positionals.length).join(" ")}`
        : `${wanted} must be given`,
    );
  }
  const params = Object.fromEntries(positionals.map((name, index) => [name, given.positionals[index] ?? ""]));
  for (const [name, text] of Object.entries(params)) requireListed(verb, name, text);
  const fromFile = given.file === undefined ? {} : await recordOf(given.file, readInput);
  const query: Record<string, unknown> = {};
  const body: Record<string, unknown> = { ...fromFile };
  const words: Record<string, Readonly<Record<string, string>>> = {};
  for (const flag of verb.flags) {
    const texts = given.texts[flag.name];
    if (texts === undefined) continue;
    const pairs = isPairs(flag.schema, texts) ? pairsOf(texts) : undefined;
    if (pairs !== undefined) words[flag.property] = pairs;
    const value = pairs === undefined ? await typed(flag, texts, readInput) : valuesOf(pairs);
    if (flag.places.includes("query")) query[flag.property] = value;
    if (flag.places.includes("body")) body[flag.property] = value;
  }
  const missing = verb.flags.filter(({ required, places, property }) => {
    return required && !(places.includes("body") ? Object.hasOwn(body, property) : Object.hasOwn(query, property));
  });
  if (missing.length > 0) throw new UsageError(`${missing.map(({ name }) => `--${name}`).join(", ")} missing`);
  const hasBody = verb.route.body !== undefined && (Object.keys(body).length > 0 || verb.route.bodyOptional !== true);
  return { params, query, body: hasBody ? body : undefined, words };
}

/** @throws UsageError when a word of the path is none of those that the API lists. */
function requireListed({ route }: Verb, name: string, text: string): void {
  const words = (route.params as ValueSchema | undefined)?.properties?.[name]?.enum;
  if (words !== undefined && !words.includes(text)) {
    throw new UsageError(`${kebab(name).toUpperCase()} is one of ${words.join(", ")}, not ${text}`);
  }
}

async function typed(flag: Flag, texts: readonly string[], readInput: () => Promise<string>): Promise<unknown> {
  const { schema } = flag;
  if (schema.type === "array" && isScalar(schema.items)) {
    const words = texts.flatMap((text) => (text === "" ? [] : text.split(",")));
    return words.map((word) => scalar(flag, schema.items ?? {}, word));
  }
  const [text = ""] = texts;
  if (texts.length > 1) throw new UsageError(`--${flag.name} is given twice`);
  if (text === "null") return null;
  if (isScalar(schema)) return scalar(flag, schema, text);
  if (!text.startsWith("@")) return givenValue(`--${flag.name}`, text);
  const file = text.slice(1);
  return givenValue(file, await contentOf(file, readInput));
}

function isScalar(schema: ValueSchema | undefined): boolean {
  if (schema === undefined) return false;
  return ["string", "integer", "number", "boolean"].includes(schema.type ?? "") || schema.const !== undefined;
}

/** Of a map, free-form or with fields: `--params namespace=shop --params replicas=5`. */
function isPairs({ type }: ValueSchema, texts: readonly string[]): boolean {
  return type === "object" && texts.every((one) => /^[\w.-]+=/.test(one));
}

function pairsOf(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

function valuesOf(pairs: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(pairs).map(([name, text]) => [name, jsonOr(text)]));
}

/** `5`, `true` and `["a"]` are JSON; other words are text. `"5"` in quotes is the text 5. */
export function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function scalar(flag: Flag, { type, enum: words }: ValueSchema, text: string): unknown {
  switch (type) {
    case "boolean":
      if (text === "true" || text === "false") return text === "true";
      throw new UsageError(`--${flag.name} is true or false, not ${text}`);
    case "integer":
    case "number":
      if (text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
      throw new UsageError(`--${flag.name} is a number, not ${text}`);
    default:
      if (words !== undefined && !words.includes(text)) {
        throw new UsageError(`--${flag.name} is one of ${words.join(", ")}, not ${text}`);
      }
      return text;
  }
}

async function recordOf(file: string, readInput: () => Promise<string>): Promise<Readonly<Record<string, unknown>>> {
  const content = await givenValue(file, await contentOf(file, readInput));
  if (isRecord(content)) return content;
  throw new FriendlyError(`${file} must hold the fields of the request`);
}

async function contentOf(file: string, readInput: () => Promise<string>): Promise<string> {
  return file === "-" ? readInput() : givenText(file);
}
