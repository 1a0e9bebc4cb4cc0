import { hkdfSync } from "node:crypto";
import Provider, { type ClientMetadata, type Configuration, type KoaContextWithOIDC } from "oidc-provider";
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { isPlainLoopback } from "../../../base/loopback.ts";
import type { Db } from "../../database/db.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import { ACCESS_TOKEN_PREFIX } from "../users/access-token.ts";
import { errorPage } from "../users/pages.ts";
import { siteOf } from "../users/site.ts";
import { findUser } from "../users/store.ts";
import { SqlAdapter } from "./adapter.ts";
import type { OAuthClient } from "./client.ts";
import { idTokenKey } from "./signing-key.ts";

export interface OAuthDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly config: CallConfig;
  readonly clients: readonly OAuthClient[];
  readonly log: Logger;
}

export const OAUTH_PATHS = {
  authorization: "/auth/oauth2/authorize",
  token: "/auth/oauth2/token",
  revocation: "/auth/oauth2/revoke",
  interaction: "/auth/oauth2/interaction",
  jwks: "/.well-known/jwks.json",
  metadata: "/.well-known/oauth-authorization-server",
} as const;

/** The platform's own parameter, in place of `prompt=none`. */
export const SILENT = "sp_silent";

const DAY_SECONDS = 24 * 3600;

/** Lifetime of each kind of record (§25). */
const TTL_SECONDS = {
  AccessToken: 15 * 60,
  AuthorizationCode: 60,
  IdToken: 15 * 60,
  RefreshToken: 30 * DAY_SECONDS,
  // Limits how long refresh tokens can be renewed: once a year the user must sign in again.
  Grant: 365 * DAY_SECONDS,
  // From the first redirect to the end of sign-in and consent.
  Interaction: 15 * 60,
  // The library's own session lasts one authorisation. Only `sp_session` tells which user is signed in.
  Session: 15 * 60,
};

/** Builds the OAuth 2.0 server. All of its state is in SQL, so any replica can continue what another one began. */
export async function buildProvider(deps: OAuthDeps): Promise<Provider> {
  const { db, clock, config, log } = deps;
  const { prefix } = siteOf(config);
  const provider = new Provider(config.baseUrl, {
    adapter: (kind: string) => new SqlAdapter(kind, db, clock),
    clients: deps.clients.map(metadataOf),
    jwks: { keys: [await idTokenKey(db, config.sealingKey, clock.wallNow())] },
    ...POLICY,
    interactions: { url: (_context, { uid }) => `${prefix}${OAUTH_PATHS.interaction}/${uid}` },
    cookies: cookies(config),
    async findAccount(_context, id) {
      const user = await findUser(db, id);
      if (user === undefined) return undefined;
      const { email, name, image } = user;
      const claims = { sub: id, email, email_verified: true, name, ...(image !== null && { picture: image }) };
      return { accountId: id, claims: () => claims };
    },
    renderError: (context, out) => renderError(prefix, context, out),
  });
  provider.proxy = true;
  provider.use(async (context, next) => {
    await next();
    // A redirect after GET is 302 like everywhere else here (§25). The library sends 303, which means the same for a
    // GET.
    if (context.method === "GET" && context.status === 303) context.status = 302;
  });
  provider.on("server_error", (context, err) => {
    log.error({ err, requestId: context.res.getHeader("x-request-id") }, "oauth request failed");
  });
  nameTokens(provider);
  return provider;
}

const off = { enabled: false } as const;

const POLICY: Configuration = {
  routes: {
    authorization: OAUTH_PATHS.authorization,
    token: OAUTH_PATHS.token,
    revocation: OAUTH_PATHS.revocation,
    jwks: OAUTH_PATHS.jwks,
  },
  features: {
    // A client may revoke only its own tokens and learns nothing about those of others.
    revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
    claimsParameter: off,
    devInteractions: off,
    dPoP: off,
    pushedAuthorizationRequests: off,
    resourceIndicators: off,
    rpInitiatedLogout: off,
    userinfo: off,
  },
  extraParams: [SILENT],
  responseTypes: ["code"],
  scopes: ["openid", "profile", "email", "offline_access"],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "picture"] },
  // There is no userinfo endpoint, so the id token is the only place for the claims.
  conformIdTokenClaims: false,
  clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
  enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
  clientDefaults: { id_token_signed_response_alg: "ES256" },
  ttl: TTL_SECONDS,
  rotateRefreshToken: true,
  issueRefreshToken: (_context, client, code) =>
    client.grantTypeAllowed("refresh_token") && code.scopes.has("offline_access"),
  expiresWithSession: () => false,
  // When a token is revoked or used twice, everything from the same consent ends.
  revokeGrantPolicy: () => true,
};

function metadataOf({ id, name, redirectUris, secret }: OAuthClient): ClientMetadata {
  return {
    client_id: id,
    client_name: name,
    redirect_uris: [...redirectUris],
    response_types: ["code"],
    grant_types: ["authorization_code", "refresh_token"],
    // Native: any port of a loopback address is accepted, and the user is always asked before the redirect.
    application_type: redirectUris.every(isPlainLoopback) ? "native" : "web",
    ...(secret === undefined
      ? { token_endpoint_auth_method: "none" }
      : { client_secret: secret, token_endpoint_auth_method: "client_secret_basic" }),
  };
}

/** Signs cookies with a key that every replica derives from the shared sealing key. */
function cookies(config: CallConfig): Configuration["cookies"] {
  const { prefix, secure } = siteOf(config);
  const key = Buffer.from(hkdfSync("sha256", config.sealingKey, "", "oauth cookies", 32)).toString("base64url");
  const options = { httpOnly: true, sameSite: "lax", signed: true, secure } as const;
  return {
    keys: [key],
    names: { session: "sp_oauth", interaction: "sp_oauth_interaction", resume: "sp_oauth_resume" },
    long: { ...options, path: prefix + OAUTH_PATHS.authorization },
    short: options,
  };
}

/** Answers an error that cannot be sent to the client: a page for browsers, the RFC's object for programs. */
async function renderError(prefix: string, context: KoaContextWithOIDC, out: object): Promise<void> {
  if (context.accepts("json", "html") !== "html") {
    context.body = out;
    return;
  }
  const { error, error_description } = out as { readonly error: string; readonly error_description?: string };
  const page = errorPage(
    prefix,
    "The sign-in cannot go on",
    `${error_description ?? "The request is not valid"} (${error}).`,
  );
  context.set(page.headers);
  context.type = "html";
  context.body = page.html;
}

/**
 * Gives tokens a prefix like keys: the platform recognises them before any look-up, and scanners for leaked secrets
 * find them.
 */
function nameTokens(provider: Provider): void {
  const named = { AccessToken: ACCESS_TOKEN_PREFIX, RefreshToken: "sp_rt_" } as const;
  for (const [kind, prefix] of Object.entries(named)) {
    // Not in the published types.
    const { prototype } = provider[kind as keyof typeof named] as unknown as { readonly prototype: Named };
    const generate = prototype.generateTokenId;
    prototype.generateTokenId = function (this: Named) {
      return prefix + generate.call(this);
    };
  }
}

interface Named {
  generateTokenId(): string;
}
