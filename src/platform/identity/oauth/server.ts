import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from "fastify";
import type Provider from "oidc-provider";
import { setHeaders } from "../../kernel/call/answer.ts";
import { type OpenDeps, openRoute } from "../../kernel/call/open-route.ts";
import { liveSession, sessionOf } from "../users/session.ts";
import { siteOf } from "../users/site.ts";
import { buildProvider, OAUTH_PATHS, type OAuthDeps, SILENT } from "./provider.ts";
import { publicKeys } from "./signing-key.ts";

/**
 * Runs the OAuth library behind the platform's HTTP server. Created on first use, because its issuer is the address
 * that the server has only then.
 */
export class OAuthServer {
  readonly deps: OAuthDeps;
  #provider: Promise<Provider> | undefined;

  constructor(deps: OAuthDeps) {
    this.deps = deps;
  }

  async provider(): Promise<Provider> {
    this.#provider ??= buildProvider(this.deps);
    try {
      return await this.#provider;
    } catch (error) {
      // The database was not reachable: the next request tries again.
      this.#provider = undefined;
      throw error;
    }
  }

  register(app: FastifyInstance, open: OpenDeps): void {
    const { engine } = open;
    const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      setHeaders(engine, request, reply, {});
      return this.#handOver(request, reply);
    };
    // A separate Fastify context: the library reads the body itself.
    const plugin: FastifyPluginCallback = (inner, _options, done) => {
      inner.removeAllContentTypeParsers();
      inner.addContentTypeParser("*", (_request, _body, done) => done(null));
      openRoute(inner, open, "GET", OAUTH_PATHS.authorization, serve);
      openRoute(inner, open, "GET", `${OAUTH_PATHS.authorization}/{uid}`, serve);
      openRoute(inner, open, "POST", OAUTH_PATHS.token, serve);
      openRoute(inner, open, "POST", OAUTH_PATHS.revocation, serve);
      openRoute(inner, open, "GET", OAUTH_PATHS.metadata, serve);
      openRoute(inner, open, "GET", "/.well-known/openid-configuration", serve);
      done();
    };
    app.register(plugin);
    openRoute(app, open, "GET", OAUTH_PATHS.jwks, async (request, reply) => {
      setHeaders(engine, request, reply, { "cache-control": "public, max-age=300" });
      return reply.type("application/jwk-set+json").send(JSON.stringify(await publicKeys(this.deps.db)));
    });
  }

  async #handOver(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const provider = await this.provider();
    const { origin } = siteOf(this.deps.config);
    const { raw } = request;
    // Must come before the cookies are reduced below: the session cookie is still there.
    if (request.routeOptions.url === OAUTH_PATHS.authorization) {
      raw.url = completed(request.url, await this.#isSignedIn(request));
    }
    // Links use the configured host, whatever the request's headers say.
    raw.headers["x-forwarded-proto"] = new URL(origin).protocol.slice(0, -1);
    raw.headers["x-forwarded-host"] = new URL(origin).host;
    raw.headers.cookie = ownCookies(raw.headers.cookie, provider);
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    await provider.callback()(raw, reply.raw);
    return reply;
  }

  async #isSignedIn({ headers }: FastifyRequest): Promise<boolean> {
    const { db, clock } = this.deps;
    const secret = sessionOf(headers);
    return secret !== undefined && (await liveSession(db, secret, clock.wallNow())) !== undefined;
  }
}

/**
 * Keeps only the cookies of the current authorisation. The library's session cookie is removed: `sp_session` tells
 * which user is signed in, and each authorisation asks again.
 */
function ownCookies(header: string | undefined, provider: Provider): string {
  const names = ["interaction", "resume"].map((type) => provider.cookieName(type));
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());
  return pairs
    .filter((pair) => names.some((name) => pair.startsWith(`${name}=`) || pair.startsWith(`${name}.sig=`)))
    .join("; ");
}

const DEFAULT_SCOPE = "profile email";

/**
 * Adds to an authorisation request what the platform does not demand of clients: a scope, because rights come from the
 * role; and for `offline_access` the prompt for consent that OpenID Connect requires. A `prompt=none` of a signed-in
 * user is replaced by the platform's own parameter, and shows no page either: the library itself knows no session and
 * would refuse.
 */
function completed(url: string, signedIn: boolean): string {
  const at = url.indexOf("?");
  const query = new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
  if (!query.get("scope")) query.set("scope", DEFAULT_SCOPE);
  query.delete(SILENT);
  if (signedIn && query.getAll("prompt").join(" ") === "none") {
    query.delete("prompt");
    query.set(SILENT, "true");
    return `${OAUTH_PATHS.authorization}?${query}`;
  }
  const prompts = query.get("prompt")?.split(" ") ?? [];
  const offline = query.get("scope")?.split(" ").includes("offline_access") === true;
  if (offline && !prompts.includes("consent") && !prompts.includes("none") && query.getAll("prompt").length <= 1) {
    query.set("prompt", [...prompts, "consent"].filter((each) => each !== "").join(" "));
  }
  return `${OAUTH_PATHS.authorization}?${query}`;
}
