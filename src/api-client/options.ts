import { type Clock, systemClock } from "../base/clock.ts";
import { isLoopbackHost } from "../base/loopback.ts";
import { nodeTransport } from "./node-transport.ts";
import type { Transport } from "./transport.ts";

/** A credential that can change while the process runs. */
export interface Credential {
  /** The key to use for the next attempt. Called once an attempt. */
  current(): string;
  /** `key` got a 401. True: `current()` is another one now, try again at once. */
  refused(key: string): boolean | Promise<boolean>;
}

export interface ClientOptions {
  /** https, or http to loopback; may have a path. */
  readonly baseUrl: string;
  /** A function is asked before each attempt. */
  readonly credential?: string | (() => string) | Credential;
  /** Used when a call names none. */
  readonly workspace?: string;
  readonly userAgent?: string;
  readonly clock?: Clock;
  /** Closed with the client. Default: one that honours HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
  readonly transport?: Transport;
  /** One attempt, first byte to last. Default 35_000: the platform gives up at 30 s. Long-polls add their `wait`. */
  readonly timeoutMs?: number;
  /** Attempts after the first, of routes whose repeat is harmless. Default 4; 0 for a caller with a loop of its own. */
  readonly retries?: number;
  /** No new attempt after this time; a `Retry-After` beyond it fails at once. Default 60_000; waits at most 15 min. */
  readonly maxRetryTimeMs?: number;
  /** First pause between attempts, doubled each time, up to 10 s. Default 250. */
  readonly firstRetryMs?: number;
  /** Default 16 MiB: a full page of deployments with their stack states stays below. */
  readonly maxResponseBytes?: number;
  /** Called after each attempt, for metrics. */
  readonly observe?: (attempt: Attempt) => void;
}

export interface Attempt {
  readonly area: string;
  readonly route: string;
  /** 0: no answer. */
  readonly status: number;
  /** Undefined: it went well. */
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Of one tenant, which is used up: calls for others are served. */
  readonly budget?: string | undefined;
  readonly durationMs: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Of the answer, by lower-case name; undefined also when there was none. */
  header(name: string): string | undefined;
}

/** The options with every default filled in, so that no other file has a default of its own. */
export interface Settings extends Omit<Required<ClientOptions>, "baseUrl" | "credential" | "workspace"> {
  readonly base: URL;
  readonly credential: Credential | undefined;
  readonly workspace: string | undefined;
}

/** @throws Error when the base URL is unusable, in words for the person who configured it. */
export function compile(options: ClientOptions): Settings {
  const base = baseOf(options.baseUrl);
  const clock = options.clock ?? systemClock;
  return {
    base,
    credential: credentialOf(options.credential),
    workspace: options.workspace,
    userAgent: options.userAgent ?? "sallyport-client",
    clock,
    transport: options.transport ?? defaultTransport(base, clock),
    timeoutMs: options.timeoutMs ?? 35_000,
    retries: options.retries ?? 4,
    maxRetryTimeMs: options.maxRetryTimeMs ?? 60_000,
    firstRetryMs: options.firstRetryMs ?? 250,
    maxResponseBytes: options.maxResponseBytes ?? 16 * 1_048_576,
    observe: options.observe ?? (() => undefined),
  };
}

function credentialOf(given: ClientOptions["credential"]): Credential | undefined {
  if (given === undefined) return undefined;
  if (typeof given === "object") return given;
  return { current: typeof given === "string" ? () => given : given, refused: () => false };
}

/** @throws Error in words for the person who configured the URL. */
export function baseOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new Error("the platform's base URL must be an http or https URL");
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new Error("the platform's base URL must not hold a user, a password, a query or a fragment");
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    throw new Error("the platform's base URL must be https unless it is loopback: the credential travels on it");
  }
  return url;
}

const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/** Node's own client, unless there may be a proxy: then undici, which knows them, is loaded by the first request. */
export function defaultTransport(base: URL, clock: Clock): Transport {
  // biome-ignore lint/style/noProcessEnv: the documented default of a library.
  const environment = process.env;
  // No proxy can reach our own loopback, even when the variables do not say so.
  const isDirect = isLoopbackHost(base.hostname) || PROXY_VARIABLES.every((name) => !environment[name]);
  if (isDirect) return nodeTransport(clock);
  let loaded: Promise<Transport> | undefined;
  return {
    async send(request, signal) {
      loaded ??= import("./undici-transport.ts").then(({ undiciTransport }) => undiciTransport("environment"));
      return (await loaded).send(request, signal);
    },
    close: async () => (await loaded)?.close(),
  };
}
