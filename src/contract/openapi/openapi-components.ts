import { ErrorBody } from "../wire/error-body.ts";
import { ERRORS } from "../wire/errors.ts";
import { WORKSPACE_NAME } from "../wire/schema.ts";
import { AUTH_PATHS, failure } from "./auth-paths.ts";

export type Json = Readonly<Record<string, unknown>>;

/** Schemas that are no area's record. */
export const SCHEMAS: Json = { Error: JSON.parse(JSON.stringify(ErrorBody)) };

const integer = (description: string): Json => ({ description, schema: { type: "integer", minimum: 0 } });

/** What operations refer to by name. */
export const COMPONENTS: Json = {
  securitySchemes: {
    apiKey: { type: "http", scheme: "bearer", description: "An API key, `sp_…`." },
    oauth2: {
      type: "oauth2",
      description: "A user's access token; PKCE (S256) is required for public clients.",
      flows: {
        authorizationCode: {
          authorizationUrl: "/auth/oauth2/authorize",
          tokenUrl: "/auth/oauth2/token",
          refreshUrl: "/auth/oauth2/token",
          scopes: {
            openid: "Sign in.",
            profile: "Name and picture.",
            email: "Address.",
            offline_access: "Stay signed in.",
          },
        },
      },
    },
    session: {
      type: "apiKey",
      in: "cookie",
      name: "sp_session",
      description: "A browser's session; unsafe methods need an `Origin` of ours.",
    },
  },
  parameters: {
    workspace: {
      name: "workspace",
      in: "query",
      required: false,
      description: "Name of the workspace. Users must name one; a key's own is implied.",
      schema: { type: "string", minLength: 4, maxLength: 100, pattern: WORKSPACE_NAME },
    },
    idempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      required: false,
      description: "The same key within 24 hours is the same call: its answer is replayed.",
      schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
    },
    ifNoneMatch: {
      name: "If-None-Match",
      in: "header",
      required: false,
      description: "The `ETag` of an answer that you have: 304 without a body while nothing has changed.",
      schema: { type: "string" },
    },
    requestId: {
      name: "x-request-id",
      in: "header",
      required: false,
      description:
        "Your own id for this request, 8 to 128 letters, digits, dots, dashes and underscores: comes back on the answer and stands in the logs. Anything else is replaced, not refused.",
      schema: { type: "string" },
    },
  },
  headers: {
    "x-request-id": { description: "Quote it to support.", schema: { type: "string" } },
    "RateLimit-Limit": integer("Requests that may come at once."),
    "RateLimit-Remaining": integer("Requests left now."),
    "RateLimit-Reset": integer("Seconds until all are left again."),
    ETag: { description: "Names this answer, for this caller alone.", schema: { type: "string" } },
    "Retry-After": integer("Seconds to wait."),
    "WWW-Authenticate": { description: "`Bearer`.", schema: { type: "string" } },
  },
  examples: Object.fromEntries(
    Object.entries(ERRORS).map(([code, { status, retryable, message, hint }]) => [
      code,
      {
        summary: message,
        value: {
          code,
          message,
          source: null,
          retryable,
          context: null,
          hint,
          httpStatusCode: status,
          internal: code === "INTERNAL_ERROR",
          requestId: "01934f2e-7c1a-7000-8000-000000000000",
        },
      },
    ]),
  ),
};

const meta = (operationId: string, summary: string, type: string, schema: Json, failures: Json) => ({
  get: {
    operationId: `meta.${operationId}`,
    summary,
    tags: ["meta"],
    security: [],
    responses: { 200: { description: "Done.", content: { [type]: { schema } } }, ...failures },
    "x-roles": "public",
    "x-repeat": "safe",
  },
});

const ok = { type: "string", const: "ok" };

/** Served beside the table, because they do not answer with a record of ours. */
export const META_PATHS: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  "/v1/openapi.json": meta(
    "openapi",
    "This document.",
    "application/json",
    { type: "object" },
    {
      429: failure("RATE_LIMITED"),
    },
  ),
  "/livez": meta("livez", "The process is alive.", "text/plain", ok, {}),
  "/readyz": meta("readyz", "The database answers, and requests are taken.", "text/plain", ok, {
    503: failure("SERVICE_UNAVAILABLE"),
  }),
  ...AUTH_PATHS,
};
