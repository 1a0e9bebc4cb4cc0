import type { TSchema } from "typebox";
import { ERRORS, type ErrorCode } from "../wire/errors.ts";
import { kebab } from "../wire/kebab.ts";
import { portable } from "../wire/portable-pattern.ts";
import type { Route, RouteTable } from "../wire/route.ts";
import { errorsOf } from "../wire/route-errors.ts";
import { EXAMPLES, type Example } from "./examples.ts";
import { COMPONENTS, type Json, META_PATHS, SCHEMAS } from "./openapi-components.ts";

/** An OpenAPI 3.1 document: plain JSON, in the order of the table, the same bytes for the same table. */
export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: Json;
  readonly servers: readonly Json[];
  readonly tags: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Json;
}

type Table = Readonly<Record<string, RouteTable>>;

/** @param baseUrl where the API is served; default: where the document came from. */
export function openApi(table: Table, baseUrl = "/"): OpenApiDocument {
  const names = recordNames(table);
  const failures = new Failures();
  const paths: Record<string, Record<string, Json>> = {};
  for (const [area, routes] of Object.entries(table)) {
    for (const [name, route] of Object.entries(routes)) {
      paths[route.path] = {
        ...paths[route.path],
        [route.method.toLowerCase()]: operation(area, name, route, names, failures),
      };
    }
  }
  for (const [path, item] of Object.entries(META_PATHS)) paths[path] = { ...item, ...paths[path] };
  const records = [...names].map(([schema, name]) => [name, plain(schema, names, schema)] as const);
  return {
    openapi: "3.1.1",
    info: {
      title: "Sallyport Management API",
      version: "1.0.0",
      description:
        "Ask for actions in customers' clusters, follow what the customer decides, read what ran. Within v1 only additive change: ignore what you do not know.",
    },
    servers: [{ url: baseUrl }],
    tags: [...Object.keys(table).map(kebab), "auth", "meta"].map((name) => ({ name })),
    paths,
    components: { ...COMPONENTS, responses: failures.all, schemas: { ...Object.fromEntries(records), ...SCHEMAS } },
  };
}

/**
 * Names for the records that several routes answer with: an area's `get` answers `Project`, its list's items are the
 * same or a `ProjectListItem`. A new area gets its names this way without code here.
 */
function recordNames(table: Table): ReadonlyMap<TSchema, string> {
  const names = new Map<TSchema, string>();
  for (const [area, { get, list }] of Object.entries(table)) {
    const record = area.charAt(0).toUpperCase() + area.slice(1).replace(/ies$/, "y").replace(/s$/, "");
    const item = itemsOf(list?.response);
    if (get?.response !== undefined) names.set(get.response, record);
    if (item !== undefined && !names.has(item)) names.set(item, get === undefined ? record : `${record}ListItem`);
  }
  return names;
}

function itemsOf(page: TSchema | undefined): TSchema | undefined {
  const items: unknown = (page as { properties?: { items?: { items?: TSchema } } } | undefined)?.properties?.items
    ?.items;
  return typeof items === "object" && items !== null ? (items as TSchema) : undefined;
}

/** The schema as JSON, with references where it holds a named record. @param self the record that is being defined. */
function plain(schema: unknown, names: ReadonlyMap<TSchema, string>, self?: TSchema): Json {
  const replace = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value !== "object" || value === null) return value;
    const name = value === self ? undefined : names.get(value as TSchema);
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
    const written = ([key, part]: [string, unknown]): [string, unknown] =>
      key === "pattern" && typeof part === "string" ? [key, portable(part)] : [key, replace(part)];
    return Object.fromEntries(Object.entries(value).map(written));
  };
  return replace(schema) as Json;
}

function operation(
  area: string,
  name: string,
  route: Route,
  names: ReadonlyMap<TSchema, string>,
  failures: Failures,
): Json {
  const example = EXAMPLES[`${area}.${name}`] ?? {};
  return {
    operationId: `${area}.${name}`,
    summary: route.summary,
    description: descriptionOf(route),
    tags: [kebab(area)],
    security: securityOf(route),
    parameters: parametersOf(route, names),
    ...(route.body !== undefined && { requestBody: bodyOf(route, example, names) }),
    responses: { ...successesOf(route, example, names), ...failures.of(route) },
    "x-roles": route.roles,
    "x-repeat": route.repeat,
    ...(route.paginated && { "x-paginated": true }),
    ...(route.longPoll && { "x-long-poll": true }),
    ...(route.secret && { "x-secret": true }),
  };
}

const REPEATS: Readonly<Record<Route["repeat"], string>> = {
  safe: "Reads only: repeat at will.",
  natural: "The same call twice leaves what one call leaves.",
  state: "A repeat is refused by the object's state.",
  key: "With an `Idempotency-Key`, a repeat within 24 hours answers the same and does nothing again.",
  none: "Each call does something new.",
};

function descriptionOf(route: Route): string {
  const lines = [`Roles: ${rolesOf(route)}.`, REPEATS[route.repeat]];
  if (route.paginated) lines.push("Paginated: pass `nextCursor` as `cursor` until it is null; filters stay the same.");
  if (route.longPoll) lines.push("Long-poll: the answer may take `wait` seconds.");
  if (route.secret) lines.push("The answer carries a secret that is shown only here.");
  if (route.workspace !== undefined) lines.push("Users need not name a workspace.");
  return lines.join("\n\n");
}

function rolesOf({ roles }: Route): string {
  if (typeof roles !== "string") return roles.map((role) => `\`${role}\``).join(", ");
  const words = {
    any: "every credential",
    public: "none, no credential is needed",
    "setup-token": "the setup token of that manager",
    ticket: "none, a relay ticket of that session opens it",
  };
  return words[roles];
}

/** API keys work on every route. Users work where one of their roles, or every credential, may call. */
function securityOf({ roles }: Route): readonly Json[] {
  if (roles === "public" || roles === "ticket") return [];
  const forUsers =
    typeof roles === "string" ? roles === "any" : roles.some((r) => r === "user" || /^workspace/.test(r));
  return forUsers ? [{ apiKey: [] }, { oauth2: [] }, { session: [] }] : [{ apiKey: [] }];
}

function parametersOf(route: Route, names: ReadonlyMap<TSchema, string>): readonly Json[] {
  const of = (where: "path" | "query", object: Route["query"]): Json[] => {
    const required: readonly string[] = object?.required ?? [];
    return Object.entries(object?.properties ?? {}).map(([name, schema]) => {
      const { description, ...rest } = plain(schema, names) as { description?: string };
      return {
        name,
        in: where,
        required: where === "path" || required.includes(name),
        ...(description !== undefined && { description }),
        schema: rest,
        // `a=1&a=2`; commas are accepted too (§0.1).
        ...(where === "query" && "type" in rest && rest.type === "array" && { style: "form", explode: true }),
      };
    });
  };
  const ref = (name: string): Json => ({ $ref: `#/components/parameters/${name}` });
  const open = route.roles === "public" || route.roles === "ticket";
  return [
    ...of("path", route.params),
    ...of("query", route.query),
    ...(open ? [] : [ref("workspace")]),
    ...(route.repeat === "key" ? [ref("idempotencyKey")] : []),
    ...(route.etag === true ? [ref("ifNoneMatch")] : []),
    ref("requestId"),
  ];
}

function bodyOf(route: Route, { body }: Example, names: ReadonlyMap<TSchema, string>): Json {
  const media = { schema: plain(route.body, names), ...(body !== undefined && { example: body }) };
  return { required: route.bodyOptional !== true, content: { "application/json": media } };
}

const ANSWER_HEADERS = Object.fromEntries(
  ["x-request-id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map((name) => [
    name,
    { $ref: `#/components/headers/${name}` },
  ]),
);

function successesOf(route: Route, { response }: Example, names: ReadonlyMap<TSchema, string>): Json {
  const content = route.response && {
    content: {
      "application/json": {
        schema: plain(route.response, names),
        ...(response !== undefined && { example: response }),
      },
    },
  };
  const answer = (description: string): Json => ({ description, headers: ANSWER_HEADERS, ...content });
  const said = route.success === 202 ? "Accepted; the work goes on." : route.success === 201 ? "Created." : "Done.";
  return {
    [route.success]: route.etag === true ? withTag(answer(said)) : answer(said),
    ...(route.etag === true && { 304: withTag({ description: "As you have it.", headers: ANSWER_HEADERS }) }),
    ...(route.alternative !== undefined && {
      [route.alternative]: answer(route.alternative === 200 ? "It was there already." : "Created."),
    }),
  };
}

function withTag(answer: Json): Json {
  return { ...answer, headers: { ...(answer.headers as Json), ETag: { $ref: "#/components/headers/ETag" } } };
}

/**
 * Many routes have the same error codes. Each set is written once, as `E404.1`; otherwise the document is twice as
 * long.
 */
class Failures {
  readonly #byCodes = new Map<string, { readonly name: string; readonly response: Json }>();

  get all(): Json {
    return Object.fromEntries([...this.#byCodes.values()].map(({ name, response }) => [name, response]));
  }

  of(route: Route): Json {
    const byStatus = Map.groupBy(errorsOf(route), (code) => ERRORS[code].status);
    return Object.fromEntries([...byStatus].map(([status, codes]) => [status, { $ref: this.#ref(status, codes) }]));
  }

  #ref(status: number, codes: readonly ErrorCode[]): string {
    const key = codes.join();
    const same = [...this.#byCodes.values()].filter(({ name }) => name.startsWith(`E${status}.`)).length;
    const known = this.#byCodes.get(key) ?? { name: `E${status}.${same + 1}`, response: failure(status, codes) };
    this.#byCodes.set(key, known);
    return `#/components/responses/${known.name}`;
  }
}

function failure(status: number, codes: readonly ErrorCode[]): Json {
  const waits = status === 429 || status === 503;
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].message}.`).join("\n\n"),
    headers: {
      ...ANSWER_HEADERS,
      ...(waits && { "Retry-After": { $ref: "#/components/headers/Retry-After" } }),
      ...(status === 401 && { "WWW-Authenticate": { $ref: "#/components/headers/WWW-Authenticate" } }),
    },
    content: {
      "application/json": {
        schema: {
          allOf: [{ $ref: "#/components/schemas/Error" }],
          properties: { code: { enum: [...codes] } },
        },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}
