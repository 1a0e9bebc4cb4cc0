import { randomUUID } from "node:crypto";
import pRetry from "p-retry";
import { sleep } from "../base/clock.ts";
import type { Route, RouteTable } from "../contract/wire/route.ts";
import { address, type QueryValues, type Scalar } from "./address.ts";
import { ApiError } from "./api-error.ts";
import type { CallsOf } from "./calls.ts";
import { type Answer, exchange, type HeaderReader, type Outgoing } from "./exchange.ts";
import { KnownAnswers } from "./known-answers.ts";
import { type Attempt, type ClientOptions, compile, type Settings } from "./options.ts";

/** The untyped form in which all calls run; `CallsOf` gives each its types. */
interface AnyArguments {
  readonly params?: Readonly<Record<string, Scalar>>;
  readonly query?: QueryValues;
  readonly body?: unknown;
  readonly workspace?: string;
  readonly idempotencyKey?: string;
}

/** Margin over `wait` of a long-poll, for the network and a platform that answers a little late. */
const LONG_POLL_MARGIN_MS = 10_000;
/** Old key, new key, and the new one read again. After that many 401s no key is good. */
const MAX_KEYS = 3;
/** Characters from which a body is worth compressing, where the route takes that. */
const GZIP_FROM = 8_192;

export type TableClient<T extends Readonly<Record<string, RouteTable>>> = CallsOf<T> & {
  /** Ends its connections; calls under way fail. */
  close(): Promise<void>;
};

/** Makes the calls of every route from the table alone; no route has code of its own. */
export function clientOf<const T extends Readonly<Record<string, RouteTable>>>(
  table: T,
  options: ClientOptions,
): TableClient<T> {
  const caller = callerOf(options);
  const calls: Record<string, unknown> = { close: caller.close };
  for (const [area, areaRoutes] of Object.entries(table)) {
    const names = Object.entries(areaRoutes);
    calls[area] = Object.fromEntries(
      names.map(([name, route]) => [
        name,
        (args: AnyArguments, signal: AbortSignal) => caller.call({ area, name, route }, args, signal),
      ]),
    );
  }
  return calls as TableClient<T>;
}

/** Calls routes that are named when they are called: a program loads only those that it needs. */
export interface Caller {
  call(named: NamedRoute, args: AnyArguments, signal: AbortSignal): Promise<unknown>;
  /** Ends its connections; calls under way fail. */
  close(): Promise<void>;
}

export function callerOf(options: ClientOptions): Caller {
  const settings = { ...compile(options), known: new KnownAnswers() };
  return {
    call: (named, args, signal) => call(settings, named, args, signal),
    close: () => settings.transport.close(),
  };
}

type Client = Settings & { readonly known: KnownAnswers };

export interface NamedRoute {
  readonly area: string;
  readonly name: string;
  readonly route: Route;
}

async function call(settings: Client, named: NamedRoute, args: AnyArguments, signal: AbortSignal): Promise<unknown> {
  const { route } = named;
  // One key for the call, not one for each attempt: so the platform knows a retry as the same call.
  const idempotencyKey = route.repeat === "key" ? (args.idempotencyKey ?? randomUUID()) : args.idempotencyKey;
  const repeatable = route.repeat === "safe" || route.repeat === "natural" || idempotencyKey !== undefined;
  const startMs = settings.clock.monotonicMs();
  const attempt = (): Promise<unknown> =>
    withCredential(settings, named, { ...args, ...(idempotencyKey && { idempotencyKey }) }, signal);
  return await pRetry(attempt, {
    signal,
    retries: repeatable ? settings.retries : 0,
    minTimeout: settings.firstRetryMs,
    maxTimeout: 10_000,
    randomize: true,
    maxRetryTime: settings.maxRetryTimeMs,
    async shouldRetry({ error, retryDelay }) {
      if (!(error instanceof ApiError && error.retryable)) return false;
      const extraMs = (error.retryAfterMs ?? 0) - retryDelay;
      if (extraMs <= 0) return true;
      if (settings.clock.monotonicMs() - startMs + extraMs > settings.maxRetryTimeMs) return false;
      await sleep(settings.clock, extraMs, signal);
      return true;
    },
  });
}

/** A 401 means that nothing was done, so any route may be tried again with another key. */
async function withCredential(
  settings: Client,
  named: NamedRoute,
  args: AnyArguments,
  signal: AbortSignal,
): Promise<unknown> {
  const { credential } = settings;
  for (let keys = 1; ; keys += 1) {
    const key = named.route.roles === "public" ? undefined : credential?.current();
    try {
      const outgoing = await prepare(settings, named.route, args, key);
      return await conditional(settings, named, outgoing, signal);
    } catch (error) {
      const refused = error instanceof ApiError && error.status === 401 && key !== undefined;
      if (!refused || keys >= MAX_KEYS || !(await credential?.refused(key))) throw error;
      signal.throwIfAborted();
    }
  }
}

async function prepare(
  settings: Settings,
  route: Route,
  args: AnyArguments,
  key: string | undefined,
): Promise<Omit<Outgoing, "heard">> {
  // Where the route needs no workspace, or its path names it, the client's own could only narrow or contradict that.
  const workspace = args.workspace ?? (route.workspace === undefined ? settings.workspace : undefined);
  const url = address(settings.base, route.path, args.params ?? {}, { ...args.query, workspace });
  const text = args.body === undefined ? undefined : JSON.stringify(args.body);
  const isLarge = route.gzip === true && text !== undefined && text.length >= GZIP_FROM;
  const body = isLarge ? await gzipped(text) : text;
  const waitMs = route.longPoll === true ? Number(args.query?.wait ?? 0) * 1_000 + LONG_POLL_MARGIN_MS : 0;
  const headers: Record<string, string> = {
    accept: "application/json",
    "user-agent": settings.userAgent,
    "x-request-id": randomUUID(),
  };
  if (key !== undefined) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  if (isLarge) headers["content-encoding"] = "gzip";
  if (args.idempotencyKey !== undefined) headers["idempotency-key"] = args.idempotencyKey;
  const timeoutMs = Math.max(settings.timeoutMs, waitMs);
  return { method: route.method, url, headers, body, timeoutMs, maxResponseBytes: settings.maxResponseBytes };
}

/** Loads what packs where it is used: few calls have so much to say. */
function gzipped(text: string): Promise<Buffer> {
  const { gzip } = process.getBuiltinModule("node:zlib");
  return process.getBuiltinModule("node:util").promisify(gzip)(text);
}

/** Sends the ETag of the answer that this client keeps of the same address; a 304 stands for that answer. */
async function conditional(
  settings: Client,
  named: NamedRoute,
  outgoing: Omit<Outgoing, "heard">,
  signal: AbortSignal,
): Promise<unknown> {
  if (named.route.etag !== true) return (await observed(settings, named, outgoing, signal)).body;
  const name = `${outgoing.headers.authorization ?? ""} ${outgoing.url}`;
  const kept = settings.known.get(name);
  const headers = { ...outgoing.headers, ...(kept && { "if-none-match": kept.etag }) };
  const { status, body, header } = await observed(settings, named, { ...outgoing, headers }, signal);
  if (status === 304) return kept?.body;
  const etag = header("etag");
  if (etag !== undefined) settings.known.keep(name, { etag, body });
  return body;
}

async function observed(
  settings: Settings,
  named: NamedRoute,
  outgoing: Omit<Outgoing, "heard">,
  signal: AbortSignal,
): Promise<Answer & { readonly header: HeaderReader }> {
  const startMs = settings.clock.monotonicMs();
  const sentBytes = outgoing.body === undefined ? 0 : Buffer.byteLength(outgoing.body);
  let header: HeaderReader = () => undefined;
  const heard = (read: HeaderReader): void => {
    header = read;
  };
  const tell = (outcome: Pick<Attempt, "status" | "code" | "retryAfterMs" | "budget" | "receivedBytes">): void => {
    const durationMs = settings.clock.monotonicMs() - startMs;
    settings.observe({ area: named.area, route: named.name, ...outcome, durationMs, sentBytes, header });
  };
  let answer: Answer;
  try {
    answer = await exchange({ ...outgoing, heard }, settings.transport, settings.clock, signal);
  } catch (error) {
    // An abort is not reported as a failed attempt.
    if (error instanceof ApiError) tell({ ...errorFacts(error), receivedBytes: 0 });
    throw error;
  }
  tell({ status: answer.status, code: undefined, retryAfterMs: undefined, receivedBytes: answer.bytes });
  return { ...answer, header };
}

function errorFacts(error: ApiError): Pick<Attempt, "status" | "code" | "retryAfterMs" | "budget"> {
  const { status, code, retryAfterMs, budget } = error;
  return { status, code, retryAfterMs, budget };
}
