import type { Input, InputValues } from "../../../../contract/deployments/deployment.ts";
import type { StackInput } from "../../../../contract/deployments/stack.ts";
import { PatternJudge } from "../../../../plugins/stranger-pattern.ts";
import type { ReleaseRow } from "../../../database/tables/releases.ts";
import type { Issue } from "../../../kernel/errors.ts";
import { open, seal } from "../../../kernel/sealed.ts";

type Value = InputValues[string];

/** The limits of `Input.validation` that the platform checks; `format` is only for forms. */
interface Limits {
  readonly min?: number | null;
  readonly max?: number | null;
  readonly minLength?: number | null;
  readonly maxLength?: number | null;
  readonly minItems?: number | null;
  readonly maxItems?: number | null;
  readonly pattern?: string | null;
  readonly values?: readonly string[] | null;
}

/** The inputs that a release asks for on a platform; none without a release. */
export function inputsOf(release: ReleaseRow | undefined, platform: string): readonly Input[] {
  const inputs = release?.stack[platform]?.inputs;
  return Array.isArray(inputs) ? (inputs as Input[]) : [];
}

/**
 * The form for answers: without a description it is empty, and without `providedBy` both developer and deployer may set
 * it.
 */
export function shownInput<I extends Input>(input: I) {
  const { description, providedBy } = input as { description?: string | null; providedBy?: readonly string[] };
  return { ...input, description: description ?? "", providedBy: [...(providedBy ?? ["developer", "deployer"])] };
}

/** Checks each value against its input. An id that the release does not define is an issue too. */
export function checkInputValues(inputs: readonly Input[], values: InputValues): readonly Issue[] {
  const byId = new Map(inputs.map((input) => [input.id, input]));
  const judge = new PatternJudge();
  return Object.entries(values).flatMap(([id, value]) => {
    const input = byId.get(id);
    const problem = input === undefined ? "is not an input of the release" : problemOf(input, value, judge);
    return problem === undefined ? [] : [{ path: `body.inputValues.${id}`, message: problem }];
  });
}

/** Inputs that the platform needs, without a default and without a given value. */
export function missingInputs(inputs: readonly Input[], platform: string, given: readonly string[]): readonly Issue[] {
  return inputs.filter((input) => isNeeded(input, platform) && !given.includes(input.id)).map(missing);
}

/** Whether a deployment on the platform needs a value for the input. */
function isNeeded(input: Input, platform: string): boolean {
  const { default: fallback, platforms } = input as StackInput;
  return input.required && fallback == null && (platforms?.some((each) => each === platform) ?? true);
}

function missing({ id }: Input): Issue {
  return { path: `body.inputValues.${id}`, message: "is required" };
}

function problemOf(input: Input, value: Value, judge: PatternJudge): string | undefined {
  const limits = ((input as { validation?: Limits | null }).validation ?? {}) as Limits;
  switch (input.kind) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be a boolean";
    case "number":
    case "integer":
      return numberProblem(value, limits, input.kind === "integer");
    case "stringList":
      return listProblem(value, limits, judge);
    case "enum":
    case "string":
    case "secret":
      return textProblem(value, limits, judge);
  }
}

function numberProblem(value: Value, { min, max }: Limits, whole: boolean): string | undefined {
  if (typeof value !== "number" || (whole && !Number.isInteger(value)))
    return `must be ${whole ? "an integer" : "a number"}`;
  if (min != null && value < min) return `must be at least ${min}`;
  return max != null && value > max ? `must be at most ${max}` : undefined;
}

function textProblem(value: Value, limits: Limits, judge: PatternJudge): string | undefined {
  const { minLength, maxLength, pattern, values } = limits;
  if (typeof value !== "string") return "must be a string";
  if (minLength != null && value.length < minLength) return `must have at least ${minLength} characters`;
  if (maxLength != null && value.length > maxLength) return `must have at most ${maxLength} characters`;
  if (values != null && !values.includes(value)) return `must be one of ${shown(values)}`;
  return pattern == null ? undefined : judge.problem(pattern, value);
}

/** Shows only the first values: a thousand long ones would make the answer large and not more helpful. */
function shown(values: readonly string[]): string {
  const first = values.slice(0, 10).join(", ").slice(0, 256);
  return values.length > 10 ? `${first} and ${values.length - 10} more` : first;
}

function listProblem(value: Value, limits: Limits, judge: PatternJudge): string | undefined {
  if (!Array.isArray(value)) return "must be a list of strings";
  const { minItems, maxItems } = limits;
  if (minItems != null && value.length < minItems) return `must have at least ${minItems} items`;
  if (maxItems != null && value.length > maxItems) return `must have at most ${maxItems} items`;
  return value.map((item) => textProblem(item, limits, judge)).find((problem) => problem !== undefined);
}

interface SealedValue {
  readonly sealed: string;
}

/** Seals secret values before they are stored. The release at that time decides which inputs are secret. */
export function sealInputs(inputs: readonly Input[], values: InputValues, key: Uint8Array): Record<string, unknown> {
  const secret = new Set(inputs.filter(({ kind }) => kind === "secret").map(({ id }) => id));
  return Object.fromEntries(
    Object.entries(values).map(([id, value]) => [
      id,
      secret.has(id) ? { sealed: seal(key, JSON.stringify(value)) } : value,
    ]),
  );
}

function isSealed(value: unknown): value is SealedValue {
  return typeof value === "object" && value !== null && !Array.isArray(value) && "sealed" in value;
}

/** With secret values, for managers only. */
export function openInputs(stored: Readonly<Record<string, unknown>>, key: Uint8Array): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(stored).map(([id, value]) => [id, isSealed(value) ? JSON.parse(open(key, value.sealed)) : value]),
  );
}

/** Without secret values, for all other callers. */
export function plainInputs(stored: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(stored).filter(([, value]) => !isSealed(value)));
}
