import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "../../../base/log.ts";
import { KEY_EXPIRES_HEADER } from "../../../contract/api-keys/api-keys.ts";
import { PlatformError, toBody } from "../errors.ts";
import type { Engine } from "./execute.ts";
import { trace } from "./trace.ts";
import { isUnreachable, sqlState } from "./transaction.ts";

/** Sets the headers of every answer, then those of this one. */
export function setHeaders(
  engine: Engine,
  request: FastifyRequest,
  reply: FastifyReply,
  extra: Readonly<Record<string, string>>,
): void {
  reply.header("x-request-id", request.id);
  reply.header("cache-control", "no-store");
  const { allowance, principal } = trace(request, engine);
  const expiresAt = principal?.kind === "serviceAccount" ? principal.expiresAt : null;
  if (expiresAt !== null) reply.header(KEY_EXPIRES_HEADER, expiresAt.toISOString());
  if (allowance !== undefined) {
    reply.header("ratelimit-limit", allowance.limit);
    reply.header("ratelimit-remaining", allowance.remaining);
    reply.header("ratelimit-reset", allowance.resetSeconds);
  }
  for (const [name, value] of Object.entries(extra)) reply.header(name, value);
}

/** Answers every failure as the nine-field error object. An unexpected error becomes INTERNAL_ERROR and a log line. */
export function sendError(
  engine: Engine,
  log: Logger,
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): FastifyReply {
  const error = toPlatformError(thrown);
  const seen = trace(request, engine);
  seen.code = error.code;
  if (error.code === "INTERNAL_ERROR") {
    log.error({ err: thrown, requestId: request.id, route: seen.endpoint?.name }, "request failed");
  }
  const { status } = error.spec;
  const needsRetryAfter = status === 429 || status === 503;
  setHeaders(engine, request, reply, {
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
  // 57014: the statement exceeded the connection's limit of 30 s.
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
