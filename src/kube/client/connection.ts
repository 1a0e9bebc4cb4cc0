import { readFile } from "node:fs/promises";
import type { Dispatcher } from "undici";
import { type Clock, systemClock } from "../../base/clock.ts";
import { type Credentials, fixedToken, TlsFiles, type TlsOptions, TokenFile } from "./credentials.ts";
import { type Environment, proxyFor } from "./proxy.ts";
import { Sockets } from "./sockets.ts";
import { type UpgradeAnswer, upgradeOn } from "./upgrade.ts";

/** Where the kubelet mounts a pod's own credentials. */
const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

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
  | {
      readonly inCluster: true;
      /** Where the pod's own credentials are mounted. @default the kubelet's place */
      readonly folder?: string;
    }
  | { readonly explicit: ExplicitEndpoint }
) & {
  /** The program's name: what the API server's audit log shows. Default `kube-client`. */
  readonly userAgent?: string;
  /** Where proxies and the in-cluster address are read from, and what programs of a kubeconfig get. Default: the process's. */
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
    impersonation: endpoint.impersonation ?? {},
    sockets: new Sockets(endpoint.tls, endpoint.currentTls ?? (async () => endpoint.tls), proxyUrl),
    whose: "own",
  });
}

interface Endpoint {
  readonly server: string;
  readonly tls: TlsOptions;
  /** Absent: it does not change. */
  readonly currentTls?: () => Promise<TlsOptions>;
  readonly credentials: Credentials;
  readonly impersonation?: Readonly<Record<string, string | string[]>>;
  readonly proxyUrl?: string | undefined;
  readonly namespace: string | undefined;
}

async function endpointOf(options: ConnectionOptions, environment: Environment, clock: Clock): Promise<Endpoint> {
  if ("kubeconfig" in options) {
    // Loaded only here: a process in a pod needs no YAML.
    const { loadKubeconfig } = await import("./kubeconfig.ts");
    const place = { environment, isTerminal: process.stdin.isTTY === true };
    return loadKubeconfig([options.kubeconfig].flat(), options.context, clock, place);
  }
  if ("inCluster" in options) return inClusterEndpoint(environment, options.folder ?? SERVICE_ACCOUNT_FOLDER, clock);
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

async function inClusterEndpoint(environment: Environment, folder: string, clock: Clock): Promise<Endpoint> {
  const host = environment.KUBERNETES_SERVICE_HOST;
  const port = environment.KUBERNETES_SERVICE_PORT;
  if (!host || !port) throw new Error("not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  const files = await TlsFiles.open(clock, { ca: () => readFile(`${folder}/ca.crt`) });
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    tls: files.last,
    currentTls: () => files.current(),
    credentials: new TokenFile(`${folder}/token`, clock),
    namespace: (await readFile(`${folder}/namespace`, "utf8")).trim(),
  };
}

interface ConnectionParts {
  readonly origin: string;
  readonly prefix: string;
  readonly namespace: string | undefined;
  readonly userAgent: string;
  readonly credentials: Credentials;
  readonly impersonation: Readonly<Record<string, string | string[]>>;
  readonly sockets: Sockets;
  /** Those that are shared carry no client certificate, and are not closed. */
  readonly whose: "own" | "shared";
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
    return this.#send("requests", request, signal);
  }

  open(request: WireRequest, signal: AbortSignal): Promise<WireResponse> {
    return this.#send("streams", request, signal);
  }

  async upgrade(request: WireRequest, upgrade: string, signal: AbortSignal): Promise<UpgradeAnswer> {
    const { origin, prefix, sockets, whose, credentials } = this.#parts;
    const headers = this.#headers(request, await credentials.authorization());
    const options = { origin, path: prefix + request.path, method: request.method, headers, upgrade };
    const { streams } = await sockets.current(whose);
    return upgradeOn(streams, { ...options, headersTimeout: 0, bodyTimeout: 0 }, signal);
  }

  withToken(token: string): Connection {
    const credentials = fixedToken(token);
    return new PooledConnection({ ...this.#parts, credentials, impersonation: {}, whose: "shared" });
  }

  async close(): Promise<void> {
    if (this.#parts.whose === "own") await this.#parts.sockets.close();
  }

  /** A 401 may mean that the token or the certificate was rotated since it was read: read it again and, if it differs, try once more. */
  async #send(of: "requests" | "streams", request: WireRequest, signal: AbortSignal): Promise<WireResponse> {
    const { credentials, sockets, whose } = this.#parts;
    const authorization = await credentials.authorization();
    const dispatcher = (await sockets.current(whose))[of];
    const response = await this.#exchange(dispatcher, request, authorization, signal);
    if (response.status !== 401) return response;
    credentials.invalidate();
    const renewed = await credentials.authorization();
    const other = (await sockets.current(whose))[of];
    if (renewed === authorization && other === dispatcher) return response;
    await response.body.dump({ limit: 65_536, signal });
    return this.#exchange(other, request, renewed, signal);
  }

  #headers(request: WireRequest, authorization: string | undefined): Record<string, string | string[]> {
    const { userAgent, impersonation } = this.#parts;
    return { "user-agent": userAgent, ...request.headers, ...impersonation, ...(authorization && { authorization }) };
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
      headers: this.#headers(request, authorization),
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
