import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, startCluster } from "../../../lab/cluster/cluster.ts";
import { installRecipe, ProgramsError } from "../../../lab/cluster/go-build.ts";
import { findOnPath } from "../../../lab/cluster/path-search.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import type { Program } from "../../../lab/cluster/program.ts";
import { ensureRecipe } from "../../../lab/cluster/programs.ts";
import { OBSERVED, OBSERVED_KINDS } from "../../../src/agent/kernel/observed-kinds.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { openNamespace } from "../../../src/crds/manifests/installation.ts";
import { INSTALLED, namespace } from "../../world/installation.ts";
import type { Shipped } from "../as-shipped.ts";
import { type Fleet, fleet } from "../platform/health.ts";
import { running } from "../running.ts";
import { CountingProxy } from "./counting-proxy.ts";
import { NAMESPACE, storeWorkloads } from "./objects.ts";

type Say = (line: string) => void;

const KUBE_STATE_METRICS = {
  name: "kube-state-metrics",
  module: "k8s.io/kube-state-metrics/v2",
  version: "v2.17.0",
  command: "",
} as const;
const TOKEN_SECONDS = 86_400;

/** A cluster with our installation and `pods` pods in one opened namespace. */
export async function startFullCluster(
  stack: AsyncDisposableStack,
  pods: number,
  say: Say,
  signal: AbortSignal,
): Promise<Cluster> {
  const cluster = stack.use(await startCluster({ log: say }, signal));
  await cluster.apply([...INSTALLED, namespace(NAMESPACE), ...openNamespace(NAMESPACE)], signal);
  say(`health: storing ${pods} pods with their Deployments and ReplicaSets`);
  await storeWorkloads(cluster.etcd, pods, say, signal);
  return cluster;
}

export interface AgentWorld {
  readonly agent: Program;
  readonly proxy: CountingProxy;
  readonly fleet: Fleet;
  /** Longest stall of the agent's event loop, in ms, of each second so far. */
  stalls(): Promise<readonly number[]>;
  /** Off, and on again: looking costs CPU time itself. */
  toggleStalls(): void;
}

/** The platform, and the agent as shipped between it and the cluster; each in its own process. */
export async function startAgentWorld(
  stack: AsyncDisposableStack,
  cluster: Cluster,
  program: Shipped,
  postgres: string,
): Promise<AgentWorld> {
  const found = await fleet(stack, postgres, "agent-health", false);
  const proxy = await CountingProxy.open(found.port);
  stack.defer(() => proxy.close());
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-agent-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { systemNamespace, agentAccount } = DEFAULT_NAMES;
  const token = await cluster.serviceAccountToken(systemNamespace, agentAccount, TOKEN_SECONDS);
  const ca = await readFile(cluster.caFile, "utf8");
  await program.setAccount({ ca, token, namespace: systemNamespace });
  const [keyFile, stallFile, port] = [join(folder, "key"), join(folder, "stalls"), await freePort()];
  await writeFile(keyFile, `${found.managerKey}\n`, { mode: 0o600 });
  await writeFile(stallFile, "");
  const api = new URL(cluster.server);
  const [path = "", ...args] = program.agent;
  const agent = running(stack, {
    name: "agent",
    path,
    args,
    logFile: join(folder, "agent.log"),
    env: {
      PATH: process.env.PATH ?? "",
      LOOP_DELAY_FILE: stallFile,
      KUBERNETES_SERVICE_HOST: api.hostname,
      KUBERNETES_SERVICE_PORT: api.port,
      SALLYPORT_LOG_FORMAT: "json",
      SALLYPORT_HEALTH_HOST: "127.0.0.1",
      SALLYPORT_HEALTH_PORT: String(port),
      SALLYPORT_PLATFORM_URL: proxy.url,
      SALLYPORT_RUNTIME_KEY_FILE: keyFile,
      SALLYPORT_NAMESPACES: NAMESPACE,
      SALLYPORT_DEPLOYMENTS: `${found.deploymentId}=${NAMESPACE}`,
    },
  });
  const stalls = async (): Promise<readonly number[]> => {
    const lines = (await readFile(stallFile, "utf8")).trim().split("\n");
    return lines.filter((line) => line !== "").map(Number);
  };
  const toggleStalls = (): void => {
    if (agent.pid !== undefined) process.kill(agent.pid, "SIGUSR2");
  };
  return { agent, proxy, fleet: found, stalls, toggleStalls };
}

/** Watches the same kinds in the same namespace. Undefined: it cannot be had here; `say` was told why. */
export async function startKubeStateMetrics(
  stack: AsyncDisposableStack,
  cluster: Cluster,
  say: Say,
  signal: AbortSignal,
): Promise<Program | undefined> {
  const path = await findKubeStateMetrics(say, signal);
  if (path === undefined) return undefined;
  const resources = OBSERVED_KINDS.map((kind) => OBSERVED[kind].resource.plural).join();
  const [port, telemetry] = [await freePort(), await freePort()];
  const isReady = (each: AbortSignal): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/metrics`, { signal: each }).then(
      async (answer) => /kube_pod_status_phase\{/.test(await answer.text()),
      () => false,
    );
  const program = running(stack, {
    ...{ name: "kube-state-metrics", path, logFile: join(cluster.dir, "kube-state-metrics.log"), isReady },
    args: [
      ...[`--kubeconfig=${cluster.adminKubeconfig}`, `--resources=${resources}`, `--namespaces=${NAMESPACE}`],
      ...["--host=127.0.0.1", `--port=${port}`, "--telemetry-host=127.0.0.1", `--telemetry-port=${telemetry}`],
    ],
  });
  await program.whenReady(signal);
  return program;
}

/** From the PATH, else built from its module. */
async function findKubeStateMetrics(say: Say, signal: AbortSignal): Promise<string | undefined> {
  const { name } = KUBE_STATE_METRICS;
  const found = await findOnPath(name);
  if (found !== undefined) return found;
  try {
    return join(
      await ensureRecipe(installRecipe(KUBE_STATE_METRICS, "about 4 minutes on 2 cores, once"), { say }, signal),
      name,
    );
  } catch (error) {
    if (!(error instanceof ProgramsError)) throw error;
    say(`${name} is not on the PATH and cannot be built: ${error.message}`);
    return undefined;
  }
}
