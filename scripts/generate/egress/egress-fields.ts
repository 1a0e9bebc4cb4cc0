import type { TSchema } from "typebox";
import { KUBERNETES_DATA } from "../../../src/contract/resources/resource-heartbeat.ts";
import type { Route } from "../../../src/contract/wire/route.ts";

/** One leaf of a request: a value that a route takes. */
export interface Field {
  /** `path.id`, `query.wait`, `body.state.status`, `body.resources[].labels.*`. */
  readonly path: string;
  /** Type and bounds, for people. */
  readonly type: string;
  /** The contract allows anything below it; the agent's own words (egress-words.ts) say what it sends there. */
  readonly free: boolean;
}

/** The contract leaves `data` open; the platform checks it by the resource's type, of which the agent sends these. */
const SENT_TYPES = ["container", "worker", "daemon", "kubernetes-cluster"] as const;
const DATA = "body.resourceHeartbeats[].data.data";

/** Every field that a request of this route may carry, in the order of its schema. */
export function fieldsOf({ params, query, body }: Route): readonly Field[] {
  const parts: readonly (readonly [string, TSchema | undefined])[] = [
    ["path", params],
    ["query", query],
    ["body", body],
  ];
  const found = parts.flatMap(([name, schema]) => (schema === undefined ? [] : leaves(plain(schema), name)));
  // Variants of a union have fields in common.
  return [...Map.groupBy(found, ({ path }) => path).values()].map((same) => merged(same));
}

/** JSON Schema, as far as the contract uses it. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
}

function plain(schema: TSchema): Schema {
  return schema as Schema;
}

function leaves(schema: Schema, path: string, bound = ""): readonly Field[] {
  if (path === DATA) {
    return SENT_TYPES.flatMap((type) => objectLeaves(plain(KUBERNETES_DATA[type] ?? {}), path));
  }
  if (schema.anyOf !== undefined) {
    const branches = schema.anyOf.filter(({ type }) => type !== "null");
    return branches.flatMap((branch) => leaves(branch, path, bound));
  }
  if (schema.properties !== undefined) return objectLeaves(schema, path);
  if (schema.items !== undefined) {
    const most = schema.maxItems === undefined ? "" : `at most ${schema.maxItems} of these`;
    return leaves(schema.items, `${path}[]`, [bound, most].filter(Boolean).join("; "));
  }
  const [values] = Object.values(schema.patternProperties ?? {});
  if (values !== undefined && Object.keys(values).length > 0) return leaves(values, `${path}.*`, bound);
  const free = schema.type === undefined && schema.enum === undefined && schema.const === undefined;
  return [{ path, type: [typeOf(schema), bound].filter(Boolean).join("; "), free: free || values !== undefined }];
}

function objectLeaves({ properties = {} }: Schema, path: string): readonly Field[] {
  return Object.entries(properties).flatMap(([name, part]) => leaves(part, `${path}.${name}`));
}

function merged(same: readonly Field[]): Field {
  const [first] = same;
  if (first === undefined) throw new Error("a group has at least one member");
  return { ...first, type: [...new Set(same.map(({ type }) => type))].join(" or ") };
}

function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return `always ${JSON.stringify(schema.const)}`;
  if (schema.enum !== undefined) return schema.enum.map((word) => `\`${String(word)}\``).join(", ");
  if (schema.format === "date-time") return "time";
  switch (schema.type) {
    case "string":
      return textType(schema);
    case "integer":
    case "number":
      return rangeOf(schema.type === "integer" ? "whole number" : "number", schema);
    case "boolean":
      return "yes or no";
    default:
      return "any JSON";
  }
}

/** For an id, prefix and length say more to a reader than the pattern. */
function textType({ pattern = "", maxLength }: Schema): string {
  const [, prefix] = /^\^([a-z]+)_\[/.exec(pattern) ?? [];
  if (prefix !== undefined) return `id \`${prefix}_…\``;
  return maxLength === undefined ? "text" : `text of at most ${maxLength} characters`;
}

function rangeOf(word: string, { minimum, maximum }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return `${word}, ${minimum} to ${maximum}`;
  return minimum === undefined ? word : `${word}, at least ${minimum}`;
}
