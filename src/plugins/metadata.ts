import Type, { type TSchema } from "typebox";
import { Check, Errors } from "typebox/schema";
import { isRecord } from "../base/is-record.ts";
import { oneOf } from "../base/one-of.ts";
import { type Issue, MAX_ISSUES } from "./issue.ts";
import { isDeeperThan, type SchemaObject, schemaFaults } from "./params-schema.ts";
import { MAX_PAIRS, PAIRS_WORDS, type PluginRule, pairsIn, RULE_WORDS, Rule, rulesIssues } from "./rules.ts";
import { PatternJudge } from "./stranger-pattern.ts";
import {
  Description,
  isReservedName,
  MAX_COMMAND,
  MAX_OPERATIONS,
  Name,
  PATTERN_WORDS,
  RESERVED_NAMES,
  ResultWord,
  TIERS,
  type Tier,
  Version,
  words,
} from "./words.ts";

/** The one file beside `metadata.json` in a bundle that the operator can run. */
export const MODULE_FILE = "plugin.mjs";
export const METADATA_FILE = "metadata.json";
/** Of `metadata.json`. Larger than the operations of any plugin need. */
export const MAX_METADATA_BYTES = 256 * 1024;
/** Keys of objects and elements of lists together: each costs time in every later step. */
const MAX_METADATA_VALUES = MAX_METADATA_BYTES / 16;
const MAX_TIME_LIMIT_SECONDS = 300;
const MAX_RULES = 16;
const MAX_RESULT_WORDS = 32;
/** A params schema may nest 64 levels. */
const MAX_DEPTH = 72;
/** Words that the operator itself adds to a result. */
const OWN_RESULT_WORDS: readonly string[] = ["truncated", "omitted"];

/** What an author reads of a key that plugins had before. */
const UNKNOWN_KEYS: ReadonlyMap<string, string> = new Map([
  [
    "scope",
    "is not a known key: an operation works in the one namespace that its param namespace names, and on no object without one",
  ],
]);

/** An operation as `metadata.json` has it, with everything filled in that may be left out. */
export interface PluginOperation {
  readonly name: string;
  readonly tier: Tier;
  readonly description: string;
  readonly paramsSchema: SchemaObject;
  /** What its account may do while it runs. */
  readonly rules: readonly PluginRule[];
  readonly timeLimitSeconds: number;
  /** The top-level words of its result, each with what it says. Other words are dropped. */
  readonly result: Readonly<Record<string, string>>;
}

/** `metadata.json` of a plugin that the operator runs. */
export interface PluginMetadata {
  readonly name: string;
  readonly version: string;
  readonly tier: Tier;
  readonly description: string;
  readonly module: typeof MODULE_FILE;
  readonly operations: readonly PluginOperation[];
}

export type Read<T> =
  | { readonly ok: true; readonly metadata: T }
  | { readonly ok: false; readonly issues: readonly Issue[] };

const TierWord = words(TIERS);
const Rules = Type.Array(Rule, { minItems: 1, maxItems: MAX_RULES });
const ResultWords = Type.Record(Type.String(), Description, { maxProperties: MAX_RESULT_WORDS });

const Head = Type.Object(
  {
    name: Name,
    version: Version,
    tier: Type.Optional(TierWord),
    description: Type.Optional(Description),
    module: Type.Unsafe<typeof MODULE_FILE>({ type: "string", const: MODULE_FILE }),
    operations: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_OPERATIONS }),
  },
  { additionalProperties: false },
);

const Operation = Type.Object(
  {
    name: Name,
    tier: Type.Optional(TierWord),
    description: Description,
    paramsSchema: Type.Record(Type.String(), Type.Unknown()),
    rules: Rules,
    timeLimitSeconds: Type.Integer({ minimum: 1, maximum: MAX_TIME_LIMIT_SECONDS }),
    result: ResultWords,
  },
  { additionalProperties: false },
);

/** Whether a bundle says that it has a module for the operator. Other bundles are kept, and no operator runs them. */
export function hasModule(value: unknown): boolean {
  return typeof value === "object" && value !== null && "module" in value;
}

/** Why metadata of any bundle is not read at all. Of a value that {@link MAX_METADATA_BYTES} bound it takes linear time. */
export function metadataExcess(value: unknown): string | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) return `nests deeper than ${MAX_DEPTH}`;
  return valuesIn(value) > MAX_METADATA_VALUES ? `has more than ${MAX_METADATA_VALUES} values` : undefined;
}

function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + 1 + valuesIn(inner), 0);
}

/**
 * Reads the metadata of a plugin that the operator runs: shape, names, rules and params schemas. It works for a bounded time on
 * anything of a bounded size: the caller bounds the bytes by {@link MAX_METADATA_BYTES}.
 */
export function readPluginMetadata(value: unknown): Read<PluginMetadata> {
  const excess = metadataExcess(value);
  if (excess !== undefined) return refused([{ path: "", message: excess }]);
  const shape = shapeIssues(Head, value, "");
  const { operations = [], ...head } = isRecord(value) ? value : {};
  // Beyond the most operations each of them would be read for nothing.
  if (!Array.isArray(operations) || operations.length > MAX_OPERATIONS) return refused(shape);
  const pluginTier = Check(TierWord, head.tier) ? head.tier : "destructive";
  const issues: Issue[] = [...shape, ...nameIssues(head.name, operations.map(nameOf))];
  if (operations.reduce((sum: number, each) => sum + pairsOf(each), 0) > MAX_PAIRS)
    return refused([{ path: "/operations", message: `their rules ${PAIRS_WORDS}` }, ...issues]);
  const judge = new PatternJudge();
  const sound: PluginOperation[] = [];
  for (const [index, operation] of operations.entries()) {
    // More issues are not shown, so no more are looked for.
    if (issues.length >= MAX_ISSUES) break;
    const read = readOperation(operation, `/operations/${index}`, pluginTier, judge);
    if (read.ok) sound.push(read.metadata);
    else for (const issue of read.issues) issues.push(issue);
  }
  if (issues.length > 0 || !Check(Head, value)) return refused(issues);
  const { name, version, description = "", module } = value;
  return { ok: true, metadata: { name, version, tier: pluginTier, description, module, operations: sound } };
}

function refused<T>(issues: readonly Issue[]): Read<T> {
  return { ok: false, issues: issues.slice(0, MAX_ISSUES) };
}

function nameOf(operation: unknown): string | undefined {
  return isRecord(operation) && typeof operation.name === "string" ? operation.name : undefined;
}

/** Of rules of another shape: none, because they are not judged. */
function pairsOf(operation: unknown): number {
  return isRecord(operation) && Check(Rules, operation.rules) ? pairsIn(operation.rules) : 0;
}

function readOperation(value: unknown, path: string, pluginTier: Tier, judge: PatternJudge): Read<PluginOperation> {
  const given = isRecord(value) ? value : {};
  const tier = Check(TierWord, given.tier) ? given.tier : pluginTier;
  // Each part as far as it can be read: one try of an author's shows all that is wrong.
  const issues = [
    ...shapeIssues(Operation, value, path),
    ...paramsSchemaIssues(given.paramsSchema, `${path}/paramsSchema`, judge),
    ...(Check(Rules, given.rules) ? rulesIssues(given.rules, { tier, path: `${path}/rules` }) : []),
    ...(Check(ResultWords, given.result) ? resultIssues(given.result, `${path}/result`) : []),
  ];
  if (issues.length > 0 || !Check(Operation, value)) return refused(issues);
  const { name, description, rules, timeLimitSeconds, result } = value;
  const paramsSchema = value.paramsSchema as SchemaObject;
  return { ok: true, metadata: { name, tier, description, paramsSchema, rules, timeLimitSeconds, result } };
}

function nameIssues(plugin: unknown, names: readonly (string | undefined)[]): readonly Issue[] {
  const isText = typeof plugin === "string";
  const reserved =
    isText && isReservedName(plugin)
      ? [{ path: "/name", message: `is, or begins with, a word of Sallyport's own: ${RESERVED_NAMES.join(", ")}` }]
      : [];
  const first = new Set<string>();
  return [
    ...reserved,
    ...names.flatMap((name, index) => {
      if (name === undefined) return [];
      const path = `/operations/${index}/name`;
      const isTwice = first.has(name);
      first.add(name);
      const isLong = isText && `${plugin}/${name}`.length > MAX_COMMAND;
      return [
        ...(isTwice ? [{ path, message: "is declared twice" }] : []),
        ...(isLong ? [{ path, message: `is too long: plugin/operation may have ${MAX_COMMAND} characters` }] : []),
      ];
    }),
  ];
}

/** The param that says where an operation works: the operator opens its rights there and nowhere else. */
function paramsSchemaIssues(paramsSchema: unknown, path: string, judge: PatternJudge): readonly Issue[] {
  if (!isRecord(paramsSchema)) return [];
  const faults = schemaFaults(paramsSchema, path, judge);
  if (faults.length > 0) return faults;
  const { properties = {}, required = [] } = paramsSchema as SchemaObject;
  const schema = Object.hasOwn(properties, "namespace") ? properties.namespace : undefined;
  const isText = typeof schema === "object" && schema.type === "string";
  if (isText && required.includes("namespace")) return [];
  return [{ path, message: "must have a required property namespace of type string: an operation works there" }];
}

function resultIssues(result: Readonly<Record<string, string>>, path: string): readonly Issue[] {
  return Object.keys(result).flatMap((word) => {
    if (OWN_RESULT_WORDS.includes(word)) return [{ path, message: `${word} is a word that the operator adds itself` }];
    return shapeIssues(ResultWord, word, path).map(({ message }) => ({
      path,
      message: `the word ${JSON.stringify(word.slice(0, 64))} ${message}`,
    }));
  });
}

function shapeIssues(schema: TSchema, value: unknown, path: string): readonly Issue[] {
  const [, errors] = Errors(schema, value);
  return errors.flatMap((error) => toIssues(error, `${path}${error.instancePath}`));
}

function toIssues(error: ReturnType<typeof Errors>[1][number], path: string): readonly Issue[] {
  switch (error.keyword) {
    case "required":
      return error.params.requiredProperties.map((name) => ({ path: `${path}/${name}`, message: "is required" }));
    case "additionalProperties":
      return error.params.additionalProperties.map((name) => ({
        path: `${path}/${name.slice(0, 128)}`,
        message: UNKNOWN_KEYS.get(name) ?? "is not a known key",
      }));
    case "enum":
      return [{ path, message: `must be ${oneOf(error.params.allowedValues)}` }];
    case "const":
      return [{ path, message: `must be ${JSON.stringify(error.params.allowedValue)}` }];
    case "pattern": {
      const pattern = String(error.params.pattern);
      return [{ path, message: PATTERN_WORDS.get(pattern) ?? RULE_WORDS.get(pattern) ?? error.message }];
    }
    // A key that is not known is reported by the object that holds it.
    case "boolean":
      return [];
    default:
      return [{ path, message: error.message }];
  }
}
