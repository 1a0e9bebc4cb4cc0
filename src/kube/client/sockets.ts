import { Agent, type Dispatcher, ProxyAgent } from "undici";
import type { TlsOptions } from "./credentials.ts";

/**
 * Sockets for requests. The API server's own limit on requests in flight is 400 by default for all clients together;
 * more than 64 of one process would wait there instead of here.
 */
const REQUEST_SOCKETS = 64;

/**
 * Idle sockets are dropped before the usual 60 s of load balancers in between, so that a request never meets a dead
 * one.
 */
const KEEP_ALIVE_MS = 30_000;

/** TCP and TLS must stand by then. Source: client-go's dialer, 30 s; less, because our callers retry. */
const CONNECT_TIMEOUT_MS = 10_000;

interface Pair {
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

interface Pairs {
  readonly own: Pair;
  readonly shared: Pair;
}

/**
 * The sockets to one API server: our own, and those for other users' tokens. New ones are used once the certificates
 * have changed; what is open on the old ones goes on.
 */
export class Sockets {
  readonly #proxyUrl: string | undefined;
  readonly #currentTls: () => Promise<TlsOptions>;
  readonly #all = new Set<Dispatcher>();
  #tls: TlsOptions;
  #pairs: Pairs;

  constructor(tls: TlsOptions, currentTls: () => Promise<TlsOptions>, proxyUrl: string | undefined) {
    this.#proxyUrl = proxyUrl;
    this.#currentTls = currentTls;
    this.#tls = tls;
    this.#pairs = this.#open(tls);
  }

  async current(whose: keyof Pairs): Promise<Pair> {
    const tls = await this.#currentTls();
    const isChanged = !isSame(tls, this.#tls);
    this.#tls = tls;
    if (isChanged) {
      const old = [this.#pairs.own, this.#pairs.shared].flatMap(({ requests, streams }) => [requests, streams]);
      this.#pairs = this.#open(tls);
      for (const each of new Set(old)) void this.#retire(each);
    }
    return this.#pairs[whose];
  }

  /** Destroys: the caller has stopped its work, and a half-open watch would hold a graceful close forever. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map((each) => each.destroy()));
  }

  async #retire(dispatcher: Dispatcher): Promise<void> {
    await dispatcher.close().catch(() => undefined);
    this.#all.delete(dispatcher);
  }

  /**
   * A client certificate belongs to the socket and wins over any token sent on it: with one set of sockets, a caller
   * with a token would act with our rights.
   */
  #open(tls: TlsOptions): Pairs {
    const own = this.#pair(tls);
    if (tls.cert === undefined) return { own, shared: own };
    const { cert: _cert, key: _key, ...anonymous } = tls;
    return { own, shared: this.#pair(anonymous) };
  }

  #pair(tls: TlsOptions): Pair {
    const pair = {
      requests: dispatcher(tls, this.#proxyUrl, REQUEST_SOCKETS),
      streams: dispatcher(tls, this.#proxyUrl, null),
    };
    this.#all.add(pair.requests).add(pair.streams);
    return pair;
  }
}

function isSame(one: TlsOptions, other: TlsOptions): boolean {
  const fields = ["ca", "cert", "key", "servername", "rejectUnauthorized"] as const;
  return fields.every((field) => one[field] === other[field] || String(one[field]) === String(other[field]));
}

function dispatcher(tls: TlsOptions, proxyUrl: string | undefined, connections: number | null): Dispatcher {
  const options = {
    // undici's HTTP/2 client is young; the API server speaks HTTP/1.1 as well, and a watch wants its own socket anyway.
    allowH2: false,
    connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
  };
  const connect = { ...tls, timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: 30_000 };
  if (proxyUrl === undefined) return new Agent({ ...options, connect });
  // A proxy behind TLS is judged by the cluster's authority, as Go's client does. It is not shown our certificate.
  const proxyTls = {
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...(tls.rejectUnauthorized !== undefined && { rejectUnauthorized: tls.rejectUnauthorized }),
  };
  const isTls = proxyUrl.startsWith("https:");
  return new ProxyAgent({ ...options, uri: proxyUrl, requestTls: connect, ...(isTls && { proxyTls }) });
}
