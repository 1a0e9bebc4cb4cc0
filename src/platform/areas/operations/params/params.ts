import type { JsonSchema } from "../../../../contract/operations/builtin-plugins.ts";
import { HUMAN_TEXT } from "../../../../contract/wire/schema.ts";
import { type Issue, MAX_ISSUES, PlatformError } from "../../../kernel/errors.ts";
import { PatternJudge } from "../../../kernel/input/stranger-pattern.ts";
import { paramsIssues } from "./params-fit.ts";
import { isDeeperThan, type ParamsSchema, pointer, schemaFaults } from "./params-schema.ts";
import { shownLength } from "./shown-length.ts";

/** Operation params must fit the custom resources of the cluster (§2.4). */
const MAX_KEYS = 32;
const MAX_BYTES = 4096;
const MAX_PLAN_BYTES = 32_768;
/** Nobody reads deeper, and what walks params on the way recurses; the agent takes no more. */
const MAX_DEPTH = 16;
/** What the cluster's policy takes of one line and of a plan, as it shows them. */
const MAX_SHOWN = 8192;
const MAX_PLAN_SHOWN = 65_536;

export type Params = Readonly<Record<string, unknown>>;

/** One call's params, or one line's of a plan. `path` is the JSON pointer, in the body, to where they came in. */
export interface GivenParams {
  readonly path: string;
  readonly params: Params;
}

/**
 * Refuses params that would not fit, one line's or all of a plan's. A lone surrogate has no size: `checkParams` names it.
 * @throws PARAMS_TOO_LARGE
 */
export function checkSizes(lines: readonly GivenParams[]): void {
  let totalBytes = 0;
  for (const { path, params } of lines) {
    const keys = Object.keys(params).length;
    if (keys > MAX_KEYS) throw tooLarge(path, { keys, max: MAX_KEYS });
    if (isDeeperThan(params, MAX_DEPTH)) throw tooLarge(path, { maxDepth: MAX_DEPTH });
    const bytes = Buffer.byteLength(JSON.stringify(params));
    if (bytes > MAX_BYTES) throw tooLarge(path, { bytes, max: MAX_BYTES });
    totalBytes += bytes;
  }
  if (totalBytes > MAX_PLAN_BYTES) throw tooLarge("all params together", { bytes: totalBytes, max: MAX_PLAN_BYTES });
}

function tooLarge(what: string, context: Readonly<Record<string, number>>): PlatformError {
  const measures = Object.entries(context).map(([name, value]) => `${name} ${value}`);
  return new PlatformError("PARAMS_TOO_LARGE", { message: `${what}: ${measures.join(", ")}`, context });
}

/**
 * Refuses params that a person could misread or a machine round, or that the operation's own schema refuses; the
 * issues carry JSON pointers. Sizes have been checked.
 *
 * @throws INVALID_OPERATION_PARAMS
 */
export function checkParams(lines: readonly (GivenParams & { readonly schema: JsonSchema | undefined })[]): void {
  const judge = new PatternJudge();
  const issues = lines
    .flatMap(({ path, params, schema }) => [...valueIssues(path, params), ...schemaIssues(path, params, schema, judge)])
    .concat(lengthIssues(lines))
    .slice(0, MAX_ISSUES);
  if (issues.length === 0) return;
  const message = issues.map((issue) => `${issue.path} ${issue.message}`).join("; ");
  throw new PlatformError("INVALID_OPERATION_PARAMS", { message: message.slice(0, 1024), context: { issues } });
}

const READABLE = new RegExp(HUMAN_TEXT, "u");

/**
 * What is hashed must be what is shown and what arrives: no character that hides or reorders text, also in keys, and
 * no whole number past 2^53, which the next JSON parser on the way would round to another one.
 */
function valueIssues(path: string, value: unknown): readonly Issue[] {
  if (typeof value === "string") {
    return READABLE.test(value) && value.isWellFormed()
      ? []
      : [{ path, message: "holds characters that a reader cannot see" }];
  }
  if (typeof value === "number") {
    return Number.isInteger(value) && !Number.isSafeInteger(value)
      ? [{ path, message: "is a whole number beyond 2^53-1, which JSON readers round" }]
      : [];
  }
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(READABLE.test(key) && key.isWellFormed()
      ? []
      : [{ path, message: "has a key with characters that a reader cannot see" }]),
    ...valueIssues(`${path}/${pointer(key)}`, inner),
  ]);
}

/** Bytes that fit may still be too long to show: the cluster would refuse the plan, with nobody there to mend it. */
function lengthIssues(lines: readonly GivenParams[]): readonly Issue[] {
  let total = 0;
  return lines.flatMap(({ path, params }) => {
    const length = shownLength(params);
    const [shown, max, of] =
      length > MAX_SHOWN ? [length, MAX_SHOWN, ""] : [total + length, MAX_PLAN_SHOWN, " with those before"];
    total += length;
    if (shown <= max) return [];
    const message = `is shown as ${shown} characters${of}, at most ${max}: spaces and signs that do not print count as \\u00a0 does, fractions with six digits`;
    return [{ path, message }];
  });
}

/** A plugin that was registered before schemas had bounds may hold any: it is refused here, and says what to mend. */
function schemaIssues(
  path: string,
  params: Params,
  schema: JsonSchema | undefined,
  judge: PatternJudge,
): readonly Issue[] {
  if (schema === undefined) return [];
  const [fault] = schemaFaults(schema, "", judge);
  if (fault === undefined) return paramsIssues(schema as ParamsSchema, params, path, judge);
  const where = fault.path === "" ? "" : `${fault.path} `;
  return [{ path, message: `cannot be judged: the operation's paramsSchema: ${where}${fault.message}` }];
}
