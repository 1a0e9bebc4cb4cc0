import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { uuidv7 } from "./ids.ts";
import { admit, authenticate, workspaceOf } from "./kernel/admission.ts";
import type { Authenticator, Credential } from "./kernel/credential.ts";
import { type Endpoint, parseRequest } from "./kernel/endpoint.ts";
import { PlatformError, toBody } from "./kernel/errors.ts";
import { type Engine, execute } from "./kernel/execute.ts";
import type { Principal } from "./kernel/principal.ts";
import { type Allowance, RATES, type RateLimiter } from "./kernel/rate-limit.ts";
import { isUnreachable, sqlState } from "./kernel/transaction.ts";
import type { Logger } from "./log.ts";

export interface HttpDeps {
  readonly engine: Engine;
  readonly endpoints: readonly Endpoint[];
  readonly authenticators: readonly Authenticator[];
  /** Undefined: no limits. */
  readonly limiter: RateLimiter | undefined;
  readonly log: Logger;
  /** Aborts when the server begins to drain: long-polls end, new requests are refused. */
  readonly draining: AbortSignal;
  ready(): Promise<boolean>;
}

/** JSON bodies larger than this are refused (§0.9). */
const BODY_LIMIT_BYTES = 1024 * 1024;
/** Server time of one request; a long-poll adds its `wait` (§0.9). */
const REQUEST_LIMIT_MS = 30_000;

/** What is known of a request while it passes the checks. */
interface Trace {
  readonly startedMs: number;
  endpoint: Endpoint | undefined;
  credential: Credential | undefined;
  principal: Principal | undefined;
  allowance: Allowance | undefined;
  code: string | undefined;
}

/** Fastify from the table: the order of checks of decisions §0.2, one answer form, one log line and one metric each. */
export function buildHttp(deps: HttpDeps): FastifyInstance {
  const { engine } = deps;
  const app = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    exposeHeadRoutes: false,
    // We refuse by ourselves while draining, with the nine fields.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    routerOptions: { maxParamLength: 1000 },
    genReqId: ({ headers }) => requestIdOf(headers["x-request-id"], engine.clock.wallNow()),
    frameworkErrors: (error, request, reply) => {
      trace(request, engine);
      void sendError(deps, request, reply, error);
    },
  });
  // The body stays bytes until the credential, the rate and the role have been checked.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));

  app.addHook("onRequest", async (request) => {
    trace(request, engine);
    engine.metrics.inFlight(1);
  });
  app.addHook("onResponse", async (request, reply) => {
    engine.metrics.inFlight(-1);
    logAccess(deps, request, reply);
  });
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(deps, request, reply, error));
  app.setNotFoundHandler((request, reply) => sendError(deps, request, reply, noSuchRoute(deps.endpoints, request)));

  for (const endpoint of deps.endpoints) register(app, deps, endpoint);
  registerHealth(app, deps);
  return app;
}

const traces = new WeakMap<FastifyRequest, Trace>();

function trace(request: FastifyRequest, engine: Engine): Trace {
  const known = traces.get(request);
  if (known !== undefined) return known;
  const fresh: Trace = {
    startedMs: engine.clock.monotonicMs(),
    endpoint: undefined,
    credential: undefined,
    principal: undefined,
    allowance: undefined,
    code: undefined,
  };
  traces.set(request, fresh);
  return fresh;
}

function requestIdOf(given: string | string[] | undefined, now: Date): string {
  return typeof given === "string" && /^[A-Za-z0-9._-]{8,128}$/.test(given) ? given : uuidv7(now.getTime());
}

function register(app: FastifyInstance, deps: HttpDeps, endpoint: Endpoint): void {
  const { engine } = deps;
  app.route({
    method: endpoint.route.method,
    url: endpoint.route.path.replace(/\{(\w+)\}/g, ":$1"),
    // Before the body is read: a caller without rights cannot make us buffer it.
    onRequest: async (request) => {
      const seen = trace(request, engine);
      seen.endpoint = endpoint;
      if (deps.draining.aborted) throw new PlatformError("SERVICE_UNAVAILABLE", { headers: { connection: "close" } });
      const now = engine.clock.wallNow();
      seen.credential = await limited(deps, request, seen, () =>
        authenticate(deps.authenticators, request.headers, now),
      );
      const workspace = workspaceOf(searchOf(request));
      seen.principal = await seen.credential.inWorkspace(workspace, endpoint.route.workspace === "exempt");
      admit(endpoint.route, seen.principal);
    },
    handler: (request, reply) => respond(deps, endpoint, request, reply),
  });
}

/** The caller's bucket pays; who has no credential that holds pays from its address's. @throws RATE_LIMITED. */
async function limited(
  deps: HttpDeps,
  request: FastifyRequest,
  seen: Trace,
  authenticated: () => Promise<Credential>,
): Promise<Credential> {
  try {
    const credential = await authenticated();
    seen.allowance = deps.limiter?.take(credential.caller, RATES[credential.rate]);
    refuseExcess(deps, seen.allowance);
    return credential;
  } catch (error) {
    if (error instanceof PlatformError && error.spec.status === 401) {
      seen.allowance = deps.limiter?.take(request.ip, RATES.unauthenticated);
      refuseExcess(deps, seen.allowance);
    }
    throw error;
  }
}

function refuseExcess({ engine }: HttpDeps, allowance: Allowance | undefined): void {
  if (allowance === undefined || allowance.allowed) return;
  engine.metrics.rateLimited();
  throw new PlatformError("RATE_LIMITED", { retryAfterSeconds: allowance.retryAfterSeconds });
}

async function respond(
  deps: HttpDeps,
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
  const waitMs = endpoint.route.longPoll === true ? Number(parsed.query["wait"] ?? 0) * 1000 : 0;
  const limit = deadline(deps, request, waitMs, endpoint.route.longPoll === true);
  try {
    const answer = await Promise.race([
      execute(engine, {
        endpoint,
        parsed,
        principal,
        credential,
        requestId: request.id,
        idempotencyKey: typeof idempotencyKey === "string" ? idempotencyKey : undefined,
        now: engine.clock.wallNow(),
        signal: limit.signal,
      }),
      limit.expired,
    ]);
    setHeaders(deps, request, reply, answer.headers);
    reply.code(answer.status);
    if (answer.body === undefined) return reply.send();
    return reply.type("application/json; charset=utf-8").send(JSON.stringify(answer.body));
  } finally {
    limit.clear();
  }
}

/**
 * The request's end of time: `expired` rejects with TIMEOUT, and `signal` makes the work stop and its transaction roll
 * back. A long-poll's signal also ends when the client hangs up or the server drains; other work then runs to its end.
 */
function deadline({ engine, draining }: HttpDeps, request: FastifyRequest, waitMs: number, longPoll: boolean) {
  const controller = new AbortController();
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const cancel = engine.clock.after(REQUEST_LIMIT_MS + waitMs, () => {
    const timeout = new PlatformError("TIMEOUT");
    controller.abort(timeout);
    reject(timeout);
  });
  const hangUp = (): void => controller.abort(new Error("the client hung up"));
  if (longPoll) request.raw.socket.once("close", hangUp);
  return {
    signal: longPoll ? AbortSignal.any([controller.signal, draining]) : controller.signal,
    expired,
    clear: () => {
      cancel();
      request.raw.socket.off("close", hangUp);
    },
  };
}

/** The parsed query, read from the raw URL: our own rules for arrays and repeats. */
function searchOf(request: FastifyRequest): URLSearchParams {
  const at = request.url.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : request.url.slice(at + 1));
}

function noSuchRoute(endpoints: readonly Endpoint[], request: FastifyRequest): PlatformError {
  const path = request.url.split("?", 1)[0]?.split("/") ?? [];
  const fits = ({ route }: Endpoint): boolean => {
    const segments = route.path.split("/");
    return (
      segments.length === path.length &&
      segments.every((each, i) => each === path[i] || (each[0] === "{" && path[i] !== ""))
    );
  };
  const methods = [...new Set(endpoints.filter(fits).map(({ route }) => route.method))];
  if (methods.length === 0) return new PlatformError("ROUTE_NOT_FOUND");
  return new PlatformError("METHOD_NOT_ALLOWED", { headers: { allow: methods.join(", ") } });
}

function setHeaders(
  deps: HttpDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  extra: Readonly<Record<string, string>>,
): void {
  reply.header("x-request-id", request.id);
  reply.header("cache-control", "no-store");
  const { allowance } = trace(request, deps.engine);
  if (allowance !== undefined) {
    reply.header("ratelimit-limit", allowance.limit);
    reply.header("ratelimit-remaining", allowance.remaining);
    reply.header("ratelimit-reset", allowance.resetSeconds);
  }
  for (const [name, value] of Object.entries(extra)) reply.header(name, value);
}

/** Every failure leaves as the nine-field object; what nobody foresaw leaves as INTERNAL_ERROR and a log line. */
function sendError(deps: HttpDeps, request: FastifyRequest, reply: FastifyReply, thrown: unknown): FastifyReply {
  const error = toPlatformError(thrown);
  const seen = trace(request, deps.engine);
  seen.code = error.code;
  if (error.code === "INTERNAL_ERROR") {
    deps.log.error({ err: thrown, requestId: request.id, route: seen.endpoint?.name }, "request failed");
  }
  const { status } = error.spec;
  const needsRetryAfter = status === 429 || status === 503;
  setHeaders(deps, request, reply, {
    ...(status === 401 && { "www-authenticate": "Bearer" }),
    ...(needsRetryAfter && { "retry-after": String(error.detail.retryAfterSeconds ?? 5) }),
    ...error.detail.headers,
  });
  return reply
    .code(status)
    .type("application/json; charset=utf-8")
    .send(JSON.stringify(toBody(error, request.id)));
}

export function toPlatformError(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error;
  if (isUnreachable(error)) return new PlatformError("SERVICE_UNAVAILABLE", { cause: error });
  // 57014: the statement ran into the 30 s limit of the connection.
  if (sqlState(error) === "57014") return new PlatformError("TIMEOUT", { cause: error });
  const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  if (status === 413) return new PlatformError("PAYLOAD_TOO_LARGE", { cause: error });
  if (status === 415) return new PlatformError("UNSUPPORTED_MEDIA_TYPE", { cause: error });
  if (status === 404 || status === 414) return new PlatformError("ROUTE_NOT_FOUND", { cause: error });
  if (typeof status === "number" && status >= 400 && status < 500) {
    const issues = [{ path: "path", message: "the request cannot be read" }];
    return new PlatformError("VALIDATION_ERROR", { cause: error, context: { issues } });
  }
  return new PlatformError("INTERNAL_ERROR", { cause: error });
}

function logAccess({ engine, log }: HttpDeps, request: FastifyRequest, reply: FastifyReply): void {
  const { endpoint, principal, startedMs, code } = trace(request, engine);
  const durationMs = engine.clock.monotonicMs() - startedMs;
  const route = endpoint?.route.path ?? "none";
  const method = endpoint?.route.method ?? "none";
  engine.metrics.request(method, route, reply.statusCode, durationMs / 1000);
  const fields = { requestId: request.id, method, route, status: reply.statusCode, durationMs: Math.round(durationMs) };
  const who = principal && { principalId: principal.id, workspaceId: principal.workspaceId };
  log.info({ ...fields, ...who, ...(code !== undefined && { code }) }, "request");
}

/** For the machinery around us: no credential, no limit. */
function registerHealth(app: FastifyInstance, deps: HttpDeps): void {
  app.get("/livez", (request, reply) => {
    setHeaders(deps, request, reply, {});
    return reply.type("text/plain").send("ok");
  });
  app.get("/readyz", async (request, reply) => {
    if (deps.draining.aborted || !(await deps.ready())) throw new PlatformError("SERVICE_UNAVAILABLE");
    setHeaders(deps, request, reply, {});
    return reply.type("text/plain").send("ok");
  });
}
