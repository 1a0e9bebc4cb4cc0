import type { TSchema } from "typebox";
import { SetupPolicy } from "../../src/contract/deployment-groups/setup-config.ts";
import { EnvironmentInfo, EnvironmentVariable } from "../../src/contract/deployments/deployment-state.ts";
import { KubernetesStack, Stack, StackInput } from "../../src/contract/deployments/stack.ts";
import { StackSettings } from "../../src/contract/deployments/stack-settings.ts";
import { PackagesConfig } from "../../src/contract/projects/projects.ts";
import { ROUTES } from "../../src/contract/table.ts";
import type { Route } from "../../src/contract/wire/route.ts";
import { StoredError } from "../../src/contract/wire/stored-error.ts";

/** What several requests carry: walked once, under its own name. */
const DOCUMENTS = {
  EnvironmentInfo,
  EnvironmentVariable,
  KubernetesStack,
  PackagesConfig,
  SetupPolicy,
  Stack,
  StackInput,
  StackSettings,
  StoredError,
};

const NAMES = new Map(Object.entries(DOCUMENTS).map(([name, schema]) => [JSON.stringify(schema), name]));

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

/** The fields of a schema that have no fields of their own; a document's are left to it. */
function* leaves(schema: TSchema, path: string, isTop = false): Generator<string> {
  if (!isTop && NAMES.has(JSON.stringify(schema))) return;
  const { type, properties = {}, patternProperties = {}, items, anyOf } = schema as Node;
  if (anyOf !== undefined) for (const each of anyOf) yield* leaves(each, path);
  else if (items !== undefined) yield* leaves(items, `${path}[]`);
  else if (Object.keys(properties).length + Object.keys(patternProperties).length === 0) {
    if (type !== "null") yield path;
  }
  for (const [name, part] of Object.entries(properties)) yield* leaves(part, `${path}.${name}`);
  for (const part of Object.values(patternProperties)) yield* leaves(part, `${path}.*`);
}

/** Every field that a caller may write: `area.route query.name`, `area.route body.name[].part`, `Document.name`. */
export function writableFields(): readonly string[] {
  const sent = Object.entries(ROUTES).flatMap(([area, routes]) =>
    Object.entries(routes as Readonly<Record<string, Route>>).flatMap(([name, { body, query }]) => [
      ...(query === undefined ? [] : leaves(query, `${area}.${name} query`)),
      ...(body === undefined ? [] : leaves(body, `${area}.${name} body`)),
    ]),
  );
  const shared = Object.entries(DOCUMENTS).flatMap(([name, schema]) => [...leaves(schema, name, true)]);
  return [...new Set([...sent, ...shared])];
}
