import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import type { Credentials, TlsOptions } from "./credentials.ts";

export interface KubeconfigEndpoint {
  readonly server: string;
  readonly tls: TlsOptions;
  readonly credentials: Credentials;
  readonly proxyUrl: string | undefined;
  /** Namespace of the context, for tools that act "here". */
  readonly namespace: string | undefined;
}

/**
 * A kubeconfig file through `@kubernetes/client-node`, for its exec plugins, OIDC and the rest. This file is the only
 * place that loads it, and only when a kubeconfig is named: it costs 340 ms and 87 MB of memory, and a process in a
 * pod needs none of it.
 *
 * A client certificate from an exec plugin is read once; tokens are asked for before each request (the plugin's
 * answer is cached until it expires, by client-node).
 */
export async function loadKubeconfig(path: string, contextName?: string): Promise<KubeconfigEndpoint> {
  // The deep path saves loading 880 generated models' siblings (150 ms); the package has no exports map.
  const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
  const config = new KubeConfig();
  config.loadFromFile(path);
  if (contextName !== undefined) config.setCurrentContext(contextName);
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new Error(`kubeconfig ${path} names no cluster for context ${config.getCurrentContext()}`);
  const { options } = await applied(config);
  return {
    server: cluster.server,
    tls: tlsOf(options, cluster.tlsServerName),
    credentials: kubeconfigCredentials(config),
    proxyUrl: cluster.proxyUrl,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
  };
}

interface Applied {
  readonly options: RequestOptions;
  readonly authorization: string | undefined;
}

async function applied(config: KubeConfig): Promise<Applied> {
  const headers: Record<string, string> = {};
  const options: RequestOptions = { headers };
  await config.applyToHTTPSOptions(options);
  const basic = options.auth ? `Basic ${Buffer.from(options.auth).toString("base64")}` : undefined;
  return { options, authorization: headers.Authorization ?? basic };
}

function kubeconfigCredentials(config: KubeConfig): Credentials {
  return {
    authorization: async () => (await applied(config)).authorization,
    // client-node keeps its caches private: an exec or OIDC token is renewed at its own expiry, not by our 401.
    invalidate: () => undefined,
  };
}

function tlsOf(options: RequestOptions, servername: string | undefined): TlsOptions {
  return {
    ...pem("ca", options.ca),
    ...pem("cert", options.cert),
    ...pem("key", options.key),
    ...(servername === undefined ? {} : { servername }),
    ...(options.rejectUnauthorized === undefined ? {} : { rejectUnauthorized: options.rejectUnauthorized }),
  };
}

function pem<K extends string>(name: K, value: unknown): { readonly [P in K]?: string | Buffer } {
  if (typeof value !== "string" && !Buffer.isBuffer(value)) return {};
  return { [name]: value } as { readonly [P in K]: string | Buffer };
}
