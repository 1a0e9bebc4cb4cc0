import type { TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { Errors } from "typebox/value";
import { isRenderedType, RENDERED_CONFIGS } from "../stacks/kubernetes-config.ts";
import { MAX_STACK_PROBLEMS, type StackProblem, shortened } from "../stacks/stack-problem.ts";
import { stackProblems } from "../stacks/stack-problems.ts";
import { KubernetesStack, MAX_STACK_BYTES, Stack } from "./stack.ts";

let judge: Validator | undefined;

/**
 * Everything for which the platform would refuse this stack for Kubernetes, except patterns of inputs: for those who
 * have one that it has not judged. An empty list means that the value is a `KubernetesStack`.
 */
export function stackFaults(value: unknown): readonly StackProblem[] {
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? "");
  if (bytes > MAX_STACK_BYTES)
    return [{ path: "", message: `has ${bytes} bytes, and ${MAX_STACK_BYTES} are the most` }];
  // The search for errors takes ten times as long as the check.
  judge ??= Compile(KubernetesStack);
  if (judge.Check(value)) return stackProblems(value as KubernetesStack);
  const misfits = misfitsOf(Stack, value, "");
  return misfits.length > 0 ? misfits : configMisfits(value as Stack);
}

/** By type, and not by the union of all: the other alternatives explain nothing. */
function configMisfits({ resources }: Stack): readonly StackProblem[] {
  return Object.entries(resources)
    .values()
    .flatMap(([id, { config }]) =>
      isRenderedType(config.type)
        ? misfitsOf(RENDERED_CONFIGS[config.type], config, `resources.${shortened(id)}.config`)
        : [],
    )
    .take(MAX_STACK_PROBLEMS)
    .toArray();
}

export function misfitsOf(schema: TSchema, value: unknown, at: string): readonly StackProblem[] {
  return Errors(schema, value)
    .flatMap(({ keyword, instancePath, params, message }) => {
      const segments = instancePath.split("/").slice(1).map(unescaped);
      const path = [...(at === "" ? [] : [at]), ...segments].join(".");
      const named = (names: readonly string[], message: string) =>
        names.map((name) => ({ path: [path, shortened(name)].filter((part) => part !== "").join("."), message }));
      switch (keyword) {
        case "required":
          return named(params.requiredProperties, "is required");
        case "additionalProperties":
          return named(params.additionalProperties, "is not a known key");
        case "enum":
          return [{ path, message: `must be one of ${params.allowedValues.join(", ")}` }];
        // The errors of the parts say it better.
        case "boolean":
        case "anyOf":
          return [];
        default:
          return [{ path, message }];
      }
    })
    .slice(0, MAX_STACK_PROBLEMS);
}

function unescaped(segment: string): string {
  return shortened(segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}
