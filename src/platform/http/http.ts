import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { doubledHeader } from "../../base/doubled-header.ts";
import type { Logger } from "../../base/log.ts";
import { type Allowance, RATES, type RateLimiter, tooManyRequests } from "../kernel/budgets/rate-limit.ts";
import { sendError, setHeaders } from "../kernel/call/answer.ts";
import type { Authenticator, Credential } from "../kernel/call/credential.ts";
import { type Endpoint, parseRequest } from "../kernel/call/endpoint.ts";
import { type Engine, execute } from "../kernel/call/execute.ts";
import { logAccess, requestIdOf, type Trace, trace } from "../kernel/call/trace.ts";
import type { Trust } from "../kernel/caller-address.ts";
import { addressBucket } from "../kernel/caller-address.ts";
import { invalid, PlatformError, upgradeRequired } from "../kernel/errors.ts";
import { isRelayUpgrade } from "../relay/upgrade.ts";
import { admit, authenticate, workspaceOf } from "./admission.ts";
import { gunzipped } from "./gunzip.ts";
import { registerReference } from "./reference.ts";
import { REQUEST_LIMIT_MS, RequestDeadlines } from "./request-deadline.ts";
import { endUnread } from "./unread-body.ts";
import { refuseUnread } from "./unread-request.ts";
import { PROBE_METHODS, Unrouted } from "./unrouted.ts";

export interface HttpDeps {
  readonly engine: Engine;
  readonly endpoints: readonly Endpoint[];
  readonly authenticators: readonly Authenticator[];
  /** Undefined: no rate limits. */
  readonly limiter: RateLimiter | undefined;
  readonly trustedProxies: Trust;
  readonly log: Logger;
  /** Aborts when the server begins to drain: long-polls end, new requests are refused. */
  readonly draining: AbortSignal;
  ready(): Promise<boolean>;
}

/** JSON bodies larger than this are refused (§0.9). */
const BODY_LIMIT_BYTES = 1024 * 1024;

/** How long a slow upload may hold a connection: as long as the upload address is valid (§0.9). */
const UPLOAD_LIMIT_MS = 15 * 60_000;

/**
 * Builds the Fastify server from the route table: the order of checks of §0.2, one form of answers, one log line and
 * one metric for each request.
 */
export function buildHttp(deps: HttpDeps): FastifyInstance {
  const { engine } = deps;
  const app = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    exposeHeadRoutes: false,
    // The server refuses requests itself while it drains, with the nine-field error.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    // The limit for uploads. Routes of the table have the shorter limit of a request.
    requestTimeout: UPLOAD_LIMIT_MS,
    trustProxy: deps.trustedProxies,
    // The longest parameter has 512 characters, and each may be an escape of three characters here, such as `%2F`. The
    // limit is higher, so that the checker and not the router refuses a longer one and says why.
    routerOptions: { maxParamLength: 4 * 512 },
    // Clients offer other upgrades (h2c) on plain requests. The server ignores those offers.
    http: { shouldUpgradeCallback: isRelayUpgrade },
    genReqId: ({ headers }) => requestIdOf(headers["x-request-id"], engine.clock.wallNow()),
    clientErrorHandler: (error, socket) => refuseUnread(error, socket, engine.clock),
    frameworkErrors: (error, request, reply) => {
      trace(request, engine);
      void sendError(engine, deps.log, request, reply, error);
    },
  });
  // The body stays bytes until the credential, the rate and the role have been checked.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));

  const unrouted = new Unrouted(deps.endpoints.map(({ route }) => route));
  const refuse = async (request: FastifyRequest): Promise<never> => {
    throw unrouted.error(request.url.split("?", 1)[0] ?? "");
  };
  app.addHook("onRequest", async (request) => {
    trace(request, engine);
    engine.metrics.inFlight(1);
    const twice = doubledHeader(request.raw.rawHeaders);
    if (twice !== undefined) throw invalid({ path: `headers.${twice}`, message: "stands in the request twice" });
    // Refused before the body is read: no route needs it.
    if (request.is404) await refuse(request);
  });
  app.addHook("onSend", async ({ raw }, reply) => endUnread(raw, reply.raw, engine.clock));
  app.addHook("onResponse", async (request, reply) => {
    engine.metrics.inFlight(-1);
    logAccess(engine, deps.log, request, reply);
  });
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(engine, deps.log, request, reply, error));
  app.setNotFoundHandler(refuse);

  const deadlines = new RequestDeadlines(engine.clock, deps.draining);
  for (const endpoint of deps.endpoints) register(app, deps, deadlines, endpoint);
  for (const { method, path } of unrouted.shadowed()) {
    app.route({ method, url: urlOf(path), onRequest: refuse, handler: refuse });
  }
  registerHealth(app, deps);
  registerReference(app, deps);
  return app;
}

function register(app: FastifyInstance, deps: HttpDeps, deadlines: RequestDeadlines, endpoint: Endpoint): void {
  const { engine } = deps;
  app.route({
    method: endpoint.route.method,
    url: urlOf(endpoint.route.path),
    // Before the body is read, so that a caller without rights cannot make the server buffer it.
    onRequest: async (request) => {
      const seen = trace(request, engine);
      seen.endpoint = endpoint;
      if (deps.draining.aborted) throw new PlatformError("SERVICE_UNAVAILABLE", { headers: { connection: "close" } });
      // Relay tickets are checked on the upgrade (relay/upgrade.ts). A request without an upgrade is refused here.
      if (endpoint.route.roles === "ticket") throw upgradeRequired();
      const now = engine.clock.wallNow();
      seen.credential = await limited(deps, request, seen, () => authenticate(deps.authenticators, request, now));
      const { workspace: rule } = endpoint.route;
      seen.principal = await seen.credential.inWorkspace({
        name: workspaceOf(searchOf(request)),
        id: rule === "path" ? String((request.params as { id?: unknown }).id) : undefined,
        exempt: rule !== undefined,
      });
      admit(endpoint.route, seen.principal);
    },
    preParsing: async (request, _reply, payload) => {
      hurry(engine, request);
      const encoding = request.headers["content-encoding"];
      if (encoding === undefined || encoding === "identity") return payload;
      if (encoding !== "gzip" || endpoint.route.gzip !== true) throw new PlatformError("UNSUPPORTED_MEDIA_TYPE");
      return gunzipped(payload, BODY_LIMIT_BYTES);
    },
    handler: (request, reply) => respond(deps, deadlines, endpoint, request, reply),
  });
}

/** Closes the connection when a slow body is not complete within the request's time. */
function hurry({ clock }: Engine, { raw }: FastifyRequest): void {
  const { "content-length": length, "transfer-encoding": encoding } = raw.headers;
  // A request without a body has nothing to wait for, and a long-poll is held longer than this limit.
  if (encoding === undefined && Number(length ?? 0) === 0) return;
  const cancel = clock.after(REQUEST_LIMIT_MS, () => raw.destroy());
  raw.once("end", cancel).once("close", cancel);
}

/** A path template in Fastify's syntax. */
function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

/**
 * Takes a token from the caller's bucket and from its tenant's. A request without a valid credential pays from the
 * bucket of its address.
 * @throws RATE_LIMITED.
 */
async function limited(
  deps: HttpDeps,
  request: FastifyRequest,
  seen: Trace,
  authenticated: () => Promise<Credential>,
): Promise<Credential> {
  try {
    const credential = await authenticated();
    seen.allowance = deps.limiter?.take(credential.caller, RATES[credential.rate]);
    refuseExcess(deps, credential.rate, seen.allowance);
    const { tenant } = credential;
    const ofAll = tenant && deps.limiter?.take(tenant.id, RATES[tenant.rate]);
    if (ofAll?.allowed === false) seen.allowance = ofAll;
    if (tenant !== undefined) refuseExcess(deps, tenant.rate, ofAll);
    return credential;
  } catch (error) {
    if (error instanceof PlatformError && error.spec.status === 401) {
      seen.allowance = deps.limiter?.take(addressBucket(request.ip), RATES.unauthenticated);
      refuseExcess(deps, "unauthenticated", seen.allowance);
    }
    throw error;
  }
}

function refuseExcess({ engine }: HttpDeps, rate: keyof typeof RATES, allowance: Allowance | undefined): void {
  if (allowance === undefined || allowance.allowed) return;
  engine.metrics.rateLimited();
  throw tooManyRequests(rate, allowance);
}

async function respond(
  deps: HttpDeps,
  deadlines: RequestDeadlines,
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { engine } = deps;
  const { credential, principal } = trace(request, engine);
  if (credential === undefined || principal === undefined) throw new Error("a handler ran before the checks");
  const parsed = parseRequest(endpoint, {
    params: request.params,
    search: searchOf(request),
    body: request.body instanceof Buffer ? request.body : undefined,
    contentType: request.headers["content-type"],
  });
  const idempotencyKey = request.headers["idempotency-key"];
  const longPoll = endpoint.route.longPoll === true;
  const waitMs = longPoll ? Number(parsed.query.wait ?? 0) * 1000 : 0;
  const limit = longPoll ? deadlines.ofPoll(request.raw, waitMs) : deadlines.of();
  if (waitMs > 0) engine.metrics.polling(1);
  try {
    const answer = await Promise.race([
      execute(engine, {
        endpoint,
        parsed,
        principal,
        credential,
        requestId: request.id,
        idempotencyKey: typeof idempotencyKey === "string" ? idempotencyKey : undefined,
        ifNoneMatch: endpoint.route.etag === true ? request.headers["if-none-match"] : undefined,
        now: engine.clock.wallNow(),
        signal: limit.signal,
      }),
      limit.expired,
    ]);
    setHeaders(deps.engine, request, reply, answer.headers);
    reply.code(answer.status);
    if (answer.body === undefined) return reply.send();
    return reply.type("application/json; charset=utf-8").send(JSON.stringify(answer.body));
  } finally {
    if (waitMs > 0) engine.metrics.polling(-1);
    limit.clear();
  }
}

/** The query, parsed from the raw URL, because the API has its own rules for arrays and repeated parameters. */
function searchOf(request: FastifyRequest): URLSearchParams {
  const at = request.url.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : request.url.slice(at + 1));
}

/** Health probes: no credential, no rate limit. Some load balancers ask with HEAD. */
function registerHealth(app: FastifyInstance, deps: HttpDeps): void {
  const probe = (url: string, isWell: () => Promise<boolean>): void => {
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      if (!(await isWell())) throw new PlatformError("SERVICE_UNAVAILABLE");
      setHeaders(deps.engine, request, reply, {});
      return reply.type("text/plain").send("ok");
    };
    app.route({ method: [...PROBE_METHODS], url, handler });
  };
  probe("/livez", async () => true);
  probe("/readyz", async () => !deps.draining.aborted && (await deps.ready()));
}
