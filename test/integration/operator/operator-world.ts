import { inspect } from "node:util";
import { Registry } from "prom-client";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import type { Logger } from "../../../src/base/log.ts";
import { DEFAULT_NAMES, type InstallationNames, objectName } from "../../../src/crds/group.ts";
import { type AccessGrant, type AccessGrantSpec, accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import {
  type OperationInvocation,
  type OperationInvocationSpec,
  operationInvocations,
} from "../../../src/crds/kinds/operation-invocation.ts";
import { defaultPolicy } from "../../../src/crds/manifests/default-policy.ts";
import { installation, openNamespace } from "../../../src/crds/manifests/installation.ts";
import { planHash, type Tier } from "../../../src/crds/plan.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { type Connection, connect } from "../../../src/kube/client/connection.ts";
import { type DynamicObject, resources } from "../../../src/kube/objects/resource.ts";
import { loadOperatorConfig, type OperatorConfig } from "../../../src/operator/kernel/config.ts";
import { runOperator } from "../../../src/operator/operator.ts";
import { eventually, PATIENT_LEASE, signal } from "../../world/wait.ts";

export const GRANTS = "sallyport-grants";
export const SHOP = "shop";
export const DEPLOYMENT_ID = "dpl_shop_1";
export const APPROVER = "alice";

/** Wall time that a test can shift; waiting takes real time. */
class ShiftedClock implements Clock {
  shiftMs = 0;
  monotonicMs(): number {
    return systemClock.monotonicMs();
  }
  wallNow(): Date {
    return new Date(systemClock.wallNow().getTime() + this.shiftMs);
  }
  after(delayMs: number, task: () => void): () => void {
    return systemClock.after(delayMs, task);
  }
}

export interface RunningOperator {
  readonly registry: Registry;
  /** Every log line with its fields. */
  readonly lines: readonly string[];
  readonly clock: ShiftedClock;
  stop(): Promise<void>;
}

/** A real API server with our installation and a customer's workload, and methods that write as each side. */
export class OperatorWorld {
  readonly cluster: Cluster;
  readonly admin: Client;
  readonly agent: Client;
  readonly approver: Client;
  readonly #connections: readonly Connection[];
  readonly operatorKubeconfig: string;
  readonly names: InstallationNames;
  #ids = 0;

  private constructor(
    cluster: Cluster,
    connections: readonly Connection[],
    operatorKubeconfig: string,
    names: InstallationNames,
  ) {
    const [admin, agent, approver] = connections.map((connection) => new Client(connection));
    if (!admin || !agent || !approver) throw new Error("three connections");
    this.cluster = cluster;
    this.admin = admin;
    this.agent = agent;
    this.approver = approver;
    this.#connections = connections;
    this.operatorKubeconfig = operatorKubeconfig;
    this.names = names;
  }

  static async create(cluster: Cluster, names: InstallationNames = DEFAULT_NAMES): Promise<OperatorWorld> {
    const { crds, rbac, policies } = installation(names);
    await cluster.apply([...crds, ...rbac, ...policies]);
    await cluster.apply([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } },
      ...openNamespace(SHOP, names),
      workload("web"),
      approvers(),
      defaultPolicy(names, { "read-only": "auto" }),
    ]);
    const agent = await cluster.kubeconfigForServiceAccount("sallyport-system", "sallyport-agent");
    const operator = await cluster.kubeconfigForServiceAccount("sallyport-system", "sallyport-operator");
    const files = [cluster.adminKubeconfig, agent, cluster.kubeconfigFor({ user: APPROVER })];
    const connections = await Promise.all(files.map((kubeconfig) => connect({ kubeconfig })));
    const world = new OperatorWorld(cluster, connections, operator, names);
    const deployment = { deploymentId: DEPLOYMENT_ID, name: "shop" };
    const made = object("ManagedDeployment", DEPLOYMENT_ID, deployment);
    await world.agent.create(managedDeployments, made, signal());
    const word = { spec: { acceptedNamespaces: [SHOP] } };
    await world.admin.patch(managedDeployments, made.metadata, { type: "merge", body: word }, {}, signal());
    await world.#policiesInForce();
    return world;
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  get config(): OperatorConfig {
    return loadOperatorConfig(this.env);
  }

  get env(): Record<string, string> {
    return {
      SALLYPORT_KUBECONFIG: this.operatorKubeconfig,
      SALLYPORT_HEALTH_HOST: "127.0.0.1",
      SALLYPORT_HEALTH_PORT: "0",
      ...PATIENT_LEASE,
      SALLYPORT_RETRY_PERIOD: "200ms",
      SALLYPORT_ADMISSION_CHECK_INTERVAL: "1s",
      SALLYPORT_SWEEP_INTERVAL: "2s",
      SALLYPORT_LENDING_MODE: this.names.lendingMode ?? "",
    };
  }

  start(identity = "operator-under-test", more: Partial<OperatorConfig> = {}): RunningOperator {
    const registry = new Registry();
    const clock = new ShiftedClock();
    const lines: string[] = [];
    const stop = new AbortController();
    const config = { ...this.config, identity, ...more };
    const done = runOperator(config, { clock, log: recordingLogger(lines), registry }, stop.signal);
    done.catch(() => undefined);
    return {
      registry,
      clock,
      lines,
      async stop() {
        stop.abort(new Error("test over"));
        await done;
      },
    };
  }

  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${this.#ids}`;
  }

  /** Asks as the agent. The plan's hash and risk are correct unless `claims` says otherwise. */
  async ask(
    lines: readonly { readonly command: string; readonly params: Readonly<Record<string, unknown>> }[],
    risk: Tier,
    claims: Partial<AccessGrantSpec> = {},
  ): Promise<AccessGrant> {
    const requestId = claims.requestId ?? this.id("req");
    const plan = { requestId, deploymentId: DEPLOYMENT_ID, risk, commands: lines };
    const spec: AccessGrantSpec = {
      ...plan,
      title: "a test",
      maxMinutes: 60,
      decideBefore: new Date(Date.now() + 3_600_000).toISOString(),
      planHash: planHash(plan),
      planHashVersion: "v1",
      ...claims,
      commands: lines.map((line) => ({ ...line, summary: line.command })),
    };
    return this.agent.create<AccessGrant>(accessGrants, object("AccessGrant", requestId, spec), signal());
  }

  decide(grant: AccessGrant, words: Partial<AccessGrantSpec>): Promise<AccessGrant> {
    const key = { namespace: GRANTS, name: grant.metadata.name };
    return this.approver.patch<AccessGrant>(accessGrants, key, { type: "merge", body: { spec: words } }, {}, signal());
  }

  /** Asks, approves and waits for the window. */
  async approved(
    lines: readonly { readonly command: string; readonly params: Readonly<Record<string, unknown>> }[],
    risk: Tier = "mutating",
  ): Promise<AccessGrant> {
    const grant = await this.ask(lines, risk);
    await this.grant(grant, ({ status }) => status?.state === "Pending");
    await this.decide(grant, { approvedForMinutes: 30 });
    return this.grant(grant, ({ status }) => status?.state === "Approved");
  }

  /** Writes one leased command, as the agent. */
  invoke(
    command: string,
    params: Readonly<Record<string, unknown>>,
    more: Partial<OperationInvocationSpec> = {},
  ): Promise<OperationInvocation> {
    const [plugin = "", operation = ""] = command.split("/");
    const commandId = more.commandId ?? this.id("cmd");
    const spec = {
      commandId,
      deploymentId: DEPLOYMENT_ID,
      plugin,
      operation,
      params,
      attempt: 1,
      tier: "mutating",
      ...more,
    };
    return this.agent.create<OperationInvocation>(
      operationInvocations,
      object("OperationInvocation", commandId, spec as OperationInvocationSpec),
      signal(),
    );
  }

  /** Waits until `until` is true for the grant, and returns it. */
  grant(grant: AccessGrant, until: (grant: AccessGrant) => boolean): Promise<AccessGrant> {
    const key = { namespace: GRANTS, name: grant.metadata.name };
    return eventually(() => this.admin.get<AccessGrant>(accessGrants, key, signal()), until);
  }

  invocation(
    { metadata }: OperationInvocation,
    until: (invocation: OperationInvocation) => boolean,
  ): Promise<OperationInvocation> {
    const key = { namespace: GRANTS, name: metadata.name };
    return eventually(() => this.admin.get<OperationInvocation>(operationInvocations, key, signal()), until);
  }

  ended(invocation: OperationInvocation): Promise<OperationInvocation> {
    return this.invocation(invocation, ({ status }) => !["Pending", "Running", undefined].includes(status?.state));
  }

  async replicas(name = "web"): Promise<number> {
    const scale = await this.admin.getScale(resources.deployments, { namespace: SHOP, name }, signal());
    return scale?.spec.replicas ?? 0;
  }

  /** Reasons of the events about an object. */
  async eventReasons(name: string): Promise<readonly string[]> {
    const reasons: string[] = [];
    const options = { namespace: GRANTS, fieldSelector: `regarding.name=${name}` };
    for await (const event of this.admin.list<DynamicObject>(resources.events, options, signal())) {
      reasons.push(String(event.reason));
    }
    return reasons;
  }

  /** The API server enforces a new policy 0.5 to 3 s later; stamping and refusing policies separately. */
  async #policiesInForce(): Promise<void> {
    let probe = await this.ask([scaleTo(1)], "mutating");
    const decided = async (): Promise<string | undefined> => {
      const { spec } = await this.decide(probe, { deniedReason: "a probe" }).catch(() => this.grant(probe, () => true));
      // Decided before the API server loaded the stamping policies: it never gets a name.
      if (spec.deniedReason !== undefined && spec.decidedBy === undefined) {
        probe = await this.ask([scaleTo(1)], "mutating");
      }
      return spec.decidedBy;
    };
    await eventually(decided, (decidedBy) => decidedBy === APPROVER);
    await eventually(
      () => this.#wordsOfRefusal(),
      (words) => words.includes("lent to exactly one ServiceAccount"),
    );
  }

  /** kubectl's message for a binding that the policies refuse even to an admin. */
  async #wordsOfRefusal(): Promise<string> {
    const binding = [
      "rolebinding",
      "probe",
      "-n",
      SHOP,
      "--user=probe",
      "--clusterrole=sallyport-op-kubernetes-get-pods",
    ];
    return (await this.cluster.kubectl(["create", ...binding, "--dry-run=server"])).stderr;
  }
}

function recordingLogger(lines: string[]): Logger {
  const write = (fields: object, message: string): void =>
    void lines.push(`${message} ${inspect(fields, { depth: 8 })}`);
  return { debug: write, info: write, warn: write, error: write, child: () => recordingLogger(lines) };
}

export function scaleTo(
  replicas: number,
  name = "web",
): { readonly command: string; readonly params: Readonly<Record<string, unknown>> } {
  return { command: "kubernetes/scale", params: { namespace: SHOP, kind: "deployment", name, replicas } };
}

export function condition(
  object: {
    readonly status?: {
      readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
    };
  },
  type: string,
): string {
  const found = object.status?.conditions?.find((each) => each.type === type);
  return `${found?.status}/${found?.reason}`;
}

export async function metric(registry: Registry, line: string): Promise<number> {
  const text = await registry.metrics();
  const found = text.split("\n").find((each) => each.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1));
}

// biome-ignore lint/suspicious/noExplicitAny: test data, checked by the API server.
function object(kind: string, id: string, spec: object): any {
  return { apiVersion: "sallyport.dev/v1alpha1", kind, metadata: { name: objectName(id), namespace: GRANTS }, spec };
}

function workload(name: string): Readonly<Record<string, unknown>> {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: SHOP },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            { name: "web", image: "example.com/web:1", env: [{ name: "DB_PASSWORD", value: "canary-7c1f" }] },
          ],
        },
      },
    },
  };
}

function approvers(): Readonly<Record<string, unknown>> {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "approvers", namespace: GRANTS },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "sallyport-approver" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: APPROVER }],
  };
}
