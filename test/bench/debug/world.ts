import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Cluster, startCluster } from "../../../lab/cluster/cluster.ts";
import { type Pod, startKubelet } from "../../../lab/cluster/kubelet.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import type { Program } from "../../../lab/cluster/program.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { defaultPolicy } from "../../../src/crds/manifests/default-policy.ts";
import { openDebugSessions, openNamespaceToDebug } from "../../../src/crds/manifests/installation.ts";
import { install } from "../../world/installation.ts";
import { approvers, SHOP } from "../../world/people.ts";
import { type Shipped, shipped } from "../as-shipped.ts";
import { type Fleet, fleet } from "../platform/health.ts";
import { postgresServer, readyOn, running } from "../running.ts";

export const POD = "api-0";
const MODES = "logs,read,exec,port-forward";
const TOKEN_SECONDS = 7_200;
const RBAC = "rbac.authorization.k8s.io";

/** An API server with a pod whose containers are processes, and with our installation. */
export interface DebugCluster {
  readonly cluster: Cluster;
  readonly pod: Pod;
  readonly program: Shipped;
}

export async function startDebugCluster(
  stack: AsyncDisposableStack,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<DebugCluster> {
  say("debug: starting the API server and a node");
  const cluster = stack.use(await startCluster({ log: say }, signal));
  const kubelet = await startKubelet(cluster, signal);
  stack.defer(() => kubelet.stop());
  const debug = [...openDebugSessions(), ...openNamespaceToDebug(SHOP)];
  await install(cluster, { more: [...debug, defaultPolicy(), approvers()] }, signal);
  await cluster.apply(directAccount(), signal);
  const pod = await kubelet.pod(SHOP, POD, { app: "api" });
  return { cluster, pod, program: await shipped(stack) };
}

/** Who connects directly and through the peers: a token, and the rights of a session's account. */
export const DIRECT_ACCOUNT = "bench";

function directAccount() {
  const metadata = { name: DIRECT_ACCOUNT, namespace: SHOP };
  const rules = [
    { apiGroups: [""], resources: ["pods", "pods/log"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["pods/exec", "pods/portforward"], verbs: ["get", "create"] },
  ];
  const roleRef = { apiGroup: RBAC, kind: "Role", name: DIRECT_ACCOUNT };
  const subjects = [{ kind: "ServiceAccount", name: DIRECT_ACCOUNT, namespace: SHOP }];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules },
    { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, roleRef, subjects },
  ];
}

/** A cluster, the platform and everything between them, each as shipped and in its own process. */
export interface DebugWorld extends DebugCluster {
  readonly fleet: Fleet;
  readonly platformUrl: string;
  readonly tunnel: Program;
  /** Has what each request waited for its record, in ms, once the tunnel has stopped. */
  readonly auditTimesFile: string;
}

export async function startDebugWorld(
  stack: AsyncDisposableStack,
  found: DebugCluster,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<DebugWorld> {
  const postgres = await postgresServer(stack);
  say("debug: starting platform, agent, operator and tunnel");
  const { cluster, program } = found;
  const vendor = await fleet(stack, postgres.url, "debug", false);
  const platformUrl = `http://127.0.0.1:${vendor.port}`;
  const keyFile = join(cluster.dir, "runtime-key");
  await writeFile(keyFile, `${vendor.managerKey}\n`, { mode: 0o600 });
  const deployments = `${vendor.deploymentId}=${SHOP}`;
  const outward = { SALLYPORT_PLATFORM_URL: platformUrl, SALLYPORT_RUNTIME_KEY_FILE: keyFile };
  const { agentAccount, operatorAccount } = DEFAULT_NAMES;
  const agent = await startProcess(stack, found, "agent", program.process("agent"), agentAccount, {
    ...outward,
    SALLYPORT_NAMESPACES: SHOP,
    SALLYPORT_DEPLOYMENTS: deployments,
    SALLYPORT_AGENT_DEBUG_MODES: MODES,
  });
  const operator = await startProcess(stack, found, "operator", program.process("operator"), operatorAccount, {
    SALLYPORT_DEPLOYMENTS: deployments,
    SALLYPORT_OPERATOR_DEBUG_ENABLED: "true",
    SALLYPORT_OPERATOR_DEBUG_MODES: MODES,
    SALLYPORT_OPERATOR_DEBUG_MAX_CONCURRENT: "16",
  });
  const auditTimesFile = join(cluster.dir, "audit-times.json");
  const tunnel = await startTunnel(stack, found, { ...outward, AUDIT_TIMES_FILE: auditTimesFile });
  await Promise.all([agent.whenReady(signal), operator.whenReady(signal), tunnel.whenReady(signal)]);
  return { ...found, fleet: vendor, platformUrl, tunnel, auditTimesFile };
}

export async function startTunnel(
  stack: AsyncDisposableStack,
  found: DebugCluster,
  env: Readonly<Record<string, string>>,
): Promise<Program> {
  const spool = join(found.cluster.dir, `spool-${await freePort()}`);
  await mkdir(spool);
  return startProcess(stack, found, "tunnel", found.program.command("debug/tunnel-process"), "sallyport-tunnel", {
    // The stored platform has no storage for files.
    SALLYPORT_TUNNEL_UPLOAD: "false",
    SALLYPORT_TUNNEL_SPOOL_FOLDER: spool,
    ...env,
  });
}

async function startProcess(
  stack: AsyncDisposableStack,
  { cluster }: DebugCluster,
  name: string,
  [path = "", ...args]: readonly string[],
  account: string,
  env: Readonly<Record<string, string>>,
): Promise<Program> {
  const port = await freePort();
  const { systemNamespace } = DEFAULT_NAMES;
  return running(stack, {
    ...{ name, path, args, logFile: join(cluster.dir, `${name}-${port}.log`), isReady: readyOn(port) },
    env: {
      PATH: process.env.PATH ?? "",
      SALLYPORT_LOG_FORMAT: "json",
      SALLYPORT_HEALTH_HOST: "127.0.0.1",
      SALLYPORT_HEALTH_PORT: String(port),
      SALLYPORT_KUBECONFIG: await cluster.kubeconfigForServiceAccount(systemNamespace, account, TOKEN_SECONDS),
      ...env,
    },
  });
}
