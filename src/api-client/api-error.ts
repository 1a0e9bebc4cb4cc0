import { isRecord } from "../base/is-record.ts";
import { ERRORS, type ErrorCode } from "../contract/wire/errors.ts";

/** What went wrong between here and the platform, when no error object of the API came back. */
export const TRANSPORT_ERRORS = {
  NETWORK_ERROR: { retryable: true, message: "the platform could not be reached" },
  CLIENT_TIMEOUT: { retryable: true, message: "the platform did not answer in time" },
  TRUNCATED_RESPONSE: { retryable: true, message: "the connection closed in the middle of the answer" },
  MALFORMED_RESPONSE: { retryable: false, message: "the answer is not the JSON that was promised" },
  RESPONSE_TOO_LARGE: { retryable: false, message: "the answer is larger than this client accepts" },
  UNEXPECTED_REDIRECT: {
    retryable: false,
    message: "the platform redirects; redirects are not followed with a credential",
  },
  /** An error status without the API's error object: a proxy, a load balancer, a wrong base URL. */
  UNEXPECTED_RESPONSE: { retryable: false, message: "something other than the platform answered" },
  CURSOR_REPEATED: { retryable: false, message: "the list repeats a cursor and would never end" },
} as const;

export type TransportErrorCode = keyof typeof TRANSPORT_ERRORS;

export interface ApiErrorDetails {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly retryable: boolean;
  /** `context` of the error object: `issues`, `requiredRoles`, `{from, to, allowed}`… */
  readonly context?: Readonly<Record<string, unknown>>;
  readonly hint?: string;
  /** `x-request-id` of the answer, or the one that was sent: what to quote to support. */
  readonly requestId?: string;
  /** `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** Every failure of a call except an abort, which rejects with `signal.reason` as it is. Never holds the credential. */
export class ApiError extends Error {
  /** A code of the API (§26), one of `TRANSPORT_ERRORS`, or one that a newer platform knows. */
  readonly code: ErrorCode | TransportErrorCode | (string & {});
  readonly status: number;
  readonly retryable: boolean;
  readonly context: Readonly<Record<string, unknown>>;
  readonly hint: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, details: ApiErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "ApiError";
    this.code = code;
    this.status = details.status;
    this.retryable = details.retryable;
    this.context = details.context ?? {};
    this.hint = details.hint;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
  }

  /** The budget of one tenant that is used up; undefined: something else is wrong. */
  get budget(): string | undefined {
    return typeof this.context.budget === "string" ? this.context.budget : undefined;
  }

  /** The call did not reach the platform, or its answer did not reach the client. */
  get isTransport(): boolean {
    return Object.hasOwn(TRANSPORT_ERRORS, this.code);
  }
}

export function transportError(
  code: TransportErrorCode,
  detail: string,
  facts: Partial<Omit<ApiErrorDetails, "context" | "hint">> = {},
): ApiError {
  const { retryable, message } = TRANSPORT_ERRORS[code];
  return new ApiError(code, `${message}: ${detail}`, { status: 0, retryable, ...facts });
}

/** Longest text that the client takes from an error object; the platform's own log has the rest. */
const MAX_TEXT = 2_000;
const CODE = /^[A-Z][A-Z0-9_]{0,127}$/;

/** The API's error object as an `ApiError`, or undefined when `body` is not one. */
export function readErrorObject(
  body: unknown,
  status: number,
  answer: Pick<ApiErrorDetails, "requestId" | "retryAfterMs">,
): ApiError | undefined {
  if (!isRecord(body) || typeof body.code !== "string" || !CODE.test(body.code)) return undefined;
  const known = Object.hasOwn(ERRORS, body.code) ? ERRORS[body.code as ErrorCode] : undefined;
  const message = typeof body.message === "string" ? body.message.slice(0, MAX_TEXT) : (known?.message ?? body.code);
  const requestId = answer.requestId ?? (typeof body.requestId === "string" ? body.requestId : undefined);
  return new ApiError(body.code, message, {
    status,
    retryable: typeof body.retryable === "boolean" ? body.retryable : (known?.retryable ?? false),
    ...(isRecord(body.context) ? { context: body.context } : {}),
    ...(typeof body.hint === "string" ? { hint: body.hint.slice(0, MAX_TEXT) } : {}),
    ...(requestId === undefined ? {} : { requestId }),
    ...(answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs }),
  });
}
