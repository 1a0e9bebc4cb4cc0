import { readFile } from "node:fs/promises";
import { kebab } from "../../contract/wire/kebab.ts";
import { FriendlyError, UsageError } from "../kernel/command.ts";
import type { Flag, ValueSchema, Verb } from "./verbs.ts";

export interface CallValues {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Undefined: the call has no body. */
  readonly body: unknown;
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
  for (const flag of verb.flags) {
    const texts = given.texts[flag.name];
    if (texts === undefined) continue;
    const value = await typed(flag, texts, readInput);
    if (flag.places.includes("query")) query[flag.property] = value;
    if (flag.places.includes("body")) body[flag.property] = value;
  }
  const missing = verb.flags.filter(({ required, places, property }) => {
    return required && !(places.includes("body") ? Object.hasOwn(body, property) : Object.hasOwn(query, property));
  });
  if (missing.length > 0) throw new UsageError(`${missing.map(({ name }) => `--${name}`).join(", ")} missing`);
  const hasBody = verb.route.body !== undefined && (Object.keys(body).length > 0 || verb.route.bodyOptional !== true);
  return { params, query, body: hasBody ? body : undefined };
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
  if (texts.every((one) => /^[\w.-]+=/.test(one)) && isMap(schema)) return pairs(texts);
  if (texts.length > 1) throw new UsageError(`--${flag.name} is given twice`);
  if (text === "null") return null;
  if (isScalar(schema)) return scalar(flag, schema, text);
  const content = text.startsWith("@") ? await contentOf(text.slice(1), readInput) : text;
  const { parse } = await import("yaml");
  try {
    return parse(content);
  } catch (error) {
    throw new UsageError(`--${flag.name} is JSON or YAML, @FILE, or @- for standard input`, { cause: error });
  }
}

function isScalar(schema: ValueSchema | undefined): boolean {
  if (schema === undefined) return false;
  return ["string", "integer", "number", "boolean"].includes(schema.type ?? "") || schema.const !== undefined;
}

/** Free-form, or with fields: `--params namespace=shop --params replicas=5`. */
function isMap(schema: ValueSchema): boolean {
  return schema.type === "object";
}

function pairs(texts: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      return [text.slice(0, at), wordOrJson(text.slice(at + 1))];
    }),
  );
}

/** `5`, `true` and `["a"]` are JSON; other words are text. `"5"` in quotes is the text 5. */
function wordOrJson(text: string): unknown {
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
  let content: unknown;
  const { parse } = await import("yaml");
  try {
    content = parse(await contentOf(file, readInput));
  } catch (error) {
    if (error instanceof FriendlyError) throw error;
    throw new FriendlyError(`${file} is neither YAML nor JSON`, { cause: error });
  }
  if (typeof content === "object" && content !== null && !Array.isArray(content)) return { ...content };
  throw new FriendlyError(`${file} must hold the fields of the request`);
}

async function contentOf(file: string, readInput: () => Promise<string>): Promise<string> {
  if (file === "-") return readInput();
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new FriendlyError(`${file} cannot be read`, { cause: error });
  }
}
