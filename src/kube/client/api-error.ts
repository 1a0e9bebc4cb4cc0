import { clamped, retryAfterOf } from "../../base/peer-numbers.ts";
import { withoutPackets } from "../../base/without-packets.ts";
import { isWrapped, unwrap } from "../projection/envelope.ts";
import { Interner } from "../projection/interner.ts";
import { ProtobufInput } from "../projection/protobuf.ts";
import { statusShape } from "../projection/status-shape.ts";

/** `meta/v1.Status`: how the API server says no. */
export interface Status {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  };
}

/** Reason of an error that has no answer behind it: refused, reset, timed out, DNS. `status` is 0 then. */
const NETWORK_ERROR = "NetworkError";

/** What an admission policy says of every object while its parameters cannot be read, with the status of an invalid one. */
const UNREAD_POLICY = /\bdenied request: failed to configure (?:policy|binding): /;

interface ApiErrorOptions extends ErrorOptions {
  readonly status: number;
  readonly reason: string;
  readonly body?: Status | undefined;
  readonly retryAfterMs?: number | undefined;
}

/**
 * The one error of everything that talks to the API server. Match on the predicates, never on the text.
 *
 * An abort is not an ApiError: `signal.reason` is thrown as it is.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The server's machine-readable reason, e.g. `AlreadyExists`; `""` when it gave none. */
  readonly reason: string;
  readonly body?: Status;
  /** What the server asked us to wait, from `Retry-After` or `details.retryAfterSeconds`, bounded. */
  readonly retryAfterMs?: number;

  constructor(message: string, options: ApiErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.reason = options.reason;
    if (options.body !== undefined) this.body = options.body;
    const retryAfterMs = clamped("apiServerRetryAfterMs", options.retryAfterMs);
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }

  get isNotFound(): boolean {
    return this.status === 404;
  }

  /** Lost a race: the object has moved on since it was read (or it exists already: see {@link isAlreadyExists}). */
  get isConflict(): boolean {
    return this.status === 409 && this.reason !== "AlreadyExists";
  }

  get isAlreadyExists(): boolean {
    return this.status === 409 && this.reason === "AlreadyExists";
  }

  /** The resourceVersion or continue token is too old: list again. */
  get isGone(): boolean {
    return this.status === 410 || this.reason === "Expired" || this.reason === "Gone";
  }

  get isUnauthorized(): boolean {
    return this.status === 401;
  }

  get isForbidden(): boolean {
    return this.status === 403;
  }

  get isInvalid(): boolean {
    return (this.status === 422 || this.reason === "Invalid") && !this.#isUnread;
  }

  get isTooManyRequests(): boolean {
    return this.status === 429;
  }

  /** Worth trying again later as it is: the server was busy, broken or away. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500 || this.#isUnread;
  }

  /** A policy was not evaluated: after a start the server reads a policy's parameters some seconds later than the policy. */
  get #isUnread(): boolean {
    return UNREAD_POLICY.test(this.message);
  }
}

/** From a non-2xx answer. `body` need not be of the API server: proxies in between answer in HTML. */
export function errorFromResponse(
  request: string,
  status: number,
  body: Buffer,
  retryAfter: string | undefined,
  now: Date,
): ApiError {
  const parsed = parseStatus(body);
  const text = parsed?.message ?? (body.length === 0 ? "no body" : plainText(body));
  return new ApiError(`${request}: ${status} ${text}`, {
    status,
    reason: parsed?.reason ?? "",
    body: parsed,
    retryAfterMs:
      retryAfterOf("apiServerRetryAfterMs", retryAfter, now) ?? secondsToMs(parsed?.details?.retryAfterSeconds),
  });
}

/** From the `Status` inside an ERROR event of a watch, whose HTTP status was 200. */
export function errorFromStatus(request: string, status: Status): ApiError {
  return new ApiError(`${request}: ${status.code ?? 500} ${status.message ?? "no message"}`, {
    status: status.code ?? 500,
    reason: status.reason ?? "",
    body: status,
    retryAfterMs: secondsToMs(status.details?.retryAfterSeconds),
  });
}

/** From a failure below HTTP. */
export function networkError(request: string, cause: unknown): ApiError {
  const text = cause instanceof Error ? causeText(cause) : String(cause);
  return new ApiError(`${request}: ${text}`, { status: 0, reason: NETWORK_ERROR, cause: withoutPackets(cause) });
}

/** An aggregate of connection attempts has no message of its own; the first attempt's says what happened. */
function causeText(error: Error): string {
  if (error.message !== "") return error.message;
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0].message;
  return error.name;
}

function secondsToMs(seconds: unknown): number | undefined {
  return typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined;
}

/** The server answers in the encoding that was asked for, also when it refuses. */
function parseStatus(body: Buffer): Status | undefined {
  try {
    if (isWrapped(body, 0, body.length)) {
      const input = new ProtobufInput(new Interner());
      input.bytes = body;
      return { kind: "Status", ...statusShape.fromProtobuf(input, unwrap(input, body.length)) };
    }
    const parsed: unknown = JSON.parse(body.toString("utf8"));
    return isStatus(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** The start of what is no `Status`, without the bytes that a log or a terminal should not have. */
function plainText(body: Buffer): string {
  const text = body.toString("utf8", 0, 256).replaceAll(/\s+/g, " ");
  return text.replaceAll(/\p{C}|\ufffd/gu, "?");
}

function isStatus(value: unknown): value is Status {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "Status";
}
