import Type, { type Static } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import type { StackProblem } from "../stacks/stack-problem.ts";
import { FreeMap, Nullable, Strict } from "../wire/schema.ts";
import { InputValues } from "./deployment.ts";
import { EnvironmentVariable } from "./deployment-state.ts";
import { misfitsOf } from "./stack-faults.ts";

const ObjectName = Type.String({
  maxLength: 253,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
});

/** Variables by their names, each with the key of the Secret or ConfigMap that has its value. Left out: all keys, by their own names. */
const env = Type.Optional(
  Type.Record(
    Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }),
    Type.String({ maxLength: 253, pattern: "^[-._a-zA-Z0-9]+$" }),
    { additionalProperties: false, maxProperties: 500 },
  ),
);

/** What takes the place of a resource in the customer's cluster, by name; values never travel (§5.7). */
const ExternalBinding = Type.Union([Strict({ secret: ObjectName, env }), Strict({ configMap: ObjectName, env })]);
export type ExternalBinding = Static<typeof ExternalBinding>;

/** As much of a deployment's configuration as is rendered. A newer platform may send more (§0.8). */
const RenderedConfig = Type.Object({
  environmentVariables: Type.Object({ variables: Type.Array(Type.Object(EnvironmentVariable.properties)) }),
  inputValues: InputValues,
  externalBindings: FreeMap,
  monitoring: Type.Optional(
    Nullable(Type.Object({ logsEndpoint: Type.String(), logsAuthHeader: Type.String(), resourceAttributes: FreeMap })),
  ),
});
export type RenderedConfig = Static<typeof RenderedConfig>;

let ofConfig: Validator | undefined;
let ofBinding: Validator | undefined;

/** For those who have a configuration that no schema has judged. An empty list means that it is a `RenderedConfig`. */
export function configFaults(value: unknown): readonly StackProblem[] {
  ofConfig ??= Compile(RenderedConfig);
  if (ofConfig.Check(value)) return [];
  const misfits = misfitsOf(RenderedConfig, value, "");
  return misfits.length > 0 ? misfits : [{ path: "", message: "is of another shape" }];
}

export function isExternalBinding(value: unknown): value is ExternalBinding {
  ofBinding ??= Compile(ExternalBinding);
  return ofBinding.Check(value);
}
