import { afterAll, beforeAll } from "vitest";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { syncRoutes } from "../../../src/contract/deployments/sync.ts";
import type { BodyOf } from "../../../src/contract/wire/route.ts";
import { INSTALLED, workload } from "../../world/installation.ts";
import { SHOP } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";

export type Report = BodyOf<(typeof syncRoutes)["reconcile"]>;

export interface HealthOptions {
  /** Deployments of two replicas, both ready. */
  readonly workloads: readonly string[];
  /** Of the first agent. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * The pauses that keep the API server and the platform from writing too often are seconds long as shipped, and have unit
 * tests with a clock of their own. They would be most of the time of these tests.
 */
const SHORT = {
  SALLYPORT_REPORT_INTERVAL: "500ms",
  SALLYPORT_STATUS_INTERVAL: "500ms",
  SALLYPORT_ACCESS_CHECK_INTERVAL: "1s",
};

/**
 * What the vendor and the customer see of workloads: a real API server, the platform, and an agent between them. No
 * controller runs, so the test alone writes the status of workloads.
 */
export class HealthWorld {
  /** All that any agent has told. */
  readonly reports: Report[] = [];
  readonly #cluster: () => Cluster;
  #world: AgentWorld | undefined;
  #agent: Running | undefined;
  #agents = 0;

  constructor(cluster: () => Cluster) {
    this.#cluster = cluster;
  }

  get world(): AgentWorld {
    if (this.#world === undefined) throw new Error("the world is not there yet");
    return this.#world;
  }

  get agent(): Running {
    if (this.#agent === undefined) throw new Error("no agent runs");
    return this.#agent;
  }

  async open({ workloads, settings }: HealthOptions): Promise<void> {
    this.#world = await createAgentWorld(this.#cluster());
    this.#world.gate.onHeard = ({ target, body }) => {
      if (target === "/v1/sync/reconcile") this.reports.push(JSON.parse(body));
    };
    for (const name of workloads) {
      await this.apply(name);
      await this.ready(name, 2);
    }
    this.startAgent(settings);
  }

  async close(): Promise<void> {
    await this.stopAgent();
    await this.#world?.close();
  }

  startAgent(settings: Readonly<Record<string, string>> = {}): void {
    this.#agents += 1;
    this.#agent = this.world.startAgent(`agent-${this.#agents}`, { ...SHORT, ...settings });
  }

  async stopAgent(): Promise<void> {
    await this.#agent?.stop();
    this.#agent = undefined;
  }

  /** A Deployment of two replicas. */
  async apply(name: string): Promise<void> {
    await this.#cluster().apply([workload(name, { replicas: 2 })]);
  }

  /** So many of its two replicas are ready. */
  async ready(name: string, count: number): Promise<void> {
    const counts = { replicas: 2, updatedReplicas: 2, readyReplicas: count, availableReplicas: count };
    const path = `/apis/apps/v1/namespaces/${SHOP}/deployments/${name}/status`;
    const body = { status: { observedGeneration: 1, ...counts } };
    await this.#cluster().request({ method: "PATCH", path, contentType: "application/merge-patch+json", body });
  }

  /** What the vendor reads, by name. */
  readonly seen = async (): Promise<Readonly<Record<string, string>>> => {
    const { engineer, projectId } = this.world;
    const { resources } = await engineer.resources.list({ query: { project: projectId } }, signal());
    return Object.fromEntries(resources.map(({ name, health, readyCount }) => [name, `${health} ${readyCount}`]));
  };
}

/** One world for the tests of a file. */
export function useHealth(options: HealthOptions): { readonly cluster: () => Cluster; readonly health: HealthWorld } {
  const cluster = useCluster({ holds: INSTALLED });
  const health = new HealthWorld(cluster);
  beforeAll(() => health.open(options));
  afterAll(() => health.close());
  return { cluster, health };
}
