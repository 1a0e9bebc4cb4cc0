import Type from "typebox";
import type { Route, RouteTable } from "../../../contract/wire/route.ts";
import { type Issue, invalid } from "../errors.ts";
import { parseBody, refuseBody } from "../input/body.ts";
import { Checker, convertQuery } from "../input/syntax.ts";
import type { Handler } from "./call.ts";

/** A route with its handler and its compiled schemas. */
export interface Endpoint {
  readonly route: Route;
  /** `POST /v1/api-keys/{id}`: the name in logs, metrics, cursors and idempotency records. */
  readonly name: string;
  readonly handler: Handler<Route>;
  readonly params: Checker | undefined;
  readonly query: Checker | undefined;
  readonly body: Checker | undefined;
  readonly response: Checker | undefined;
}

/** Joins the route tables with their handlers. The compiler has checked that they match. */
export function endpointsOf(
  table: Readonly<Record<string, RouteTable>>,
  handlers: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Endpoint[] {
  return Object.entries(table).flatMap(([area, routes]) =>
    Object.entries(routes).map(([name, route]) => {
      const handler = handlers[area]?.[name];
      if (typeof handler !== "function") throw new Error(`route ${area}.${name} has no handler`);
      return endpoint(route, handler as Handler<Route>);
    }),
  );
}

function endpoint(route: Route, handler: Handler<Route>): Endpoint {
  return {
    route,
    handler,
    name: `${route.method} ${route.path}`,
    params: route.params && new Checker("path", route.params),
    query: route.query && new Checker("query", route.query),
    body: route.body && new Checker("body", route.body),
    response: route.response && new Checker("response", route.response),
  };
}

export interface RawRequest {
  readonly params: unknown;
  readonly search: URLSearchParams;
  readonly body: Buffer | undefined;
  readonly contentType: string | undefined;
}

export interface ParsedRequest {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

const NO_QUERY = Type.Object({});

/** Step 6 of the order of checks: path, query, body. @throws VALIDATION_ERROR listing everything that is wrong. */
export function parseRequest(endpoint: Endpoint, raw: RawRequest): ParsedRequest {
  const { route } = endpoint;
  const query = convertQuery(route.query ?? NO_QUERY, raw.search);
  const issues: Issue[] = [...(endpoint.params?.issues(raw.params) ?? []), ...(endpoint.query?.issues(query) ?? [])];
  const body = parseBody(raw.body, raw.contentType);
  if (endpoint.body === undefined) {
    if (issues.length === 0) refuseBody(body);
  } else if (body === undefined) {
    if (route.bodyOptional !== true) issues.push({ path: "body", message: "is required" });
  } else {
    issues.push(...endpoint.body.issues(body));
  }
  if (issues.length > 0) throw invalid(...issues);
  return { params: raw.params as Readonly<Record<string, unknown>>, query, body };
}

/** Says how an answer breaks the contract; undefined when it does not. */
export function answerProblem(endpoint: Endpoint, status: number, body: unknown): string | undefined {
  const { route } = endpoint;
  if (status === 304 && route.etag === true) return body === undefined ? undefined : "a body where none belongs";
  if (status !== route.success && status !== route.alternative) return `status ${status}`;
  if (endpoint.response === undefined) return body === undefined ? undefined : "a body where none belongs";
  if (endpoint.response.fits(body)) return undefined;
  const issues = endpoint.response.issues(body);
  return issues.map(({ path, message }) => `${path} ${message}`).join("; ");
}
