import { request } from "node:https";
import { freePort } from "../../../lab/cluster/ports.ts";
import type { Program } from "../../../lab/cluster/program.ts";
import { Watchdog } from "../../../lab/cluster/watchdog.ts";
import { productProcess } from "../../../lab/product-process.ts";
import { createClient } from "../../../src/api-client/client.ts";
import { JOIN_ACCOUNT } from "../../../src/crds/group.ts";
import { machineRequest } from "../../../src/join/testing/join-world.ts";
import { SYSTEM } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import type { AgentWorld } from "../agent/agent-world.ts";

/** The lab's API server has no Node authorizer, by which a node has its rights. */
export const NODES_BINDING = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "nodes" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:node" },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:nodes" }],
};

export interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
}

export interface AskOptions {
  readonly body?: string;
  readonly token?: string;
  /** Which replica. @default 0 */
  readonly at?: number;
  /** Of the machine; each has its own limits. */
  readonly localAddress?: string;
}

/** Join servers in processes of their own, between a platform and an API server that are real. */
export class JoinServers {
  readonly programs: readonly Program[];
  readonly ports: readonly number[];
  readonly #watchdog: Watchdog;

  private constructor(programs: readonly Program[], ports: readonly number[], watchdog: Watchdog) {
    this.programs = programs;
    this.ports = ports;
    this.#watchdog = watchdog;
  }

  /** Machines reach the first of them. */
  static async start(
    { cluster, gate, keyFile }: AgentWorld,
    replicas = 2,
    more: Readonly<Record<string, string>> = {},
  ): Promise<JoinServers> {
    const watchdog = new Watchdog();
    const ports: number[] = [];
    while (ports.length < replicas) ports.push(await freePort());
    const kubeconfig = await cluster.kubeconfigForServiceAccount(SYSTEM, JOIN_ACCOUNT);
    const programs: Program[] = [];
    for (const [index, port] of ports.entries()) {
      const env = {
        SALLYPORT_KUBECONFIG: kubeconfig,
        SALLYPORT_PLATFORM_URL: gate.url,
        SALLYPORT_RUNTIME_KEY_FILE: keyFile,
        SALLYPORT_JOIN_HOST: "127.0.0.1",
        SALLYPORT_JOIN_PORT: String(port),
        SALLYPORT_JOIN_URL: `https://127.0.0.1:${ports[0]}`,
        SALLYPORT_JOIN_CA_FILE: cluster.caFile,
        ...more,
      };
      const [name, logs] = [`join-${index}`, cluster.dir];
      programs.push(productProcess({ kind: "join", name, logs, port: await freePort(), watchdog, env }));
    }
    await Promise.all(programs.map((each) => each.start(signal())));
    return new JoinServers(programs, ports, watchdog);
  }

  ask(method: string, path: string, { body, token, at = 0, localAddress }: AskOptions = {}): Promise<Reply> {
    const wire = {
      ...{ host: "127.0.0.1", port: this.ports[at], method, path, agent: false as const, rejectUnauthorized: false },
      headers: token === undefined ? {} : { authorization: `Join ${token}` },
      ...(localAddress !== undefined && { localAddress }),
    };
    return new Promise((resolve, reject) => {
      const asked = request(wire, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) });
        });
      });
      asked.on("error", reject).end(body);
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.programs.map((each) => each.stop(5_000)));
    this.#watchdog.done();
  }
}

/** What a machine sends. */
export function machineAsks(name: string, asked = machineRequest(name).request): string {
  return JSON.stringify({ machineId: name, nodeName: name, request: asked, facts: { os: "Linux" } });
}

/** What the agent reports of a cluster where machines are on; with `url`, also where machines of that deployment join. */
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
