import { type Clock, sleep } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import { PEER_NUMBERS } from "../../base/peer-numbers.ts";
import type { ClientMetrics } from "../metrics/metrics.ts";
import { type Query, withQuery } from "../objects/paths.ts";
import { ApiError, errorFromResponse, networkError } from "./api-error.ts";
import type { Connection, WireRequest, WireResponse } from "./connection.ts";
import type { ServerClock } from "./server-clock.ts";

/** Tries after the first. Source: client-go rest.Request, maxRetries 10. */
const MAX_RETRIES = 10;

/** A `Retry-After` as long as any is believed is not waited out inside a call: it is the caller's to plan with. */
const MAX_RETRY_AFTER_MS = PEER_NUMBERS.apiServerRetryAfterMs.most;

/** An answer longer than this is not one page of anything: refuse it before it is memory. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** The answer is not read any further, and is no memory of this process. Cause of the ApiError that the caller sees. */
export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge";

  constructor(maxBytes: number) {
    super(`answer is larger than ${maxBytes} bytes`);
  }
}

/** The `code` label of an exchange without an answer; client-go's spelling. */
const NO_ANSWER = "<error>";

/** To accept of a list: the API server sends metadata, and no specs, data or other values. */
export const METADATA_OF_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

export interface ExchangeRequest {
  readonly method: WireRequest["method"];
  readonly path: string;
  readonly query?: Query;
  /** Sent as JSON: always a string in the end, so that a retry can send it again. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** False when the caller wants to see each refusal, e.g. a disruption budget's 429. */
  readonly retry?: boolean;
  /** A longer answer is refused. @default MAX_BODY_BYTES */
  readonly maxBytes?: number;
}

export interface Answer {
  readonly body: Buffer;
  readonly contentType: string | string[] | undefined;
}

export interface ExchangeOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  /** For one try, headers and body. */
  readonly timeoutMs: number;
  readonly metrics: ClientMetrics | undefined;
  /** Learns the time from each answer. */
  readonly serverClock?: ServerClock | undefined;
}

/** Requests with the API server's manners: deadline, `Status` errors, `Retry-After`, metrics. */
export class Exchange {
  readonly options: ExchangeOptions;
  readonly #host: string;

  constructor(options: ExchangeOptions) {
    this.options = options;
    this.#host = new URL(options.connection.server).host;
  }

  /**
   * A whole 2xx answer.
   *
   * 429 and 5xx that come with `Retry-After` are waited out and tried again, ten times at most; a GET whose socket died
   * is tried once more. Everything else is the caller's decision.
   * @throws ApiError for any other status, the network, or a try over its deadline; `signal.reason` on abort.
   */
  async bytes(request: ExchangeRequest, signal: AbortSignal): Promise<Answer> {
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.#once(request, signal);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const delayMs = retryDelayMs(error, request, retries);
        if (delayMs === undefined) throw error;
        const code = error.status === 0 ? NO_ANSWER : String(error.status);
        this.options.metrics?.retry({ method: request.method, host: this.#host, code });
        await sleep(this.options.clock, delayMs, signal);
      }
    }
  }

  /** As {@link bytes}, parsed. The server's answers are trusted to be what their kind says. */
  async json<T>(request: ExchangeRequest, signal: AbortSignal): Promise<T> {
    const { body } = await this.bytes(request, signal);
    try {
      return JSON.parse(body.toString("utf8")) as T;
    } catch (cause) {
      throw networkError(nameOf(request), cause);
    }
  }

  /**
   * A 2xx answer whose body is still coming, on a socket of its own. One try; the deadline is for the headers.
   * From then on `signal` has no hold on it: the caller reads the body to its end or destroys it.
   */
  stream(request: ExchangeRequest, signal: AbortSignal): Promise<WireResponse> {
    return this.#attempt(request, signal, async (deadline, answered) => {
      const answer = await this.options.connection.open(wire(request), deadline);
      answered(answer);
      if (!isSuccess(answer)) throw await this.#refusal(request, answer);
      return answer;
    });
  }

  #once(request: ExchangeRequest, signal: AbortSignal): Promise<Answer> {
    return this.#attempt(request, signal, async (deadline, answered) => {
      const answer = await this.options.connection.request(wire(request), deadline);
      answered(answer);
      if (!isSuccess(answer)) throw await this.#refusal(request, answer);
      return { body: await readAll(answer, request.maxBytes), contentType: answer.headers["content-type"] };
    });
  }

  async #refusal(request: ExchangeRequest, answer: WireResponse): Promise<ApiError> {
    const body = await readAll(answer);
    const header = answer.headers["retry-after"];
    const retryAfter = typeof header === "string" ? header : undefined;
    return errorFromResponse(nameOf(request), answer.status, body, retryAfter, this.options.clock.wallNow());
  }

  /** Runs one try under its deadline, counts it, and gives failures of the network their type. */
  async #attempt<T>(
    request: ExchangeRequest,
    signal: AbortSignal,
    run: (deadline: AbortSignal, answered: (answer: WireResponse) => void) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const { clock, metrics, timeoutMs, serverClock } = this.options;
    const startedMs = clock.monotonicMs();
    let code = NO_ANSWER;
    try {
      return await withDeadline(clock, timeoutMs, signal, (deadline) =>
        run(deadline, ({ status, headers }) => {
          code = String(status);
          serverClock?.heard(headers.date);
        }),
      );
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof ApiError ? error : networkError(nameOf(request), error);
    } finally {
      const durationSeconds = (clock.monotonicMs() - startedMs) / 1000;
      metrics?.request({ method: request.method, host: this.#host, code, durationSeconds });
    }
  }
}

/** How long to wait before the next try; undefined: give up and let the caller see the error. */
function retryDelayMs(error: ApiError, request: ExchangeRequest, retries: number): number | undefined {
  if (request.retry === false || retries >= MAX_RETRIES) return undefined;
  if (error.status === 429 || error.status >= 500) {
    const { retryAfterMs } = error;
    return retryAfterMs !== undefined && retryAfterMs < MAX_RETRY_AFTER_MS ? retryAfterMs : undefined;
  }
  // The server may close an idle socket just as we write to it. Only a GET is sure to have done nothing.
  return request.method === "GET" && retries === 0 && isSocketClosed(error) ? 0 : undefined;
}

function isSocketClosed(error: ApiError): boolean {
  const { cause } = error;
  if (error.status !== 0 || !(cause instanceof Error) || !("code" in cause)) return false;
  return cause.code === "UND_ERR_SOCKET" || cause.code === "ECONNRESET" || cause.code === "EPIPE";
}

function wire(request: ExchangeRequest): WireRequest {
  const body = request.body === undefined ? undefined : JSON.stringify(request.body);
  return {
    method: request.method,
    path: withQuery(request.path, request.query ?? {}),
    headers: {
      accept: request.accept ?? "application/json",
      ...(body === undefined ? {} : { "content-type": request.contentType ?? "application/json" }),
    },
    ...(body === undefined ? {} : { body }),
  };
}

async function readAll(answer: WireResponse, maxBytes = MAX_BODY_BYTES): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  // Leaving the loop by a throw destroys the body, and with it the socket.
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new AnswerTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

function isSuccess(answer: WireResponse): boolean {
  return answer.status >= 200 && answer.status < 300;
}

/** How a request is named in errors: without its query, which may hold selectors and tokens of paging. */
function nameOf(request: ExchangeRequest): string {
  return `${request.method} ${request.path}`;
}
