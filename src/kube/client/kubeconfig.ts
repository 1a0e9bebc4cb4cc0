import { delimiter } from "node:path";
import { createSecureContext } from "node:tls";
import type { Clock } from "../../base/clock.ts";
import { bytesOf, type Credentials, fixed, fixedToken, TlsFiles, type TlsOptions, TokenFile } from "./credentials.ts";
import { type ExecCluster, ExecCredentials } from "./exec-credentials.ts";
import type { ExecProgram, KubeconfigCluster, KubeconfigUser } from "./kubeconfig-fields.ts";
import { readKubeconfig } from "./kubeconfig-files.ts";
import { clusterProblem, userProblem } from "./kubeconfig-rules.ts";
import type { Environment } from "./proxy.ts";

export interface KubeconfigEndpoint {
  readonly server: string;
  readonly tls: TlsOptions;
  /** As {@link tls}, from files and programs that may have other words by now. */
  currentTls(): Promise<TlsOptions>;
  readonly credentials: Credentials;
  /** Headers that say whom to act as. */
  readonly impersonation: Readonly<Record<string, string | string[]>>;
  readonly proxyUrl: string | undefined;
  /** Namespace of the context, for tools that act "here". */
  readonly namespace: string | undefined;
}

/**
 * What a kubeconfig says of one cluster and one user, read and refused as kubectl does.
 *
 * @param paths several files are one, as kubectl reads KUBECONFIG
 * @param place where a program that the file names is run
 * @throws Error in words for the author of the file, when it gives no way in. No user is anonymous by mistake.
 */
export async function loadKubeconfig(
  paths: readonly string[],
  contextName: string | undefined,
  clock: Clock,
  { environment, isTerminal }: ProgramPlace = { environment: {}, isTerminal: false },
): Promise<KubeconfigEndpoint> {
  const { clusters, contexts, users, currentContext } = await readKubeconfig(paths);
  const file = `kubeconfig ${paths.join(delimiter)}`;
  const wanted = contextName ?? currentContext;
  if (wanted === undefined) throw new Error(`${file} names no current context; choose one: kubectl config use-context`);
  const context = contexts.find(({ name }) => name === wanted);
  const cluster = clusters.find(({ name }) => name === context?.cluster);
  const user = users.find(({ name }) => name === context?.user);
  if (context === undefined || cluster === undefined) throw new Error(`${file} names no cluster for context ${wanted}`);
  if (user === undefined) throw new Error(`${file} names no user for context ${wanted}`);
  const noWayIn = (reason: string, cause?: unknown): Error =>
    new Error(`${file} gives user ${user.name} no way in: ${reason}`, { cause });
  try {
    const problem = clusterProblem(cluster) ?? userProblem(user);
    if (problem !== undefined) throw new Error(problem);
    const files = await TlsFiles.open(clock, {
      ca: bytesOf("certificate-authority-data", cluster.caData, cluster.caFile),
      cert: bytesOf("client-certificate-data", user.certData, user.certFile),
      key: bytesOf("client-key-data", user.keyData, user.keyFile),
    });
    const server = cluster.server.replace(/\/$/, "");
    const { credentials, exec } = identityOf(user, clock, (program) => {
      const place = { environment, isTerminal };
      return new ExecCredentials({ program, cluster: execCluster(cluster, server, files.last.ca), clock, place });
    });
    const currentTls = async (): Promise<TlsOptions> => ({
      ...(cluster.tlsServerName !== undefined && { servername: cluster.tlsServerName }),
      ...(cluster.skipTlsVerify && { rejectUnauthorized: false }),
      ...(await exec?.tls()),
      ...(await files.current()),
    });
    const tls = await currentTls();
    createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key });
    const isAnonymous = tls.cert === undefined && (await credentials.authorization()) === undefined;
    if (isAnonymous && server.startsWith("https:")) {
      throw new Error("it needs a token, a client certificate, an exec plugin or an OIDC id-token");
    }
    return {
      server,
      tls,
      currentTls,
      credentials: {
        authorization: () =>
          credentials.authorization().catch((cause: unknown) => Promise.reject(noWayIn(wordsOf(cause), cause))),
        invalidate() {
          credentials.invalidate();
          files.invalidate();
        },
      },
      impersonation: impersonationOf(user),
      proxyUrl: cluster.proxyUrl,
      namespace: context.namespace,
    };
  } catch (cause) {
    throw noWayIn(wordsOf(cause), cause);
  }
}

/** Where a program that a kubeconfig names is run. */
export interface ProgramPlace {
  readonly environment: Environment;
  /** Whether a person sits at standard input, whom the program may ask. */
  readonly isTerminal: boolean;
}

interface Identity {
  readonly credentials: Credentials;
  readonly exec?: ExecCredentials;
}

/** In kubectl's order: what the file itself holds before a program. */
function identityOf(user: KubeconfigUser, clock: Clock, runs: (program: ExecProgram) => ExecCredentials): Identity {
  const { token, tokenFile, username, password, exec: program } = user;
  if (tokenFile !== undefined) return { credentials: new TokenFile(tokenFile, clock, token) };
  if (token !== undefined) return { credentials: fixedToken(token) };
  if (username !== undefined) {
    return { credentials: fixed(`Basic ${Buffer.from(`${username}:${password ?? ""}`).toString("base64")}`) };
  }
  // Whoever shows a certificate needs no program.
  if (program !== undefined && user.certData === undefined && user.certFile === undefined) {
    const exec = runs(program);
    return { credentials: exec, exec };
  }
  return { credentials: ofProvider(user, clock) };
}

function execCluster(cluster: KubeconfigCluster, server: string, ca: TlsOptions["ca"]): ExecCluster {
  const { tlsServerName, skipTlsVerify, proxyUrl, disableCompression, execConfig } = cluster;
  return {
    server,
    ...(tlsServerName !== undefined && { "tls-server-name": tlsServerName }),
    ...(skipTlsVerify && { "insecure-skip-tls-verify": true }),
    ...(ca !== undefined && { "certificate-authority-data": Buffer.from(ca).toString("base64") }),
    ...(proxyUrl !== undefined && { "proxy-url": proxyUrl }),
    ...(disableCompression && { "disable-compression": true }),
    // kubectl writes null where there is none.
    config: execConfig ?? null,
  };
}

/** As client-go writes them: a key's characters that no header name has are percent-encoded. */
function impersonationOf({ impersonate }: KubeconfigUser): Readonly<Record<string, string | string[]>> {
  const { user, uid, groups, extra } = impersonate;
  if (user === undefined) return {};
  const encoded = (key: string): string =>
    [...Buffer.from(key.toLowerCase())]
      .map((byte) => String.fromCharCode(byte))
      .map((each) =>
        /[a-z0-9!#$&'*+.^_`|~-]/.test(each)
          ? each
          : `%${each.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
      )
      .join("");
  return {
    "impersonate-user": user,
    ...(uid !== undefined && { "impersonate-uid": uid }),
    ...(groups.length > 0 && { "impersonate-group": [...groups] }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [`impersonate-extra-${encoded(key)}`, [...values]]),
    ),
  };
}

function ofProvider({ authProvider }: KubeconfigUser, clock: Clock): Credentials {
  if (authProvider === undefined) return fixed(undefined);
  if (authProvider.name !== "oidc") {
    throw new Error(
      `its auth-provider ${authProvider.name} is not known here, nor to kubectl since 1.26; name an exec plugin`,
    );
  }
  const token = authProvider.config["id-token"];
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
