import type { Clock } from "../base/clock.ts";
import { retryAfterOf } from "../base/peer-numbers.ts";
import { withoutPackets } from "../base/without-packets.ts";
import { type ApiError, readErrorObject, transportError } from "./api-error.ts";
import { readWhole, type Transport, type WireAnswer, type WireRequest } from "./transport.ts";

/** One HTTP request, ready to be sent. */
export interface Outgoing extends WireRequest {
  /** From the first byte sent to the last byte read. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** Called with the headers as soon as they arrive, also when the answer then is an error. */
  readonly heard: (header: HeaderReader) => void;
}

export type HeaderReader = (name: string) => string | undefined;

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly bytes: number;
}

/**
 * Sends once and reads the whole answer.
 *
 * @throws ApiError for every failure; on abort `signal.reason`, as it is.
 */
export async function exchange(
  outgoing: Outgoing,
  transport: Transport,
  clock: Clock,
  signal: AbortSignal,
): Promise<Answer> {
  signal.throwIfAborted();
  const limit = new AbortController();
  const cancelTimer = clock.after(outgoing.timeoutMs, () => limit.abort());
  try {
    return await sendAndRead(outgoing, transport, clock, AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (limit.signal.aborted) throw transportError("CLIENT_TIMEOUT", `${outgoing.timeoutMs} ms`, sentAs(outgoing));
    throw error;
  } finally {
    cancelTimer();
  }
}

async function sendAndRead(
  outgoing: Outgoing,
  transport: Transport,
  clock: Clock,
  signal: AbortSignal,
): Promise<Answer> {
  const { headers } = outgoing;
  const response = await transport.send(outgoing, signal).catch((cause: unknown) => {
    throw transportError("NETWORK_ERROR", codeOf(cause), { cause: withoutPackets(cause), ...sentAs(outgoing) });
  });
  const header: HeaderReader = (name) => [response.headers[name]].flat()[0];
  outgoing.heard(header);
  const requestId = header("x-request-id") ?? headers["x-request-id"];
  const retryAfterMs = retryAfterOf("platformRetryAfterMs", header("retry-after"), clock.wallNow());
  const facts = {
    status: response.status,
    ...(requestId === undefined ? {} : { requestId }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  const text = await readText(response.body, outgoing.maxResponseBytes, facts);
  const isJson = /^application\/json\b/i.test(header("content-type") ?? "");
  const isKnown = response.status === 304 && headers["if-none-match"] !== undefined;
  if (isKnown) return { status: 304, body: undefined, bytes: Buffer.byteLength(text) };
  if (response.status >= 300) throw refusal(text, isJson, headers.authorization, facts);
  return { status: response.status, body: parse(text, isJson, facts), bytes: Buffer.byteLength(text) };
}

type Facts = { readonly status: number; readonly requestId?: string; readonly retryAfterMs?: number };

async function readText(body: WireAnswer["body"], maxBytes: number, facts: Facts): Promise<string> {
  let text: string | undefined;
  try {
    text = await readWhole(body, maxBytes);
  } catch (cause) {
    throw transportError("TRUNCATED_RESPONSE", codeOf(cause), { cause: withoutPackets(cause), ...facts });
  }
  if (text === undefined) throw transportError("RESPONSE_TOO_LARGE", `more than ${maxBytes} bytes`, facts);
  return text;
}

function parse(text: string, isJson: boolean, facts: Facts): unknown {
  if (text === "" && facts.status === 204) return undefined;
  const what = isJson ? "broken JSON" : "no application/json";
  const value = isJson ? parseQuietly(text) : undefined;
  // The parser's own message would quote the text, which may hold a secret.
  if (value === undefined) throw transportError("MALFORMED_RESPONSE", `status ${facts.status} with ${what}`, facts);
  return value;
}

function refusal(text: string, isJson: boolean, authorization: string | undefined, facts: Facts): ApiError {
  if (isJson) {
    const error = readErrorObject(parseQuietly(withoutSecret(text, authorization)), facts.status, facts);
    if (error !== undefined) return error;
  }
  if (facts.status < 400) return transportError("UNEXPECTED_REDIRECT", `status ${facts.status}`, facts);
  const retryable = facts.status >= 500 || facts.status === 429 || facts.status === 408;
  return transportError("UNEXPECTED_RESPONSE", `status ${facts.status} without an error object`, {
    ...facts,
    retryable,
  });
}

/** Removes the credential: a proxy may echo the request in its answer, and the error quotes that answer. */
function withoutSecret(text: string, authorization: string | undefined): string {
  const secret = authorization?.replace(/^Bearer /, "");
  return secret === undefined || secret === "" ? text : text.replaceAll(secret, "[redacted]");
}

function parseQuietly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sentAs(outgoing: Outgoing): { readonly requestId?: string } {
  const requestId = outgoing.headers["x-request-id"];
  return requestId === undefined ? {} : { requestId };
}

/** `ECONNREFUSED`, `UND_ERR_SOCKET`, …: names the cause without quoting any text. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (typeof code === "string") return code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : "no error code";
}
