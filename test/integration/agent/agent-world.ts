import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { runAgent } from "../../../src/agent/agent.ts";
import { loadAgentConfig } from "../../../src/agent/kernel/config.ts";
import type { Render } from "../../../src/agent/releases/render/render-stack.ts";
import { type Client as Api, createClient } from "../../../src/api-client/client.ts";
import { systemClock } from "../../../src/base/clock.ts";
import type { Logger } from "../../../src/base/log.ts";
import type { AccessRequest } from "../../../src/contract/access-requests/access-requests.ts";
import type { Command } from "../../../src/contract/operations/commands.ts";
import { DEFAULT_NAMES, type InstallationNames, objectName } from "../../../src/crds/group.ts";
import { type AccessGrant, type AccessGrantSpec, accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { defaultPolicy } from "../../../src/crds/manifests/default-policy.ts";
import { installation, openNamespace } from "../../../src/crds/manifests/installation.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { connect } from "../../../src/kube/client/connection.ts";
import { loadOperatorConfig } from "../../../src/operator/kernel/config.ts";
import { runOperator } from "../../../src/operator/operator.ts";
import { type RunningPlatform, startPlatform } from "../../../src/platform/server.ts";
import { inMemory } from "../../../src/platform/testing/empty-database.ts";
import { eventually, PATIENT_LEASE, signal } from "../../world/wait.ts";
import { PlatformGate } from "./platform-gate.ts";

export const GRANTS = DEFAULT_NAMES.grantsNamespace;
export const SHOP = "shop";
export const APPROVER = "alice";

export interface Running {
  readonly registry: Registry;
  /** The error with which it ended; undefined while it runs. */
  readonly failure: unknown;
  stop(): Promise<void>;
}

/**
 * Both sides with real programs: a platform with its database, an API server with our installation, agent and operator
 * with their own accounts.
 */
export interface AgentWorld {
  readonly cluster: Cluster;
  readonly platform: RunningPlatform;
  readonly gate: PlatformGate;
  readonly admin: Client;
  readonly engineer: Api;
  readonly vendorAdmin: Api;
  /** Of the engineer, for a command line of its own. */
  readonly engineerKey: string;
  readonly managerId: string;
  readonly projectId: string;
  readonly deploymentId: string;
  readonly runtimeKey: string;
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
  /** Installs Sallyport in the cluster and opens the shop, whose namespace exists. @default from src/crds */
  readonly install?: (deploymentId: string) => Promise<void>;
  /** Runs already; closed with the world. @default one in this process, with its data in memory */
  readonly platform?: RunningPlatform;
}

export async function createAgentWorld(cluster: Cluster, options: WorldOptions = {}): Promise<AgentWorld> {
  const { names = DEFAULT_NAMES } = options;
  const folder = await mkdtemp(join(tmpdir(), "sallyport-agent-test-"));
  const platform =
    options.platform ??
    (await startPlatform({
      database: await inMemory(),
      // In memory there is no folder beside the database: without this one nothing could be uploaded.
      objects: { folder: join(folder, "objects") },
      rateLimits: false,
    }));
  const gate = await PlatformGate.open(platform.url);
  const vendor = await seed(platform);
  const installing = options.install ?? (() => installFromSource(cluster, names));
  const customer = await install(cluster, names, () => installing(vendor.deploymentId));
  const keyFile = join(folder, "key");
  await writeFile(keyFile, `${vendor.runtimeKey}\n`);
  const logged: string[] = [];
  const base = {
    SALLYPORT_HEALTH_HOST: "127.0.0.1",
    SALLYPORT_HEALTH_PORT: "0",
    SALLYPORT_DEPLOYMENTS: `${vendor.deploymentId}=${SHOP}`,
  };
  const agentEnv = {
    ...base,
    SALLYPORT_PLATFORM_URL: gate.url,
    SALLYPORT_RUNTIME_KEY_FILE: keyFile,
    SALLYPORT_NAMESPACES: SHOP,
    SALLYPORT_KUBECONFIG: customer.agentKubeconfig,
    SALLYPORT_RECONNECT_SPREAD: "500ms",
    SALLYPORT_HEARTBEAT_INTERVAL: "2s",
    ...PATIENT_LEASE,
    SALLYPORT_RETRY_PERIOD: "200ms",
  };
  const operatorEnv = { ...base, ...PATIENT_LEASE, SALLYPORT_KUBECONFIG: customer.operatorKubeconfig };
  const key = (requestId: string) => ({ namespace: names.grantsNamespace, name: objectName(requestId) });
  return {
    ...vendor,
    ...customer,
    cluster,
    platform,
    gate,
    keyFile,
    agentEnv,
    logged,
    startAgent: (identity, env = {}, render = undefined) =>
      running((tools, stop) => {
        const config = loadAgentConfig({ ...agentEnv, SALLYPORT_IDENTITY: identity, ...env });
        const more = { version: "test", ...(render && { render }) };
        return runAgent(config, { ...tools, ...more, log: recorder(logged, { identity }) }, stop);
      }),
    startOperator: (env = {}) =>
      running((tools, stop) =>
        runOperator(
          loadOperatorConfig({ ...operatorEnv, ...env }),
          { ...tools, log: recorder(logged, { identity: "operator" }) },
          stop,
        ),
      ),
    decide: (requestId, words) =>
      customer.approver.patch<AccessGrant>(
        accessGrants,
        key(requestId),
        { type: "merge", body: { spec: words } },
        {},
        signal(),
      ),
    grant: (requestId, until) =>
      eventually(() => customer.admin.get<AccessGrant>(accessGrants, key(requestId), signal()), until),
    async ask(replicas) {
      const command = "kubernetes/scale";
      const params = { namespace: SHOP, kind: "deployment", name: "web", replicas };
      const plan = { title: "Scale the shop", commands: [{ command, summary: `to ${replicas}`, params }] };
      const body = { deploymentId: vendor.deploymentId, remediationPlanId: "plan-1", ...plan };
      const { id } = await vendor.engineer.accessRequests.create({ body }, signal());
      return vendor.engineer.accessRequests.queue({ params: { id } }, signal());
    },
    request: (id, until) => eventually(() => vendor.engineer.accessRequests.get({ params: { id } }, signal()), until),
    command: (id, until) =>
      eventually(
        () => vendor.engineer.commands.get({ params: { id }, query: { include: ["payload"] } }, signal()),
        until,
      ),
    async close() {
      await Promise.all([
        vendor.engineer.close(),
        vendor.vendorAdmin.close(),
        ...customer.connections.map((each) => each.close()),
      ]);
      await gate.close();
      await platform.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function seed(platform: RunningPlatform) {
  const { bootstrap, url: baseUrl } = platform;
  const { id: workspaceId } = await bootstrap.workspace("acme");
  const scope = { type: "workspace" } as const;
  const key = async (role: "workspace.admin" | "workspace.member"): Promise<string> =>
    (await bootstrap.key({ workspaceId, role, scope })).key;
  const engineerKey = await key("workspace.member");
  const vendorAdmin = createClient({ baseUrl, credential: await key("workspace.admin") });
  const engineer = createClient({ baseUrl, credential: engineerKey });
  const { id: projectId } = await vendorAdmin.projects.create({ body: { name: "storefront" } }, signal());
  const group = await vendorAdmin.deploymentGroups.create(
    { body: { name: "customer-one", project: projectId } },
    signal(),
  );
  const manager = await bootstrap.manager({ workspaceId, name: "customer-one", deploymentGroupId: group.id });
  const rules = [{ pattern: "kubernetes/get-pods", decision: "auto" as const }];
  await vendorAdmin.operations.putPolicy({ query: { project: projectId }, body: { rules } }, signal());
  const where = { deploymentGroupId: group.id, managerId: manager.id, operatorPermission: "manage" as const };
  const body = { name: "customer-one", platform: "kubernetes" as const, project: projectId, ...where };
  const { deployment } = await vendorAdmin.deployments.create({ body }, signal());
  return {
    engineer,
    vendorAdmin,
    engineerKey,
    managerId: manager.id,
    projectId,
    deploymentId: deployment.id,
    runtimeKey: manager.key,
  };
}

async function installFromSource(cluster: Cluster, names: InstallationNames): Promise<void> {
  const { crds, rbac, policies } = installation(names);
  await cluster.apply([...crds, ...rbac, ...policies, ...openNamespace(SHOP, names)]);
}

async function install(cluster: Cluster, names: InstallationNames, sallyport: () => Promise<void>) {
  const { systemNamespace, grantsNamespace, agentAccount, operatorAccount, roleKind = "ClusterRole" } = names;
  await cluster.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } }]);
  await sallyport();
  await cluster.apply([
    workload("web"),
    defaultPolicy(names, { "read-only": "auto" }),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "approvers", namespace: grantsNamespace },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: roleKind, name: "sallyport-approver" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: APPROVER }],
    },
  ]);
  const agentKubeconfig = await cluster.kubeconfigForServiceAccount(systemNamespace, agentAccount);
  const operatorKubeconfig = await cluster.kubeconfigForServiceAccount(systemNamespace, operatorAccount);
  const admin = await connect({ kubeconfig: cluster.adminKubeconfig });
  const approver = await connect({ kubeconfig: cluster.kubeconfigFor({ user: APPROVER }) });
  const connections = [admin, approver];
  return { agentKubeconfig, operatorKubeconfig, connections, admin: new Client(admin), approver: new Client(approver) };
}

function running(
  run: (
    tools: { readonly clock: typeof systemClock; readonly registry: Registry },
    signal: AbortSignal,
  ) => Promise<void>,
): Running {
  const registry = new Registry();
  const stop = new AbortController();
  let failure: unknown;
  const done = run({ clock: systemClock, registry }, stop.signal).catch((error: unknown) => {
    failure = error;
  });
  return {
    registry,
    get failure() {
      return failure;
    },
    async stop() {
      stop.abort(new Error("test over"));
      await done;
      if (failure !== undefined) throw failure;
    },
  };
}

/**
 * Records everything that is logged, with the errors' causes and contexts; tests search it for what must not be there.
 */
function recorder(lines: string[], bindings: object): Logger {
  const write =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push(
        JSON.stringify({ level, ...bindings, ...fields, message }, (_, value) =>
          value instanceof Error ? { ...value, message: value.message, cause: value.cause, stack: value.stack } : value,
        ),
      );
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (more) => recorder(lines, { ...bindings, ...more }),
  };
}

function workload(name: string): Readonly<Record<string, unknown>> {
  const labels = { app: name };
  const containers = [
    { name: "web", image: "example.com/web:1", env: [{ name: "DB_PASSWORD", value: "canary-7c1f" }] },
  ];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: SHOP, labels },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
}
