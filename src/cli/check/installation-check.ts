import { readFile } from "node:fs/promises";
import { type AgentConfig, loadAgentConfig } from "../../agent/kernel/config.ts";
import { ManagerIdentity, WrongKeyError } from "../../agent/platform-link/manager-identity.ts";
import { createClient, ApiError as PlatformError } from "../../api-client/client.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Environment } from "../../base/settings.ts";
import { GROUP } from "../../crds/group.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import { Client } from "../../kube/client/client.ts";
import { clusterOf, connect } from "../../kube/client/connection.ts";

/** The result of one check: all is well, or what to do. */
export interface Finding {
  readonly ok: boolean;
  readonly words: string;
}

export interface Check {
  readonly name: string;
  readonly look: (signal: AbortSignal) => Promise<Finding>;
}

/** Pause before a failed check is repeated. */
const RETRY_MS = 2_000;
/** Longest time of one check. */
const LOOK_MS = 15_000;

const well = (words: string): Finding => ({ ok: true, words });
const wrong = (words: string): Finding => ({ ok: false, words });

/** Repeats the checks until all is well or `waitMs` are over, then prints each result. True: all is well. */
export async function runChecks(
  checks: readonly Check[],
  { clock, waitMs, write }: { readonly clock: Clock; readonly waitMs: number; readonly write: (line: string) => void },
  signal: AbortSignal,
): Promise<boolean> {
  const until = clock.monotonicMs() + waitMs;
  const findings = new Map<string, Finding>();
  for (;;) {
    const open = checks.filter(({ name }) => findings.get(name)?.ok !== true);
    const found = await Promise.all(
      open.map(async ({ look }) => look(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]))),
    );
    for (const [index, { name }] of open.entries()) findings.set(name, found[index] ?? wrong("was not looked at"));
    const isWell = checks.every(({ name }) => findings.get(name)?.ok === true);
    if (isWell || clock.monotonicMs() + RETRY_MS > until) break;
    await sleep(clock, RETRY_MS, signal);
  }
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name } of checks) {
    const { ok, words } = findings.get(name) ?? wrong("was not looked at");
    write(`${ok ? "ok  " : "FAIL"}  ${name.padEnd(width)}  ${words}`);
  }
  return checks.every(({ name }) => findings.get(name)?.ok === true);
}

/** @throws ConfigError */
export async function installationChecks(
  env: Environment,
  ready: readonly (readonly [name: string, url: string])[],
): Promise<readonly Check[]> {
  const config = loadAgentConfig(env);
  return [
    { name: "API server", look: (signal) => lookAtApiServer(config, signal) },
    { name: "platform", look: (signal) => lookAtPlatform(config, env, signal) },
    ...ready.map(([name, url]) => ({ name, look: (signal: AbortSignal) => lookAtProcess(url, signal) })),
  ];
}

async function lookAtApiServer({ kubeconfig, grantsNamespace }: AgentConfig, signal: AbortSignal): Promise<Finding> {
  try {
    const connection = await connect({ ...clusterOf(kubeconfig), userAgent: "sallyport-check" });
    try {
      const attributes = { verb: "create", group: GROUP, resource: "accessgrants", namespace: grantsNamespace };
      const allowed = await new Client(connection).selfSubjectAccessReview(attributes, signal);
      return allowed
        ? well(`${connection.server} answers, and the agent may create requests in ${grantsNamespace}`)
        : wrong(
            `${connection.server} answers, but the agent may not create requests in ${grantsNamespace}: is rbac.create off, and nothing applied in its place?`,
          );
    } finally {
      await connection.close();
    }
  } catch (error) {
    if (error instanceof KubeError && error.isUnauthorized) {
      return wrong("the API server does not accept the pod's token: was its ServiceAccount deleted and made again?");
    }
    // No request was sent: the command runs in no pod, or cannot read the kubeconfig.
    if (!(error instanceof KubeError)) return wrong(error instanceof Error ? error.message : String(error));
    return wrong(
      `the API server does not answer (${codeOf(error)}): does a NetworkPolicy stop it (networkPolicy.apiServer)?`,
    );
  }
}

async function lookAtPlatform(config: AgentConfig, env: Environment, signal: AbortSignal): Promise<Finding> {
  const { platformUrl, runtimeKeyFile } = config;
  let key: string;
  try {
    key = (await readFile(runtimeKeyFile, "utf8")).trim();
  } catch (error) {
    return wrong(
      `${runtimeKeyFile} cannot be read (${codeOf(error)}): does runtimeKey.existingSecret name a Secret with that key?`,
    );
  }
  const client = createClient({ baseUrl: platformUrl, credential: key, retries: 0, timeoutMs: LOOK_MS });
  try {
    const manager = await new ManagerIdentity(client.whoami).resolve(signal);
    return well(`${platformUrl} accepts the runtime key of ${manager}`);
  } catch (error) {
    return wrong(whyNoPlatform(error, platformUrl, proxyName(env)));
  } finally {
    await client.close();
  }
}

/** The platform's answer, or its absence, as something to do. Never holds the key or a proxy's password. */
export function whyNoPlatform(error: unknown, url: string, proxy: string | undefined): string {
  const way = proxy === undefined ? url : `${url} through the proxy ${proxy}`;
  if (error instanceof WrongKeyError) return `${url} knows the key, but ${error.message}`;
  if (error instanceof PlatformError && !error.isTransport) {
    return error.status === 401
      ? `${url} refuses the runtime key (${error.code}): put the current one into the Secret that runtimeKey.existingSecret names`
      : `${url} answers ${error.status} ${error.code}: ${error.message}`;
  }
  const code = codeOf(error);
  if (CERTIFICATE_CODES.has(code)) {
    return `${way}: its certificate is not trusted (${code}). Put the issuer's certificate into a ConfigMap and name it in trustedCA.configMap`;
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `${way}: the name is not known (${code}). Check platform.url and proxy.https; does a NetworkPolicy stop DNS (networkPolicy.dns)?`;
  }
  if (error instanceof PlatformError && error.code === "UNEXPECTED_RESPONSE") {
    return `${way}: something else than the platform answers (status ${error.status}). Check platform.url${proxy === undefined ? "" : " and whether the proxy wants a password (proxy.existingSecret)"}`;
  }
  return `${way} does not answer (${code}). Check ${proxy === undefined ? "whether a proxy is needed (proxy.https)" : "proxy.https"}, and whether a NetworkPolicy or firewall stops it`;
}

/** Node's error codes for an unknown authority and similar problems of certificates. */
const CERTIFICATE_CODES = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "CERT_HAS_EXPIRED",
]);

async function lookAtProcess(url: string, signal: AbortSignal): Promise<Finding> {
  try {
    const response = await fetch(url, { signal, redirect: "error" });
    const text = (await response.text()).slice(0, 1_000);
    if (response.ok) return well(`${url} is ready`);
    const failed = text.split("\n").filter((line) => line.startsWith("[-]"));
    return wrong(`${url} is not ready: ${failed.join("; ") || `status ${response.status}`}. Its log says more`);
  } catch (error) {
    return wrong(`${url} does not answer (${codeOf(error)}): look at the pods with kubectl describe`);
  }
}

/** Host and port only. */
function proxyName(env: Environment): string | undefined {
  const proxy = env.HTTPS_PROXY || env.https_proxy;
  if (!proxy) return undefined;
  return URL.parse(proxy.includes("://") ? proxy : `http://${proxy}`)?.host ?? "(unreadable)";
}

/** The innermost code of what went wrong: `ECONNREFUSED`, `CERT_HAS_EXPIRED`, … */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const inner = error.cause === undefined ? undefined : codeOf(error.cause);
  if (inner !== undefined && inner !== "unknown") return inner;
  return "code" in error && typeof error.code === "string"
    ? error.code
    : error.name === "TimeoutError"
      ? "no answer in time"
      : "unknown";
}
