import { freePort } from "../../../lab/cluster/ports.ts";
import { productProcess } from "../../../lab/cluster/product-process.ts";
import type { Program } from "../../../lab/cluster/program.ts";
import type { Watchdog } from "../../../lab/cluster/watchdog.ts";
import { createClient } from "../../../src/api-client/client.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import type { AgentWorld } from "../agent/agent-world.ts";
import { eventually, signal } from "../wait.ts";

/** Join servers in processes of their own, one a port. Machines reach them at the first. */
export async function startJoinServers(
  { cluster, gate, keyFile }: AgentWorld,
  ports: readonly number[],
  watchdog: Watchdog,
): Promise<Program[]> {
  const kubeconfig = await cluster.kubeconfigForServiceAccount(DEFAULT_NAMES.systemNamespace, "sallyport-join");
  return Promise.all(
    ports.map(async (port, index) => {
      const server = productProcess({
        ...{ kind: "join", name: `join-${index}`, logs: cluster.dir, port: await freePort(), watchdog },
        env: {
          SALLYPORT_KUBECONFIG: kubeconfig,
          SALLYPORT_PLATFORM_URL: gate.url,
          SALLYPORT_RUNTIME_KEY_FILE: keyFile,
          SALLYPORT_JOIN_HOST: "127.0.0.1",
          SALLYPORT_JOIN_PORT: String(port),
          SALLYPORT_JOIN_URL: `https://127.0.0.1:${ports[0]}`,
          SALLYPORT_JOIN_CA_FILE: cluster.caFile,
        },
      });
      await server.start(signal());
      return server;
    }),
  );
}

/** What the agent reports of a cluster where machines are on. */
export async function offerMachines(world: AgentWorld, deploymentId: string, url?: string): Promise<void> {
  const manager = createClient({ baseUrl: world.platform.url, credential: world.runtimeKey });
  const state = { status: "running", platform: "kubernetes", protocolVersion: 1 } as const;
  const capabilities = [{ key: "machines", state: "granted" } as const];
  await manager.sync.reconcile({ body: { deploymentId, state, capabilities } }, signal());
  if (url !== undefined) {
    const body = { url, pins: [`sha256//${"A".repeat(43)}=`] };
    await manager.machineRuntime.joinServer({ params: { id: deploymentId }, body }, signal());
  }
  await manager.close();
}

/** What an engineer gets once the join server has told the platform where it is. */
export async function joinStringOf({ deploymentId, engineer }: AgentWorld): Promise<string> {
  const token = await eventually(
    () =>
      engineer.machines
        .createToken({ params: { id: deploymentId }, body: { maxJoins: 20 } }, signal())
        .catch(() => undefined),
    () => true,
  );
  return token.joinString ?? "";
}
