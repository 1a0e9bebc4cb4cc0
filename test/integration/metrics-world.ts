import { mkdir } from "node:fs/promises";
import { join as path } from "node:path";
import { freePort } from "../../lab/cluster/ports.ts";
import { Watchdog } from "../../lab/cluster/watchdog.ts";
import { productProcess } from "../../lab/product-process.ts";
import { objectName } from "../../src/crds/group.ts";
import { type AccessGrant, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { openDebugSessions, openMachines, openNamespaceToDebug } from "../../src/crds/manifests/installation.ts";
import { resources } from "../../src/kube/objects/resource.ts";
import { TestProcess } from "../faults/test-process.ts";
import { startWorld, type World } from "../faults/world.ts";
import { workload } from "../world/installation.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { askToScale } from "../world/platform.ts";
import { eventually, signal } from "../world/wait.ts";
import { PrometheusServer, type Target } from "./prometheus-server.ts";

const ROOT = path(import.meta.dirname, "../..");
export const RULE_FILES = [
  path(ROOT, "deploy/helm/sallyport/files/alerts.yaml"),
  path(ROOT, "deploy/monitoring/platform-alerts.yaml"),
];
const WORKLOAD = "web";
/** The customer's Prometheus has the label; the vendor's, which sees one cluster, has none. */
const CLUSTER = "east";

/** Two operators and one of each other process of the product; and a Prometheus that scrapes all of them. */
export interface MetricsWorld {
  readonly world: World;
  readonly processes: readonly TestProcess[];
  readonly targets: readonly Target[];
  readonly prometheus: PrometheusServer;
  /** A request to scale the shop, queued and not decided. */
  ask(replicas: number): Promise<string>;
  approve(id: string): Promise<void>;
  deny(id: string): Promise<void>;
}

export async function startMetricsWorld(
  folder: string,
  stack: AsyncDisposableStack,
  stop: AbortSignal,
  {
    ruleFiles = RULE_FILES,
    more = [],
  }: { readonly ruleFiles?: readonly string[]; readonly more?: readonly string[] } = {},
): Promise<MetricsWorld> {
  const metricsPort = await freePort();
  const env = {
    platform: { SALLYPORT_PLATFORM_METRICS_PORT: String(metricsPort) },
    agent: { SALLYPORT_HEARTBEAT_INTERVAL: "2s", SALLYPORT_AGENT_DEBUG_MODES: "logs" },
    operator: {
      SALLYPORT_SWEEP_INTERVAL: "2s",
      SALLYPORT_ADMISSION_CHECK_INTERVAL: "1s",
      SALLYPORT_OPERATOR_DEBUG_ENABLED: "true",
      SALLYPORT_OPERATOR_DEBUG_MODES: "logs",
    },
  };
  const world = await startWorld({ folder, env }, stack, stop);
  const second = await world.another("operator", "operator-b");
  const { agent, operator, platform } = world.processes;
  await world.cluster.apply([...openDebugSessions(), ...openNamespaceToDebug(SHOP), ...openMachines()]);
  const [tunnel, join, machines] = await makeOthers(world, stack);
  const processes = [platform, agent, operator, second, tunnel, join, machines];
  await world.admin.create(resources.deployments, workload(WORKLOAD), signal());
  for (const each of processes) each.start(stop);
  await Promise.all(processes.map((each) => each.kept(signal())));
  const target = (job: string, scraped: TestProcess): Target => ({
    job,
    cluster: CLUSTER,
    namespace: SYSTEM,
    pod: `${scraped.name}-0`,
    url: scraped.healthUrl ?? "",
  });
  const targets = [
    target("sallyport-agent", agent),
    target("sallyport-operator", operator),
    target("sallyport-operator", second),
    target("sallyport-tunnel", tunnel),
    target("sallyport-join", join),
    target("sallyport-machines", machines),
    {
      job: "sallyport-platform",
      namespace: "vendor",
      pod: "platform-0",
      url: `http://127.0.0.1:${metricsPort}`,
    },
  ];
  const at = { folder: path(folder, "prometheus"), targets, ruleFiles, more };
  const prometheus = await PrometheusServer.start(at, stack, stop);
  // For Prometheus, growth before the first scrape does not count.
  await eventually(
    () => prometheus.query("up == 1"),
    (up) => up.length === targets.length,
  );
  const key = (id: string) => ({ namespace: GRANTS, name: objectName(id) });
  const decide = async (id: string, spec: object): Promise<void> => {
    await eventually(
      () => world.admin.get<AccessGrant>(accessGrants, key(id), signal()),
      ({ status }) => status?.state === "Pending",
    );
    await world.approver.patch(accessGrants, key(id), { type: "merge", body: { spec } }, {}, signal());
  };
  return {
    world,
    processes,
    targets,
    prometheus,
    ask: async (replicas) => (await askToScale(world, replicas, WORKLOAD)).id,
    async approve(id) {
      await decide(id, { approvedForMinutes: 5 });
      await eventually(
        () => world.engineer.accessRequests.get({ params: { id } }, signal()),
        ({ execution }) => execution.state === "succeeded",
      );
    },
    deny: (id) => decide(id, { deniedReason: "not now" }),
  };
}

/** Of those that are off by default. */
async function makeOthers(
  world: World,
  stack: AsyncDisposableStack,
): Promise<readonly [tunnel: TestProcess, join: TestProcess, machines: TestProcess]> {
  const { folder, cluster, environments } = world;
  const { SALLYPORT_PLATFORM_URL = "", SALLYPORT_RUNTIME_KEY_FILE = "" } = environments.agent;
  const outward = { SALLYPORT_PLATFORM_URL, SALLYPORT_RUNTIME_KEY_FILE };
  const spool = path(folder, "spool");
  await mkdir(spool);
  const make = async (
    kind: "tunnel" | "join" | "machine-controller",
    name: string,
    env: Readonly<Record<string, string>>,
  ): Promise<TestProcess> => {
    const watchdog = new Watchdog();
    stack.defer(() => watchdog.done());
    const port = await freePort();
    const SALLYPORT_KUBECONFIG = await cluster.kubeconfigForServiceAccount(SYSTEM, `sallyport-${name}`);
    const own = { SALLYPORT_KUBECONFIG, ...env };
    const program = productProcess({ kind, logs: path(folder, "logs"), port, watchdog, env: own });
    stack.defer(() => program.kill());
    return new TestProcess(name, program, `http://127.0.0.1:${port}`);
  };
  const joinPort = String(await freePort());
  return [
    await make("tunnel", "tunnel", { ...outward, SALLYPORT_TUNNEL_SPOOL_FOLDER: spool }),
    await make("join", "join", {
      ...outward,
      SALLYPORT_JOIN_HOST: "127.0.0.1",
      SALLYPORT_JOIN_PORT: joinPort,
      SALLYPORT_JOIN_URL: `https://127.0.0.1:${joinPort}`,
      SALLYPORT_JOIN_CA_FILE: cluster.caFile,
    }),
    await make("machine-controller", "machines", {}),
  ];
}
