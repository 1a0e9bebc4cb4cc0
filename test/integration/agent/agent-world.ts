import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import type { Render } from "../../../src/agent/releases/render/render-stack.ts";
import type { AccessRequest } from "../../../src/contract/access-requests/access-requests.ts";
import type { Command } from "../../../src/contract/operations/commands.ts";
import { DEFAULT_NAMES, type InstallationNames, objectName } from "../../../src/crds/group.ts";
import { type AccessGrant, type AccessGrantSpec, accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import type { Manifest } from "../../../src/crds/manifest.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import type { RunningPlatform } from "../../../src/platform/server.ts";
import { customersRules, install, namespace, workload } from "../../world/installation.ts";
import { People, SHOP } from "../../world/people.ts";
import { askToScale, newVendor, startPlatformInMemory, type Vendor } from "../../world/platform.ts";
import { type Running, recorder, startAgent, startOperator } from "../../world/processes.ts";
import { eventually, PATIENT_LEASE, signal } from "../../world/wait.ts";
import { PlatformGate } from "./platform-gate.ts";

/**
 * Both sides with real programs: a platform with its database, an API server with our installation, agent and operator
 * with their own accounts.
 */
export interface AgentWorld extends Vendor {
  readonly cluster: Cluster;
  readonly platform: RunningPlatform;
  readonly gate: PlatformGate;
  readonly admin: Client;
  readonly keyFile: string;
  /** The environment that {@link startAgent} uses, for an agent in its own process. */
  readonly agentEnv: Readonly<Record<string, string>>;
  /** Every line that any agent or operator logged, as JSON. */
  readonly logged: string[];
  startAgent(identity: string, env?: Readonly<Record<string, string>>, render?: Render): Running;
  startOperator(env?: Readonly<Record<string, string>>): Running;
  /** Decides as the customer's approver, by writing these fields of the spec. */
  decide(requestId: string, words: Partial<AccessGrantSpec>): Promise<AccessGrant>;
  grant(requestId: string, until: (grant: AccessGrant) => boolean): Promise<AccessGrant>;
  /** Queues a request to scale the shop, as the engineer. */
  ask(replicas: number): Promise<AccessRequest>;
  request(id: string, until: (request: AccessRequest) => boolean): Promise<AccessRequest>;
  command(id: string, until: (command: Command) => boolean): Promise<Command>;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** @default the names of src/crds */
  readonly names?: InstallationNames;
  /** Switched on in the cluster. @default nothing */
  readonly more?: readonly Manifest[];
  /** Installs Sallyport in the cluster and opens the shop, whose namespace exists. @default from src/crds, with `more` */
  readonly install?: (deploymentId: string) => Promise<void>;
  /** Runs already; closed with the world. @default one in this process, with its data in memory */
  readonly platform?: RunningPlatform;
}

export async function createAgentWorld(cluster: Cluster, options: WorldOptions = {}): Promise<AgentWorld> {
  const { names = DEFAULT_NAMES } = options;
  const folder = await mkdtemp(join(tmpdir(), "sallyport-agent-test-"));
  const platform = options.platform ?? (await startPlatformInMemory(folder));
  const gate = await PlatformGate.open(platform.url);
  const vendor = await newVendor(platform);
  if (options.install === undefined) await install(cluster, { names, more: options.more ?? [] });
  else {
    await cluster.apply([namespace(SHOP)]);
    await options.install(vendor.deploymentId);
  }
  await cluster.apply([workload("web"), ...customersRules(names)]);
  const people = new People(cluster);
  const [admin, approver] = [await people.admin(), await people.approver()];
  const kubeconfigOf = (account: string) => cluster.kubeconfigForServiceAccount(names.systemNamespace, account);
  const keyFile = join(folder, "key");
  await writeFile(keyFile, `${vendor.runtimeKey}\n`);
  const logged: string[] = [];
  const accepted = { SALLYPORT_DEPLOYMENTS: `${vendor.deploymentId}=${SHOP}` };
  const agentEnv = {
    ...accepted,
    SALLYPORT_HEALTH_HOST: "127.0.0.1",
    SALLYPORT_HEALTH_PORT: "0",
    SALLYPORT_PLATFORM_URL: gate.url,
    SALLYPORT_RUNTIME_KEY_FILE: keyFile,
    SALLYPORT_NAMESPACES: SHOP,
    SALLYPORT_KUBECONFIG: await kubeconfigOf(names.agentAccount),
    SALLYPORT_RECONNECT_SPREAD: "500ms",
    SALLYPORT_HEARTBEAT_INTERVAL: "2s",
    ...PATIENT_LEASE,
    SALLYPORT_RETRY_PERIOD: "200ms",
  };
  const operatorEnv = { ...accepted, SALLYPORT_KUBECONFIG: await kubeconfigOf(names.operatorAccount) };
  const key = (requestId: string) => ({ namespace: names.grantsNamespace, name: objectName(requestId) });
  return {
    ...vendor,
    ...{ cluster, platform, gate, admin, keyFile, agentEnv, logged },
    startAgent(identity, env = {}, render = undefined) {
      const tools = { version: "test", log: recorder(logged, { identity }), ...(render && { render }) };
      return startAgent({ ...agentEnv, SALLYPORT_IDENTITY: identity, ...env }, tools);
    },
    startOperator: (env = {}) =>
      startOperator({ ...operatorEnv, ...env }, { log: recorder(logged, { identity: "operator" }) }),
    decide: (requestId, words) =>
      approver.patch<AccessGrant>(accessGrants, key(requestId), { type: "merge", body: { spec: words } }, {}, signal()),
    grant: (requestId, until) =>
      eventually(() => admin.get<AccessGrant>(accessGrants, key(requestId), signal()), until),
    ask: (replicas) => askToScale(vendor, replicas),
    request: (id, until) => eventually(() => vendor.engineer.accessRequests.get({ params: { id } }, signal()), until),
    command: (id, until) =>
      eventually(
        () => vendor.engineer.commands.get({ params: { id }, query: { include: ["payload"] } }, signal()),
        until,
      ),
    async close() {
      await Promise.all([vendor.engineer.close(), vendor.vendorAdmin.close(), people.close()]);
      await gate.close();
      await platform.close();
      await rm(folder, { recursive: true });
    },
  };
}
