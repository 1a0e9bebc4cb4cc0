import { readFile } from "node:fs/promises";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { type Clock, systemClock } from "../../base/clock.ts";
import { type Credentials, fixedToken, type TlsOptions, TokenFile } from "./credentials.ts";
import { type Environment, proxyFor } from "./proxy.ts";
import { type UpgradeAnswer, upgradeOn } from "./upgrade.ts";

/** Where the kubelet mounts a pod's own credentials. */
const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

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

export interface ExplicitEndpoint {
  /** `https://host:port`, without a path. */
  readonly server: string;
  /** PEM. */
  readonly ca?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly token?: string;
  /** Read again every 60 s and after a 401; wins over `token`. */
  readonly tokenFile?: string;
}

/** Exactly one of the three ways to name a cluster, and what they share. */
export type ConnectionOptions = (
  | {
      /** One file, or several that are one, as KUBECONFIG names them. */
      readonly kubeconfig: string | readonly string[];
      readonly context?: string;
    }
  | { readonly inCluster: true }
  | { readonly explicit: ExplicitEndpoint }
) & {
  /** The program's name: what the API server's audit log shows. Default `kube-client`. */
  readonly userAgent?: string;
  /** Where proxies and the in-cluster address are read from. Default: the process's environment. */
  readonly environment?: Environment;
};

/** As the setting of each process says it: a file, or empty for the pod's own service account. */
export function clusterOf(kubeconfig: string): { readonly inCluster: true } | { readonly kubeconfig: string } {
  return kubeconfig === "" ? { inCluster: true } : { kubeconfig };
}

export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Must be read to its end or destroyed, or its socket is never free again. */
  readonly body: Dispatcher.ResponseData["body"];
}

/** A way to one API server as one user. Holds sockets: close it. */
export interface Connection {
  readonly server: string;
  readonly userAgent: string;
  /** Namespace of the kubeconfig's context or of the pod. */
  readonly namespace: string | undefined;
  /** One exchange over the shared pool. Any status is an answer; only the network throws. */
  request(request: WireRequest, signal: AbortSignal): Promise<WireResponse>;
  /** As {@link request}, on a socket of its own that no request waits behind: for watches and log streams. */
  open(request: WireRequest, signal: AbortSignal): Promise<WireResponse>;
  /** Asks for another protocol on a socket of its own: `upgrade` is the value of that header. One try. */
  upgrade(request: WireRequest, upgrade: string, signal: AbortSignal): Promise<UpgradeAnswer>;
  /**
   * The same server as another user: how an account with fewer rights acts. Shares sockets, but never one that carries
   * a client certificate. Closing it closes nothing.
   */
  withToken(token: string): Connection;
  close(): Promise<void>;
}

/** Opens no socket yet: the first request does. Reads files, so it fails early on a wrong path. */
export async function connect(options: ConnectionOptions, clock: Clock = systemClock): Promise<Connection> {
  // biome-ignore lint/style/noProcessEnv: the documented default of a library; every Kubernetes client reads the same names.
  const environment = options.environment ?? process.env;
  const endpoint = await endpointOf(options, environment, clock);
  const server = new URL(endpoint.server);
  const proxyUrl = endpoint.proxyUrl ?? proxyFor(server, environment);
  if (proxyUrl !== undefined && !/^(https?|socks5?):\/\//.test(proxyUrl)) {
    throw new Error(
      `the way to ${server.host} leads through a proxy of a kind that is not known here: http, https or socks5`,
    );
  }
  return new PooledConnection({
    origin: server.origin,
    // A server behind a path (`https://rancher/k8s/clusters/c-1`) keeps it in front of every request.
    prefix: server.pathname.replace(/\/$/, ""),
    namespace: endpoint.namespace,
    userAgent: options.userAgent ?? "kube-client",
    credentials: endpoint.credentials,
    ...socketsOf(endpoint.tls, proxyUrl),
    ownsSockets: true,
  });
}

interface Sockets {
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

/**
 * Our own sockets, and those for other users' tokens. A client certificate belongs to the socket and wins over any
 * token sent on it: with one set of sockets, a caller with a token would act with our rights.
 */
function socketsOf(tls: TlsOptions, proxyUrl: string | undefined): { readonly own: Sockets; readonly shared: Sockets } {
  const pools = (options: TlsOptions): Sockets => ({
    requests: dispatcher(options, proxyUrl, REQUEST_SOCKETS),
    streams: dispatcher(options, proxyUrl, null),
  });
  const own = pools(tls);
  if (tls.cert === undefined) return { own, shared: own };
  const { cert: _cert, key: _key, ...anonymous } = tls;
  return { own, shared: pools(anonymous) };
}

interface Endpoint {
  readonly server: string;
  readonly tls: TlsOptions;
  readonly credentials: Credentials;
  readonly proxyUrl?: string | undefined;
  readonly namespace: string | undefined;
}

async function endpointOf(options: ConnectionOptions, environment: Environment, clock: Clock): Promise<Endpoint> {
  if ("kubeconfig" in options) {
    // Loaded only here: a process in a pod needs no YAML.
    const { loadKubeconfig } = await import("./kubeconfig.ts");
    return loadKubeconfig([options.kubeconfig].flat(), options.context, clock);
  }
  if ("inCluster" in options) return inClusterEndpoint(environment, clock);
  const { server, ca, clientCertificate, clientKey, token, tokenFile } = options.explicit;
  return {
    server,
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(clientCertificate === undefined ? {} : { cert: clientCertificate }),
      ...(clientKey === undefined ? {} : { key: clientKey }),
    },
    credentials: tokenFile === undefined ? fixedToken(token) : new TokenFile(tokenFile, clock),
    namespace: undefined,
  };
}

async function inClusterEndpoint(environment: Environment, clock: Clock): Promise<Endpoint> {
  const host = environment.KUBERNETES_SERVICE_HOST;
  const port = environment.KUBERNETES_SERVICE_PORT;
  if (!host || !port) throw new Error("not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  const folder = SERVICE_ACCOUNT_FOLDER;
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    tls: { ca: await readFile(`${folder}/ca.crt`, "utf8") },
    credentials: new TokenFile(`${folder}/token`, clock),
    namespace: (await readFile(`${folder}/namespace`, "utf8")).trim(),
  };
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
  return new ProxyAgent({ ...options, uri: proxyUrl, requestTls: connect });
}

interface ConnectionParts {
  readonly origin: string;
  readonly prefix: string;
  readonly namespace: string | undefined;
  readonly userAgent: string;
  readonly credentials: Credentials;
  readonly own: Sockets;
  /** Carry no client certificate. */
  readonly shared: Sockets;
  readonly ownsSockets: boolean;
}

class PooledConnection implements Connection {
  readonly server: string;
  readonly userAgent: string;
  readonly namespace: string | undefined;
  readonly #parts: ConnectionParts;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    this.server = parts.origin + parts.prefix;
    this.userAgent = parts.userAgent;
    this.namespace = parts.namespace;
  }

  request(request: WireRequest, signal: AbortSignal): Promise<WireResponse> {
    return this.#send(this.#parts.own.requests, request, signal);
  }

  open(request: WireRequest, signal: AbortSignal): Promise<WireResponse> {
    return this.#send(this.#parts.own.streams, request, signal);
  }

  async upgrade(request: WireRequest, upgrade: string, signal: AbortSignal): Promise<UpgradeAnswer> {
    const { origin, prefix, own, credentials, userAgent } = this.#parts;
    const authorization = await credentials.authorization();
    const headers = { "user-agent": userAgent, ...request.headers, ...(authorization && { authorization }) };
    const options = { origin, path: prefix + request.path, method: request.method, headers, upgrade };
    return upgradeOn(own.streams, { ...options, headersTimeout: 0, bodyTimeout: 0 }, signal);
  }

  withToken(token: string): Connection {
    const { shared } = this.#parts;
    return new PooledConnection({ ...this.#parts, own: shared, credentials: fixedToken(token), ownsSockets: false });
  }

  async close(): Promise<void> {
    const { own, shared, ownsSockets } = this.#parts;
    if (!ownsSockets) return;
    // destroy, not close: the caller has stopped its work, and a half-open watch would hold a graceful close forever.
    const pools = new Set([own.requests, own.streams, shared.requests, shared.streams]);
    await Promise.all([...pools].map((pool) => pool.destroy()));
  }

  /** A 401 may mean that the token was rotated since it was read: read it again and, if it differs, try once more. */
  async #send(dispatcher: Dispatcher, request: WireRequest, signal: AbortSignal): Promise<WireResponse> {
    const { credentials } = this.#parts;
    const authorization = await credentials.authorization();
    const response = await this.#exchange(dispatcher, request, authorization, signal);
    if (response.status !== 401) return response;
    credentials.invalidate();
    const renewed = await credentials.authorization();
    if (renewed === authorization) return response;
    await response.body.dump({ limit: 65_536, signal });
    return this.#exchange(dispatcher, request, renewed, signal);
  }

  async #exchange(
    dispatcher: Dispatcher,
    request: WireRequest,
    authorization: string | undefined,
    signal: AbortSignal,
  ): Promise<WireResponse> {
    signal.throwIfAborted();
    const { statusCode, headers, body } = await dispatcher.request({
      origin: this.#parts.origin,
      path: this.#parts.prefix + request.path,
      method: request.method,
      headers: {
        "user-agent": this.#parts.userAgent,
        ...request.headers,
        ...(authorization === undefined ? {} : { authorization }),
      },
      ...(request.body === undefined ? {} : { body: request.body }),
      // Limits are the callers': a request has a deadline, a watch an inactivity timer. Said here and not of the pool,
      // because undici's agent for SOCKS makes pools of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      signal,
    });
    return { status: statusCode, headers, body };
  }
}
