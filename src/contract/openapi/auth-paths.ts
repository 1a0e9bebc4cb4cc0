import { ERRORS, type ErrorCode } from "../wire/errors.ts";
import type { Method } from "../wire/route.ts";
import { DevLogin, DevLoginAnswer } from "./auth-meta.ts";

type Json = Readonly<Record<string, unknown>>;

/** A response with one of these codes, as the API's error object with its nine fields. */
export function failure(...codes: readonly ErrorCode[]): Json {
  const waits = codes.some((code) => ERRORS[code].status === 429 || ERRORS[code].status === 503);
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].message}.`).join(" "),
    ...(waits && { headers: { "Retry-After": { $ref: "#/components/headers/Retry-After" } } }),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}

const text = (more: Json = {}): Json => ({ type: "string", ...more });
const html: Json = { "text/html": { schema: text() } };
const redirect = (description: string): Json => ({
  description,
  headers: { Location: { description: "Where to go on.", schema: text() } },
});

/** RFC 6749 §5.2. */
const OAUTH_ERROR: Json = {
  description: "`error` and `error_description`, as RFC 6749 has them.",
  content: {
    "application/json": {
      schema: {
        type: "object",
        required: ["error"],
        properties: { error: text(), error_description: text() },
      },
    },
  },
};

const common: Json = {
  429: failure("RATE_LIMITED"),
  500: failure("INTERNAL_ERROR"),
  503: failure("SERVICE_UNAVAILABLE"),
};

interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly repeat?: string;
  readonly parameters?: readonly Json[];
  readonly body?: Json;
  readonly responses: Json;
}

function operation({ id, summary, repeat = "safe", parameters, body, responses }: Operation): Json {
  return {
    operationId: `auth.${id}`,
    summary,
    tags: ["auth"],
    security: [],
    ...(parameters !== undefined && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: body } }),
    responses: { ...responses, ...common },
    "x-roles": "public",
    "x-repeat": repeat,
  };
}

const query = (name: string, description: string, required = false, more: Json = {}): Json => ({
  name,
  in: "query",
  required,
  description,
  schema: text(more),
});

const form = (required: readonly string[], properties: Json): Json => ({
  "application/x-www-form-urlencoded": { schema: { type: "object", required, properties } },
});

const returnTo = query("returnTo", "A path of this site to go to afterwards.");

const clientFields = {
  client_id: text({ description: "Of a public client; a confidential one may send it by HTTP Basic." }),
  client_secret: text(),
};

/** Signing in: §25, in the forms that the standards give. Served beside the table. */
export const AUTH_PATHS: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  "/.well-known/oauth-authorization-server": {
    get: operation({
      id: "metadata",
      summary: "Where the OAuth endpoints are and what they support (RFC 8414).",
      responses: {
        200: {
          description: "Done.",
          content: {
            "application/json": {
              schema: {
                type: "object",
                required: ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"],
                properties: {
                  issuer: text(),
                  authorization_endpoint: text(),
                  token_endpoint: text(),
                  jwks_uri: text(),
                },
              },
            },
          },
        },
      },
    }),
  },
  "/.well-known/jwks.json": {
    get: operation({
      id: "keys",
      summary: "The public keys that check managers' access tokens and id tokens (RFC 7517).",
      responses: {
        200: {
          description: "Done.",
          content: {
            "application/jwk-set+json": {
              schema: {
                type: "object",
                required: ["keys"],
                properties: { keys: { type: "array", items: { type: "object" } } },
              },
            },
          },
        },
      },
    }),
  },
  "/auth/oauth2/authorize": {
    get: operation({
      id: "authorize",
      summary: "Begin the authorisation code flow (RFC 6749 §4.1, RFC 7636).",
      parameters: [
        query("client_id", "A configured client.", true),
        query("redirect_uri", "One of the client's; on a loopback address with any port.", true),
        query("response_type", "`code`.", true),
        query("code_challenge", "Required for public clients."),
        query("code_challenge_method", "`S256`; `plain` is refused."),
        query("scope", "Of `openid profile email offline_access`."),
        query("state", "Comes back as it is."),
      ],
      responses: {
        302: redirect("To the sign-in page, or back to the client with `code` or `error`."),
        400: {
          description: "What cannot be sent back to the client: a page, or RFC 6749's object for programs.",
          content: { ...html, ...(OAUTH_ERROR.content as Json) },
        },
      },
    }),
  },
  "/auth/oauth2/token": {
    post: operation({
      id: "token",
      summary: "Change a code or a refresh token into tokens (RFC 6749 §4.1.3, §6).",
      repeat: "none",
      body: form(["grant_type"], {
        grant_type: text({ enum: ["authorization_code", "refresh_token"] }),
        code: text(),
        redirect_uri: text(),
        code_verifier: text(),
        refresh_token: text(),
        scope: text(),
        ...clientFields,
      }),
      responses: {
        200: {
          description: "Done.",
          content: {
            "application/json": {
              schema: {
                type: "object",
                required: ["access_token", "token_type", "expires_in"],
                properties: {
                  access_token: text({ pattern: "^sp_at_" }),
                  token_type: text({ const: "Bearer" }),
                  expires_in: { type: "integer" },
                  refresh_token: text(),
                  id_token: text(),
                  scope: text(),
                },
              },
            },
          },
        },
        400: OAUTH_ERROR,
        401: OAUTH_ERROR,
      },
    }),
  },
  "/auth/oauth2/revoke": {
    post: operation({
      id: "revoke",
      summary: "Revoke a token and all that came of the same consent (RFC 7009).",
      repeat: "natural",
      body: form(["token"], { token: text(), token_type_hint: text(), ...clientFields }),
      responses: {
        200: { description: "Done, also when there was no such token." },
        400: OAUTH_ERROR,
        401: OAUTH_ERROR,
      },
    }),
  },
  "/auth/login": {
    get: operation({
      id: "login",
      summary: "Sign in with a browser, at the configured OpenID provider.",
      parameters: [returnTo],
      responses: {
        302: redirect("To the identity provider, or to the sign-in page where none is configured."),
        400: failure("VALIDATION_ERROR"),
      },
    }),
  },
  "/auth/callback": {
    get: operation({
      id: "callback",
      summary: "Come back from the identity provider: sets the session cookie.",
      parameters: [query("code", "The provider's code."), query("state", "What we gave along.")],
      responses: {
        302: redirect("To where the sign-in was begun from."),
        400: { description: "The sign-in proves no identity, or an address that is not verified.", content: html },
        404: failure("ROUTE_NOT_FOUND"),
      },
    }),
  },
  "/auth/dev-login": {
    post: operation({
      id: "devLogin",
      summary: "Sign in as any user: only on a developer's own machine.",
      repeat: "natural",
      body: {
        "application/json": { schema: DevLogin },
        ...form(["email"], { email: text(), name: text(), returnTo: text() }),
      },
      responses: {
        200: {
          description: "Signed in: the session cookie is set.",
          content: { "application/json": { schema: DevLoginAnswer }, ...html },
        },
        400: failure("VALIDATION_ERROR", "MALFORMED_JSON"),
        403: failure("CSRF_REJECTED"),
        404: failure("ROUTE_NOT_FOUND"),
        413: failure("PAYLOAD_TOO_LARGE"),
        415: failure("UNSUPPORTED_MEDIA_TYPE"),
      },
    }),
  },
  "/auth/logout": {
    post: operation({
      id: "logout",
      summary: "Sign the browser out: ends the session.",
      repeat: "natural",
      responses: {
        204: { description: "Signed out, also when there was no session." },
        303: redirect("The same, for a form."),
        400: failure("VALIDATION_ERROR", "MALFORMED_JSON"),
        403: failure("CSRF_REJECTED"),
        413: failure("PAYLOAD_TOO_LARGE"),
        415: failure("UNSUPPORTED_MEDIA_TYPE"),
      },
    }),
  },
};

/** Pages that only a browser opens, and the second discovery path that some clients try. */
const PAGES = ["/auth/sign-in", "/auth/oauth2/authorize/{uid}", "/.well-known/openid-configuration"];
const INTERACTION = "/auth/oauth2/interaction/{uid}";

interface Line {
  readonly method: Method;
  readonly path: string;
}

/** Every route of sign-in; metrics may count only these. */
export const AUTH_ROUTES: readonly Line[] = [
  ...Object.entries(AUTH_PATHS).flatMap(([path, item]) =>
    Object.keys(item).map((method): Line => ({ method: method === "post" ? "POST" : "GET", path })),
  ),
  ...PAGES.map((path): Line => ({ method: "GET", path })),
  { method: "GET", path: INTERACTION },
  { method: "POST", path: INTERACTION },
];
