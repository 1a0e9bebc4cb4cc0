import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { RATES, type RateLimiter, tooManyRequests } from "../budgets/rate-limit.ts";
import { addressBucket } from "../caller-address.ts";
import { PlatformError } from "../errors.ts";
import type { Engine } from "./execute.ts";
import { trace } from "./trace.ts";

export interface OpenDeps {
  readonly engine: Engine;
  readonly limiter: RateLimiter | undefined;
  readonly draining: AbortSignal;
}

/**
 * Registers a route outside of the contract's table that needs no credential and answers in its own form. The rate
 * limit is that of the client's address.
 * @param path with `{name}` segments: also its name in logs and metrics.
 * @throws RATE_LIMITED; SERVICE_UNAVAILABLE while the server drains.
 */
export function openRoute(
  app: FastifyInstance,
  { engine, limiter, draining }: OpenDeps,
  method: "GET" | "POST" | "PUT",
  path: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.route({
    method,
    url: path.replace(/\{(\w+)\}/g, ":$1"),
    onRequest: async (request) => {
      const seen = trace(request, engine);
      seen.open = { method, path };
      if (draining.aborted) throw new PlatformError("SERVICE_UNAVAILABLE", { headers: { connection: "close" } });
      seen.allowance = limiter?.take(addressBucket(request.ip), RATES.unauthenticated);
      if (seen.allowance?.allowed === false) {
        engine.metrics.rateLimited();
        throw tooManyRequests("unauthenticated", seen.allowance);
      }
    },
    handler,
  });
}
