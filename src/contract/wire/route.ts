import type { Static, TObject, TSchema } from "typebox";
import type { ErrorCode } from "./errors.ts";
import type { Audience } from "./roles.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** How a repeat of the same call behaves; in five words. */
export type Repeat =
  /** Reads only: retry at will. */
  | "safe"
  /** The same call twice leaves what one call leaves. */
  | "natural"
  /** A repeat is refused by the object's state (409). */
  | "state"
  /** `Idempotency-Key` is honoured (§0.7). */
  | "key"
  /** Each call does something new. */
  | "none";

/** One endpoint. Everything is made from it: Fastify's registration, validation, the client, OpenAPI, the tests. */
export interface Route {
  readonly method: Method;
  /** With `{name}` segments. */
  readonly path: string;
  /** One sentence for the OpenAPI document and the CLI's help. */
  readonly summary: string;
  readonly roles: Audience;
  readonly params?: TObject;
  /** Without `workspace`, which the server reads before the handler (§0.3). Unknown parameters are ignored. */
  readonly query?: TObject;
  readonly body?: TSchema;
  /** The body may be left out altogether. Routes without `body` accept none or `{}`. */
  readonly bodyOptional?: true;
  /** 101: a WebSocket upgrade, which is served beside the table. */
  readonly success: 101 | 200 | 201 | 202 | 204;
  /** Another success status the handler may choose, such as 200 for "was there already". */
  readonly alternative?: 200 | 201;
  /** Absent for 101 and 204. */
  readonly response?: TSchema;
  /** Codes beyond the common ones (§0.4). */
  readonly errors: readonly ErrorCode[];
  readonly paginated?: true;
  readonly repeat: Repeat;
  /** The response carries a secret: never stored for replay, never logged. */
  readonly secret?: true;
  /** The response carries a secret that can be read again: what is stored for replay is sealed, as the secret is. */
  readonly sealed?: true;
  /**
   * A user need not name a workspace (§0.5): either the route needs none, or `path.id` names it by its id, and a
   * `workspace` that is given too must be the same one.
   */
  readonly workspace?: "exempt" | "path";
  /** Answers after up to `query.wait` seconds; runs outside a transaction. */
  readonly longPoll?: true;
  /** Answers have an ETag, and are 304 without a body to `If-None-Match` with it (§11.2). */
  readonly etag?: true;
  /** The body may be sent with `content-encoding: gzip`; inflated it has the same limit as any other. */
  readonly gzip?: true;
  /** Asks a service outside: runs outside a transaction, and opens its own for what it writes. */
  readonly callsOut?: true;
}

export type RouteTable = Readonly<Record<string, Route>>;

/** Keeps each route's exact types, so that the handler's and the client's types can be read off it. */
export function routes<const T extends RouteTable>(table: T): T {
  return table;
}

type StaticOr<S, Otherwise> = S extends TSchema ? Static<S> : Otherwise;

export type ParamsOf<R extends Route> = StaticOr<R["params"], Record<never, never>>;
export type QueryOf<R extends Route> = StaticOr<R["query"], Record<never, never>>;
export type BodyOf<R extends Route> = R extends { readonly bodyOptional: true }
  ? StaticOr<R["body"], undefined> | undefined
  : StaticOr<R["body"], undefined>;
export type ResponseOf<R extends Route> = StaticOr<R["response"], undefined>;
