import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "../../../base/log.ts";
import type { ErrorCode } from "../../../contract/wire/errors.ts";
import type { Allowance } from "../budgets/rate-limit.ts";
import { uuidv7 } from "../ids.ts";
import type { Caller } from "../tenancy/principal.ts";
import type { Credential } from "./credential.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Engine } from "./execute.ts";

/** What the server knows of a request so far, filled while the request passes the checks. */
export interface Trace {
  readonly startedMs: number;
  endpoint: Endpoint | undefined;
  /** The route that serves the request when it is not in the contract's table. */
  open: { readonly method: string; readonly path: string } | undefined;
  credential: Credential | undefined;
  principal: Caller | undefined;
  allowance: Allowance | undefined;
  code: ErrorCode | undefined;
}

const traces = new WeakMap<FastifyRequest, Trace>();

export function trace(request: FastifyRequest, engine: Engine): Trace {
  const known = traces.get(request);
  if (known !== undefined) return known;
  const fresh: Trace = {
    startedMs: engine.clock.monotonicMs(),
    endpoint: undefined,
    open: undefined,
    credential: undefined,
    principal: undefined,
    allowance: undefined,
    code: undefined,
  };
  traces.set(request, fresh);
  return fresh;
}

/** Takes the caller's own request id when it is well formed, so that both sides log the same id (§0.4). */
export function requestIdOf(given: string | string[] | undefined, now: Date): string {
  return typeof given === "string" && /^[A-Za-z0-9._-]{8,128}$/.test(given) ? given : uuidv7(now.getTime());
}

/** Writes one log line and one metric for each request. No body, no query, no credential. */
export function logAccess(engine: Engine, log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const { endpoint, open, principal, startedMs, code } = trace(request, engine);
  const durationMs = engine.clock.monotonicMs() - startedMs;
  const { path: route, method } = endpoint?.route ?? open ?? { path: "none", method: "none" };
  engine.metrics.request(method, route, reply.statusCode, durationMs / 1000);
  if (code !== undefined) engine.metrics.refused(code);
  const fields = { requestId: request.id, method, route, status: reply.statusCode, durationMs: Math.round(durationMs) };
  const who = principal && {
    principalId: principal.id,
    ...(principal.kind !== "person" && { workspaceId: principal.workspaceId }),
  };
  log.info({ ...fields, ...who, ...(code !== undefined && { code }) }, "request");
}
