import type { TSchema } from "typebox";
import { expect, it } from "vitest";
import { ROUTES } from "./table.ts";
import type { Route } from "./wire/route.ts";
import { MAX_BYTES } from "./wire/schema.ts";

/** The keywords of our schemas. */
interface Node {
  readonly [MAX_BYTES]?: number;
  readonly "x-bounded-by-route"?: true;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: boolean;
  readonly items?: TSchema;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly anyOf?: readonly TSchema[];
}

/** Paths where a body may have any shape or length, and no schema above them has a limit. */
function* boundless(schema: TSchema, path: string): Generator<string> {
  const node = schema as Node;
  if (node[MAX_BYTES] !== undefined || node["x-bounded-by-route"] === true) return;
  if (node.anyOf !== undefined) {
    for (const each of node.anyOf) yield* boundless(each, path);
    return;
  }
  const { type, properties = {}, patternProperties, items } = node;
  const isOpen = type === "object" && (patternProperties !== undefined || node.additionalProperties !== false);
  const isAnything = type === undefined && node.enum === undefined && node.const === undefined;
  if (isOpen || isAnything) yield path;
  for (const [name, part] of Object.entries(properties)) yield* boundless(part, `${path}.${name}`);
  if (items !== undefined) yield* boundless(items, `${path}[]`);
}

const sent = Object.entries(ROUTES).flatMap(([area, routes]) =>
  Object.entries(routes as Readonly<Record<string, Route>>).flatMap(([name, { body }]): [string, TSchema][] =>
    body === undefined ? [] : [[`${area}.${name}`, body]],
  ),
);

it.each(sent)("%s: every free-form part of the body has a limit", (name, body) => {
  expect([...boundless(body, name)]).toEqual([]);
});

const read = Object.entries(ROUTES).flatMap(([area, routes]) =>
  Object.entries(routes as Readonly<Record<string, Route>>).map(
    ([name, { body, query, params }]) => [`${area}.${name}`, { body, query, params }] as const,
  ),
);

/** Paths of arrays without `maxItems`, and of those without doubles whose items cannot be told apart by a Set. */
function* endless(node: unknown, path: string): Generator<string> {
  if (typeof node !== "object" || node === null) return;
  const { type, maxItems, uniqueItems, items } = node as Node;
  const isPlain = ["string", "integer"].includes((items as Node | undefined)?.type ?? "");
  if (type === "array" && (maxItems === undefined || (uniqueItems === true && !isPlain))) yield path;
  for (const [name, part] of Object.entries(node)) yield* endless(part, `${path}/${name}`);
}

it.each(read)("%s: each array of a request has maxItems, and items that compare fast", (name, parts) => {
  expect([...endless(parts, name)]).toEqual([]);
});
