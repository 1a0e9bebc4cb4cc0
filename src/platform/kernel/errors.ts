import { ERRORS, type ErrorCode, type ErrorSpec } from "../../contract/wire/errors.ts";

export interface ErrorDetail {
  /** What is wrong in this case; default: the table's text. User input is quoted up to 128 characters. No secrets. */
  readonly message?: string;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly hint?: string;
  readonly cause?: unknown;
  /** `Retry-After` in whole seconds; 429 and 503 always carry one (default 5). */
  readonly retryAfterSeconds?: number;
  /** Headers of the answer, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The only error that a handler throws on purpose. It rolls back the request's transaction and becomes the answer. */
export class PlatformError extends Error {
  override readonly name = "PlatformError";
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;

  constructor(code: ErrorCode, detail: ErrorDetail = {}) {
    super(detail.message ?? ERRORS[code].message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.detail = detail;
  }

  get spec(): ErrorSpec {
    return ERRORS[this.code];
  }
}

/** The object is absent, of another workspace, or outside of the key's scope: the caller cannot distinguish these (§0.3). */
export function notFound(resource: string): PlatformError {
  return new PlatformError("NOT_FOUND", {
    message: `no such ${resource}, or it is not visible to this credential`,
    context: { resource },
  });
}

/** @param hint what to do instead */
export function invalidTransition(from: string, to: string, allowed: readonly string[], hint?: string): PlatformError {
  return new PlatformError("INVALID_STATE_TRANSITION", {
    message: `cannot go from ${from} to ${to}`,
    context: { from, to, allowed },
    ...(hint !== undefined && { hint }),
  });
}

/** A request without a WebSocket upgrade for a path that serves only WebSockets. */
export function upgradeRequired(): PlatformError {
  return new PlatformError("UPGRADE_REQUIRED", { headers: { upgrade: "websocket", connection: "Upgrade" } });
}

export interface Issue {
  /** `body.a.0.b`, `query.limit`, `path.id`, `header.idempotency-key`. */
  readonly path: string;
  readonly message: string;
}

/**
 * A longer list would not help the caller, and would let an attacker cause large answers with small requests (§0.4).
 */
export const MAX_ISSUES = 50;

/** For rules that the schema cannot express, such as "in the future" or "the project owns the group". */
export function invalid(...issues: readonly Issue[]): PlatformError {
  const shown = issues.slice(0, MAX_ISSUES);
  const message = shown.map(({ path, message }) => `${path} ${message}`).join("; ");
  return new PlatformError("VALIDATION_ERROR", { message: message.slice(0, 1024), context: { issues: shown } });
}

/** The error object of the API. Responses carry all nine fields. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly source: null;
  readonly retryable: boolean;
  readonly context: Readonly<Record<string, unknown>> | null;
  readonly hint: string | null;
  readonly httpStatusCode: number;
  readonly internal: boolean;
  readonly requestId: string;
}

export function toBody(error: PlatformError, requestId: string): ErrorBody {
  const { status, retryable, hint } = error.spec;
  const internal = error.code === "INTERNAL_ERROR";
  return {
    code: error.code,
    message: internal ? "Internal error" : error.message,
    source: null,
    retryable,
    context: internal ? null : (error.detail.context ?? null),
    hint: error.detail.hint ?? hint,
    httpStatusCode: status,
    internal,
    requestId,
  };
}
