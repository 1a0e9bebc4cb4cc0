import { serveCommands } from "./child.ts";
import { HttpConnection, requestText } from "./http-connection.ts";

export interface Confirming {
  readonly managerKey: string;
  readonly deploymentId: string;
}

export interface ConfirmLoad {
  readonly port: number;
  readonly agents: readonly Confirming[];
  /** What all of them hold, as their levels say it. */
  readonly level: Readonly<Record<string, unknown>>;
  /** Each agent confirms once within this time, one after the other. */
  readonly withinMs: number;
}

export interface ConfirmResult {
  readonly latenciesMs: readonly number[];
  readonly resends: number;
  readonly failed: Readonly<Record<string, number>>;
  /** Bytes of one request, with its head. */
  readonly requestBytes: number;
}

const commands = {
  /** Resolves when the last one has its answer. Each over a new connection: nothing was said for a minute. */
  async confirm({ port, agents, level, withinMs }: ConfirmLoad): Promise<ConfirmResult> {
    const latenciesMs: number[] = [];
    const failed: Record<string, number> = {};
    let resends = 0;
    let requestBytes = 0;
    const one = async (agent: Confirming, address: string): Promise<void> => {
      const text = requestText(confirmation(agent, level));
      requestBytes = Math.max(requestBytes, Buffer.byteLength(text));
      const sentMs = performance.now();
      try {
        const connection = await HttpConnection.open(port, address);
        const { status, body } = await connection.request(text).finally(() => connection.close());
        if (status !== 200) throw new Error(`${status} ${body.slice(0, 200)}`);
        latenciesMs.push(performance.now() - sentMs);
        if (JSON.parse(body).resendResources === true) resends += 1;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        failed[message] = (failed[message] ?? 0) + 1;
      }
    };
    const startedMs = performance.now();
    const sent: Promise<void>[] = [];
    for (const [n, agent] of agents.entries()) {
      const waitMs = startedMs + (withinMs * n) / agents.length - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      sent.push(one(agent, `127.0.${1 + (n % 4)}.1`));
    }
    await Promise.all(sent);
    return { latenciesMs, resends, failed, requestBytes };
  },
};

/** The report of an agent at rest, as `src/agent/deployments` makes it. */
function confirmation({ managerKey, deploymentId }: Confirming, level: ConfirmLoad["level"]) {
  const body = {
    deploymentId,
    state: {
      ...{ status: "running", platform: "kubernetes", protocolVersion: 1 },
      environmentInfo: { platform: "kubernetes", namespace: "shop" },
    },
    capabilities: ["k8s-workloads", "logs", "operations"].map((key) => ({ key, state: "granted", detail: null })),
    operatorVersion: "0.1.0",
    resourceLevel: { observedAt: new Date().toISOString(), ...level },
  };
  return { method: "POST", path: "/v1/sync/reconcile", key: managerKey, body: JSON.stringify(body) };
}

export type HealthSwarmCommands = typeof commands;
serveCommands(commands);
