import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { type Kubelet, type Pod, startKubelet } from "../../../lab/cluster/kubelet.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import type { Program } from "../../../lab/cluster/program.ts";
import { Watchdog } from "../../../lab/cluster/watchdog.ts";
import { productProcess } from "../../../lab/product-process.ts";
import { TUNNEL_ACCOUNT } from "../../../src/crds/group.ts";
import { openDebugSessions, openNamespaceToDebug } from "../../../src/crds/manifests/installation.ts";
import type { RunningPlatform } from "../../../src/platform/server.ts";
import { workload } from "../../world/installation.ts";
import { SHOP, SYSTEM } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";

/** Settings of the installation under test: all four modes. */
const MODES = "logs,read,exec,port-forward";

/** Everything between an engineer's kubectl and a pod: platform, agent, operator, tunnel, API server and kubelet. */
export interface TunnelWorld {
  readonly world: AgentWorld;
  readonly cluster: Cluster;
  readonly kubelet: Kubelet;
  /** Behind the Deployment `api` of the shop, as its only pod. */
  readonly pod: Pod;
  /** A tunnel in its own process, ready. */
  startTunnel(name: string, env?: Readonly<Record<string, string>>): Promise<Program>;
  stopOperator(): Promise<void>;
  startOperator(): void;
  close(): Promise<void>;
}

export interface TunnelWorldOptions {
  readonly operator?: Readonly<Record<string, string>>;
  readonly agent?: Readonly<Record<string, string>>;
  /** In it the vendor's objects are made; what takes its place must serve its address. @default one in this process */
  readonly platform?: RunningPlatform & { takeOver(): Promise<void> };
}

export async function createTunnelWorld(cluster: Cluster, options: TunnelWorldOptions = {}): Promise<TunnelWorld> {
  const kubelet = await startKubelet(cluster, signal());
  const world = await createAgentWorld(cluster, {
    ...(options.platform && { platform: options.platform }),
    more: [...openDebugSessions(), ...openNamespaceToDebug(SHOP), workload("api")],
  });
  const pod = await kubelet.pod(SHOP, "api-0", { app: "api" });
  await options.platform?.takeOver();
  const agent = world.startAgent("agent", { SALLYPORT_AGENT_DEBUG_MODES: MODES, ...options.agent });
  const startOperator = (): Running =>
    world.startOperator({
      SALLYPORT_OPERATOR_DEBUG_ENABLED: "true",
      SALLYPORT_OPERATOR_DEBUG_MODES: MODES,
      ...options.operator,
    });
  let operator: Running | undefined = startOperator();
  const stopOperator = async (): Promise<void> => {
    const running = operator;
    operator = undefined;
    await running?.stop();
  };
  const kubeconfig = await cluster.kubeconfigForServiceAccount(SYSTEM, TUNNEL_ACCOUNT);
  const watchdog = new Watchdog();
  const tunnels: Program[] = [];
  return {
    world,
    cluster,
    kubelet,
    pod,
    async startTunnel(name, env = {}) {
      const spool = join(cluster.dir, `${name}-spool`);
      mkdirSync(spool, { recursive: true });
      const tunnel = productProcess({
        kind: "tunnel",
        name,
        logs: cluster.dir,
        port: await freePort(),
        watchdog,
        env: {
          SALLYPORT_KUBECONFIG: kubeconfig,
          SALLYPORT_PLATFORM_URL: world.platform.url,
          SALLYPORT_RUNTIME_KEY_FILE: world.keyFile,
          SALLYPORT_IDENTITY: name,
          SALLYPORT_TUNNEL_SPOOL_FOLDER: spool,
          ...env,
        },
      });
      tunnels.push(tunnel);
      await tunnel.start(signal());
      return tunnel;
    },
    stopOperator,
    startOperator() {
      operator = startOperator();
    },
    async close() {
      if (process.env.SALLYPORT_TEST_LOGS)
        for (const tunnel of tunnels) process.stderr.write(`${tunnel.logTail(200)}\n`);
      await Promise.all(tunnels.map((tunnel) => tunnel.stop(60_000)));
      watchdog.done();
      await Promise.all([agent.stop(), stopOperator()]);
      await kubelet.stop();
      await world.close();
    },
  };
}
