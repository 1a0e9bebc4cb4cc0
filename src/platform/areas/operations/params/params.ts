import type { JsonSchema } from "../../../../contract/operations/builtin-plugins.ts";
import { HUMAN_TEXT } from "../../../../contract/wire/schema.ts";
import { pointer } from "../../../../plugins/issue.ts";
import { paramsIssues } from "../../../../plugins/params-fit.ts";
import { isDeeperThan, type ParamsSchema, schemaFaults } from "../../../../plugins/params-schema.ts";
import { PatternJudge } from "../../../../plugins/stranger-pattern.ts";
import { type Issue, MAX_ISSUES, PlatformError } from "../../../kernel/errors.ts";
import { shownLength } from "./shown-length.ts";

/** Limits of the custom resources in the cluster: params must fit into them (§2.4). */
const MAX_KEYS = 32;
const MAX_BYTES = 4096;
const MAX_PLAN_BYTES = 32_768;
/** Code that walks params is recursive; the agent has the same limit. */
const MAX_DEPTH = 16;
/** Limits of the cluster's policy for one line and for a plan, in characters as shown. */
const MAX_SHOWN = 8192;
const MAX_PLAN_SHOWN = 65_536;

export type Params = Readonly<Record<string, unknown>>;

/** Params of one call, or of one line of a plan. `path` is their JSON pointer in the body. */
export interface GivenParams {
  readonly path: string;
  readonly params: Params;
}

/**
 * Refuses params that would not fit, of one line or of a whole plan. A lone surrogate has no size here; `checkParams`
 * reports it.
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
 * Refuses params that a person could misread, that a program could round, or that do not fit the operation's schema.
 * Issues carry JSON pointers. The caller has checked the sizes.
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
 * The hashed value, the shown value and the received value must be equal. Refuses characters that hide or reorder text,
 * also in keys, and whole numbers beyond 2^53, which JSON parsers round.
 */
function valueIssues(path: string, value: unknown): readonly Issue[] {
  if (typeof value === "string") {
    return READABLE.test(value) && value.isWellFormed()
      ? []
      : [{ path, message: "has an invisible or control character" }];
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
      : [{ path, message: "has a key with an invisible or control character" }]),
    ...valueIssues(`${path}/${pointer(key)}`, inner),
  ]);
}

/**
 * Params within the limit of bytes may still be too long as the cluster shows them. The cluster would refuse the
 * approved plan, and the caller could not correct it any more.
 */
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

/**
 * Checks params against the operation's schema. A schema registered before the limits existed may exceed them: it is
 * refused here, and the error says what to change.
 */
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
