import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Cluster, startCluster } from "../../lab/cluster/cluster.ts";
import { freePort } from "../../lab/cluster/ports.ts";
import { Watchdog } from "../../lab/cluster/watchdog.ts";
import { productProcess } from "../../lab/product-process.ts";
import { startVendor } from "../../lab/story/vendor.ts";
import { type Client as Api, createClient } from "../../src/api-client/client.ts";
import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { DEFAULT_NAMES } from "../../src/crds/group.ts";
import type { Client } from "../../src/kube/client/client.ts";
import { customersRules, install } from "../world/installation.ts";
import { People, SHOP, SYSTEM } from "../world/people.ts";
import type { Environment } from "../world/processes.ts";
import { TestProcess } from "./test-process.ts";

/** The API server's audit log of changes to workloads, with the body of each request. */
const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    {
      level: "Request",
      verbs: ["create", "update", "patch", "delete", "deletecollection"],
      namespaces: [SHOP],
      resources: [
        { group: "apps", resources: ["deployments", "deployments/scale"] },
        { group: "", resources: ["pods"] },
      ],
    },
    { level: "None" },
  ],
} as const;

/** The real programs, each as its own process, so that each can be killed at any time. */
export interface World {
  readonly folder: string;
  readonly cluster: Cluster;
  readonly platformUrl: string;
  readonly deploymentId: string;
  readonly project: string;
  readonly auditLog: string;
  /** The engineer's client, without retries: its callers have a loop (persist.ts). */
  readonly engineer: Api;
  /** The customer's admin: reads for the tests, and makes the workloads. */
  readonly admin: Client;
  readonly approver: Client;
  readonly processes: Readonly<Record<ProcessName, TestProcess>>;
  /** The environment of each kind of process, for tests that run one in their own process. */
  readonly environments: Readonly<Record<"agent" | "operator" | "platform", Environment>>;
  /** Another process of the same kind, with `env` added to its environment. Not started; stopped with the world. */
  another(kind: "agent" | "operator", name: string, env?: Environment): Promise<TestProcess>;
}

export type ProcessName = "agent" | "operator" | "platform" | "apiserver";

export interface WorldOptions {
  readonly folder: string;
  /** Wins over everything else in the environment of each kind of process. */
  readonly env?: Readonly<Partial<Record<"agent" | "operator" | "platform", Environment>>>;
}

/** Each part is on `stack` as soon as it is started. */
export async function startWorld(
  { folder, env = {} }: WorldOptions,
  stack: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<World> {
  await mkdir(join(folder, "logs"), { recursive: true });
  const watchdog = new Watchdog();
  stack.defer(() => watchdog.done());
  const [cluster, vendor] = await Promise.all([startCustomer(folder, stack, signal), seedVendor(folder, signal)]);
  const credentials = {
    agent: await cluster.kubeconfigForServiceAccount(SYSTEM, DEFAULT_NAMES.agentAccount, 86_400, signal),
    operator: await cluster.kubeconfigForServiceAccount(SYSTEM, DEFAULT_NAMES.operatorAccount, 86_400, signal),
  };
  const accepted = `${vendor.deploymentId}=${SHOP}`;
  const own: Readonly<Record<"agent" | "operator" | "platform", Environment>> = {
    platform: {
      SALLYPORT_PLATFORM_DATA: join(folder, "platform"),
      SALLYPORT_PLATFORM_PORT: String(vendor.port),
      SALLYPORT_PLATFORM_RATE_LIMITS: "off",
      ...env.platform,
    },
    agent: {
      SALLYPORT_KUBECONFIG: credentials.agent,
      SALLYPORT_PLATFORM_URL: vendor.url,
      SALLYPORT_RUNTIME_KEY_FILE: vendor.keyFiles.runtime,
      SALLYPORT_NAMESPACES: SHOP,
      SALLYPORT_DEPLOYMENTS: accepted,
      ...env.agent,
    },
    operator: { SALLYPORT_KUBECONFIG: credentials.operator, SALLYPORT_DEPLOYMENTS: accepted, ...env.operator },
  };
  const make = async (kind: keyof typeof own, name: string = kind, more: Environment = {}): Promise<TestProcess> => {
    const port = kind === "platform" ? vendor.port : await freePort();
    const program = productProcess({
      kind,
      name,
      logs: join(folder, "logs"),
      port,
      watchdog,
      env: { ...own[kind], ...more },
    });
    stack.defer(() => program.kill());
    return new TestProcess(name, program, `http://127.0.0.1:${port}`);
  };
  const engineerKey = await readFile(vendor.keyFiles.engineer, "utf8");
  const engineer = createClient({ baseUrl: vendor.url, credential: engineerKey, userAgent: "engineer", retries: 0 });
  stack.defer(() => engineer.close());
  const people = stack.use(new People(cluster));
  return {
    folder,
    cluster,
    platformUrl: vendor.url,
    deploymentId: vendor.deploymentId,
    project: vendor.project,
    auditLog: join(folder, "logs", "audit.log"),
    engineer,
    admin: await people.admin(),
    approver: await people.approver(),
    processes: {
      platform: await make("platform"),
      agent: await make("agent"),
      operator: await make("operator"),
      apiserver: new TestProcess("apiserver", cluster.programs.apiserver),
    },
    environments: own,
    another: make,
  };
}

async function startCustomer(folder: string, stack: AsyncDisposableStack, signal: AbortSignal): Promise<Cluster> {
  const policy = join(folder, "audit-policy.json");
  await writeFile(policy, JSON.stringify(AUDIT_POLICY));
  const cluster = await startCluster(
    {
      dir: join(folder, "cluster"),
      // Blocking: the API server writes the log before it answers, so each answered request is in it.
      apiserverArgs: [
        `--audit-policy-file=${policy}`,
        `--audit-log-path=${join(folder, "logs", "audit.log")}`,
        "--audit-log-mode=blocking",
      ],
    },
    signal,
  );
  stack.defer(() => cluster.stop());
  await install(cluster, { more: customersRules() }, signal);
  return cluster;
}

/** The vendor's keys, project and deployment, made in this process; then the folder is free for the platform's own. */
async function seedVendor(folder: string, signal: AbortSignal) {
  const port = await freePort();
  const vendor = await startVendor(folder, { port, rateLimits: false }, systemClock, silentLogger, signal);
  await vendor.stop();
  return { ...vendor, port };
}
