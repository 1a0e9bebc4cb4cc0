import type { RequestOptions } from "node:https";
import type { KubeConfig, User } from "@kubernetes/client-node";
import type { Clock } from "../../base/clock.ts";
import type { Credentials, TlsOptions } from "./credentials.ts";

export interface KubeconfigEndpoint {
  readonly server: string;
  readonly tls: TlsOptions;
  readonly credentials: Credentials;
  readonly proxyUrl: string | undefined;
  /** Namespace of the context, for tools that act "here". */
  readonly namespace: string | undefined;
}

/** Longest that an exec plugin may take: a person may have to log in, and a process must not start for ever. */
const CREDENTIAL_LIMIT_MS = 60_000;

/**
 * A kubeconfig file through `@kubernetes/client-node`, for its exec plugins, OIDC and the rest. This file is the only
 * place that loads it, and only when a kubeconfig is named: it costs 340 ms and 87 MB of memory, and a process in a
 * pod needs none of it.
 *
 * A client certificate from an exec plugin is read once; tokens are asked for before each request (the plugin's
 * answer is cached until it expires, by client-node).
 *
 * @throws Error in words for the author of the file, when it gives no way in. No user is anonymous by mistake.
 */
export async function loadKubeconfig(
  path: string,
  contextName: string | undefined,
  clock: Clock,
): Promise<KubeconfigEndpoint> {
  // The deep path saves loading 880 generated models' siblings (150 ms); the package has no exports map.
  const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
  const config = new KubeConfig();
  config.loadFromFile(path);
  if (contextName !== undefined) config.setCurrentContext(contextName);
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new Error(`kubeconfig ${path} names no cluster for context ${config.getCurrentContext()}`);
  const user = config.getCurrentUser();
  if (user === null) throw new Error(`kubeconfig ${path} names no user for context ${config.getCurrentContext()}`);
  const ask = async (): Promise<Applied> => {
    try {
      return await applied(config, user, clock);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message.trim() : String(cause);
      throw new Error(`kubeconfig ${path} gives user ${user.name} no way in: ${reason}`, { cause });
    }
  };
  const { options, authorization } = await ask();
  if (authorization === undefined && options.cert === undefined && cluster.server.startsWith("https:")) {
    const known = "a token, a client certificate, an exec plugin or an OIDC id-token (not tokenFile)";
    throw new Error(`kubeconfig ${path} gives user ${user.name} no way in: it needs ${known}`);
  }
  return {
    server: cluster.server,
    tls: tlsOf(options, cluster.tlsServerName),
    credentials: {
      authorization: async () => (await ask()).authorization,
      // client-node keeps its caches private: an exec token is renewed at its own expiry, not by our 401.
      invalidate: () => undefined,
    },
    proxyUrl: cluster.proxyUrl,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
  };
}

interface Applied {
  readonly options: RequestOptions;
  readonly authorization: string | undefined;
}

async function applied(config: KubeConfig, user: User, clock: Clock): Promise<Applied> {
  const { authProvider, exec } = user;
  if (authProvider?.name === "oidc" && !isFresh(authProvider.config?.["id-token"], clock.wallNow())) {
    // client-node would renew it, and fails: it hands its OpenID library a text where that wants a URL.
    throw new Error(
      "its OIDC id-token is missing or has expired, and is not renewed here; log in again, or name an exec plugin",
    );
  }
  const headers: Record<string, string> = {};
  const options: RequestOptions = { headers };
  try {
    await inTime(config.applyToHTTPSOptions(options), clock);
  } catch (cause) {
    if (!exec) throw cause;
    const fails = (reason: string): string => `its program ${exec.command} fails (${reason}); run it by hand`;
    if (cause instanceof SyntaxError || cause instanceof TypeError) {
      // biome-ignore lint/style/useErrorCause: a parser's words quote the output, which may hold a token.
      throw new Error(fails("it prints no ExecCredential"));
    }
    throw new Error(fails(cause instanceof Error ? cause.message.trim() : String(cause)), { cause });
  }
  const basic = options.auth ? `Basic ${Buffer.from(options.auth).toString("base64")}` : undefined;
  return { options, authorization: headers.Authorization ?? basic };
}

/** The program is client-node's and goes on; what waits for it does not. */
function inTime(work: Promise<void>, clock: Clock): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const seconds = CREDENTIAL_LIMIT_MS / 1_000;
  const cancel = clock.after(CREDENTIAL_LIMIT_MS, () => reject(new Error(`no answer within ${seconds} s`)));
  work.then(resolve, reject).finally(cancel);
  return promise;
}

/** Whether this JSON Web Token says that it is still good. Nothing is verified: the API server does that. */
function isFresh(token: unknown, now: Date): boolean {
  try {
    const claims = JSON.parse(Buffer.from(String(token).split(".")[1] ?? "", "base64url").toString());
    return claims.exp * 1_000 > now.getTime();
  } catch {
    return false;
  }
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
