import type { TSchema } from "typebox";
import { expect, it } from "vitest";
import { cpuMs } from "../../../base/testing/cpu-time.ts";
import { isFull } from "../../../base/testing/full.ts";
import { ROUTES } from "../../../contract/table.ts";
import type { Route } from "../../../contract/wire/route.ts";
import { MAX_KEYS, MAX_VALUES } from "./body.ts";
import { Checker } from "./syntax.ts";

// The event loop judges one body at a time, for all tenants: of each route's body, the worst that the size of a request
// allows is refused in less than a second of a core. A search for what is wrong may take longer than the check does.

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}
type Wrap = (value: unknown) => unknown;

/** Each place of a body that can hold many values, as a function that puts them there. */
function* places(schema: TSchema, wrap: Wrap): Generator<readonly ["array" | "object", Wrap]> {
  const { type, properties = {}, patternProperties = {}, items, anyOf = [] } = schema as Node;
  for (const each of anyOf) yield* places(each, wrap);
  if (type === "array") yield ["array", wrap];
  if (type === "object") yield ["object", wrap];
  if (items !== undefined) yield* places(items, (value) => wrap([value]));
  for (const [name, part] of Object.entries(properties)) yield* places(part, (value) => wrap({ [name]: value }));
  for (const part of Object.values(patternProperties)) yield* places(part, (value) => wrap({ k: value }));
}

const SOME = MAX_VALUES - 100;
const fill = (value: (index: number) => unknown) => Array.from({ length: SOME }, (_, index) => value(index));
const keys = (name: (index: number) => string, value: unknown) =>
  Object.fromEntries(Array.from({ length: MAX_KEYS }, (_, index) => [name(index), value]));
const ARRAYS: Readonly<Record<string, unknown>> = {
  "equal texts": fill(() => "x"),
  ...(isFull && {
    "equal numbers": fill(() => 7),
    "other texts": fill(String),
    objects: fill(() => ({})),
    arrays: fill(() => []),
    nulls: fill(() => null),
  }),
};
const OBJECTS: Readonly<Record<string, unknown>> = {
  "keys of a thousand characters": keys((index) => `${"k".repeat(1_000)}${index}`, "x"),
  ...(isFull && {
    "small objects": keys((index) => `k${index}`, {}),
    arrays: keys((index) => `k${index}`, fill(() => 1).slice(0, 9)),
  }),
};

const sent = Object.entries(ROUTES).flatMap(([area, routes]) =>
  Object.entries(routes as Readonly<Record<string, Route>>).flatMap(([name, { body }]): [string, TSchema][] =>
    body === undefined ? [] : [[`${area}.${name}`, body]],
  ),
);

it.each(sent)("the worst bodies of %s are judged in less than a second of a core", (_name, body) => {
  const checker = new Checker("body", body);
  const slow: string[] = [];
  for (const [type, wrap] of places(body, (value) => value))
    for (const [what, value] of Object.entries(type === "array" ? ARRAYS : OBJECTS)) {
      const whole = wrap(value);
      const before = cpuMs();
      checker.issues(whole);
      const ms = cpuMs() - before;
      if (ms > 1_000) slow.push(`${what} in ${JSON.stringify(wrap("…"))}: ${Math.round(ms)} ms`);
    }
  expect(slow).toEqual([]);
});
