import { delimiter } from "node:path";
import type { User } from "@kubernetes/client-node";
import type { Clock } from "../../base/clock.ts";
import { type Credentials, fixed, fixedToken, type TlsOptions, TokenFile } from "./credentials.ts";
import { ExecCredentials } from "./exec-credentials.ts";
import { type KubeconfigUser, pemOf, readKubeconfig } from "./kubeconfig-files.ts";

export interface KubeconfigEndpoint {
  readonly server: string;
  readonly tls: TlsOptions;
  readonly credentials: Credentials;
  readonly proxyUrl: string | undefined;
  /** Namespace of the context, for tools that act "here". */
  readonly namespace: string | undefined;
}

/**
 * What a kubeconfig says of one cluster and one user. A client certificate from an exec plugin is read once; its tokens are asked
 * for before each request, and kept until they expire.
 *
 * @param paths several files are one, as kubectl reads KUBECONFIG
 * @throws Error in words for the author of the file, when it gives no way in. No user is anonymous by mistake.
 */
export async function loadKubeconfig(
  paths: readonly string[],
  contextName: string | undefined,
  clock: Clock,
): Promise<KubeconfigEndpoint> {
  const { clusters, contexts, users, currentContext } = await readKubeconfig(paths);
  const file = `kubeconfig ${paths.join(delimiter)}`;
  const wanted = contextName ?? currentContext;
  const context = contexts.find(({ name }) => name === wanted);
  const cluster = clusters.find(({ name }) => name === context?.cluster);
  const user = users.find(({ name }) => name === context?.user);
  if (context === undefined || cluster === undefined) throw new Error(`${file} names no cluster for context ${wanted}`);
  if (user === undefined) throw new Error(`${file} names no user for context ${wanted}`);
  const noWayIn = (reason: string, cause?: unknown): Error =>
    new Error(`${file} gives user ${user.name} no way in: ${reason}`, { cause });
  try {
    const ca = await pemOf(cluster.caData, cluster.caFile);
    const { credentials, tls } = await identityOf(user, cluster, clock);
    const isAnonymous = tls.cert === undefined && (await credentials.authorization()) === undefined;
    if (isAnonymous && cluster.server.startsWith("https:")) {
      throw new Error("it needs a token, a client certificate, an exec plugin or an OIDC id-token");
    }
    return {
      server: cluster.server,
      tls: {
        ...(ca !== undefined && { ca }),
        ...(cluster.tlsServerName !== undefined && { servername: cluster.tlsServerName }),
        ...(cluster.skipTLSVerify && { rejectUnauthorized: false }),
        ...tls,
      },
      credentials: {
        authorization: () =>
          credentials.authorization().catch((cause: unknown) => Promise.reject(noWayIn(wordsOf(cause), cause))),
        invalidate: () => credentials.invalidate(),
      },
      proxyUrl: cluster.proxyUrl,
      namespace: context.namespace,
    };
  } catch (cause) {
    throw noWayIn(wordsOf(cause), cause);
  }
}

interface Identity {
  readonly credentials: Credentials;
  readonly tls: Pick<TlsOptions, "cert" | "key">;
}

/** In kubectl's order: what the file itself holds before a program. */
async function identityOf(
  user: KubeconfigUser,
  cluster: { readonly server: string; readonly caData?: string },
  clock: Clock,
): Promise<Identity> {
  if (user.impersonates) throw new Error("it acts as another user (as, as-groups), which is not known here");
  const cert = await pemOf(user.certData, user.certFile);
  const key = await pemOf(user.keyData, user.keyFile);
  const tls = { ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
  if (user.tokenFile !== undefined) return { tls, credentials: new TokenFile(user.tokenFile, clock) };
  if (user.token) return { tls, credentials: fixedToken(user.token) };
  if (user.username) {
    const basic = Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64");
    return { tls, credentials: fixed(`Basic ${basic}`) };
  }
  if (user.exec) {
    const credentials = await ExecCredentials.open(user, cluster, clock);
    return { tls: { ...tls, ...credentials.tls }, credentials };
  }
  return { tls, credentials: ofProvider(user, clock) };
}

function ofProvider({ authProvider }: User, clock: Clock): Credentials {
  if (!authProvider) return fixed(undefined);
  if (authProvider.name !== "oidc") {
    throw new Error(
      `its auth-provider ${authProvider.name} is not known here, nor to kubectl since 1.26; name an exec plugin`,
    );
  }
  const token = authProvider.config?.["id-token"];
  const authorization = async (): Promise<string> => {
    if (isFresh(token, clock.wallNow())) return `Bearer ${token}`;
    throw new Error(
      "its OIDC id-token is missing or has expired, and is not renewed here; log in again, or name an exec plugin",
    );
  };
  return { authorization, invalidate: () => undefined };
}

function wordsOf(cause: unknown): string {
  return cause instanceof Error ? cause.message.trim() : String(cause);
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
