import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { DEFAULT_NAMES, type InstallationNames } from "../../../src/crds/group.ts";
import { type AccessGrant, type AccessGrantSpec, accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import {
  type OperationInvocation,
  type OperationInvocationSpec,
  operationInvocations,
} from "../../../src/crds/kinds/operation-invocation.ts";
import { planHash, type Tier } from "../../../src/crds/plan.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import type { OperatorConfig } from "../../../src/operator/kernel/config.ts";
import { ShiftedClock } from "../../world/clock.ts";
import { customersRules, install, workload } from "../../world/installation.ts";
import { accept, eventReasons, ours } from "../../world/objects.ts";
import { APPROVER, GRANTS, People, SHOP, SYSTEM } from "../../world/people.ts";
import { type Running, recorder, startOperator } from "../../world/processes.ts";
import { eventually, PATIENT_LEASE, signal } from "../../world/wait.ts";

export const DEPLOYMENT_ID = "dpl_shop_1";

export interface RunningOperator extends Running {
  /** Every log line with its fields. */
  readonly lines: readonly string[];
  readonly clock: ShiftedClock;
}

/** A real API server with our installation and a customer's workload, and methods that write as each side. */
export class OperatorWorld {
  readonly cluster: Cluster;
  readonly admin: Client;
  readonly agent: Client;
  readonly approver: Client;
  readonly operatorKubeconfig: string;
  readonly names: InstallationNames;
  readonly #people: People;
  #ids = 0;

  private constructor(
    cluster: Cluster,
    people: People,
    [admin, agent, approver]: readonly [admin: Client, agent: Client, approver: Client],
    operatorKubeconfig: string,
    names: InstallationNames,
  ) {
    this.cluster = cluster;
    this.admin = admin;
    this.agent = agent;
    this.approver = approver;
    this.#people = people;
    this.operatorKubeconfig = operatorKubeconfig;
    this.names = names;
  }

  static async create(cluster: Cluster, names: InstallationNames = DEFAULT_NAMES): Promise<OperatorWorld> {
    await install(cluster, { names });
    await cluster.apply([workload("web"), ...customersRules(names)]);
    const people = new People(cluster);
    const clients = [await people.admin(), await people.account(names.agentAccount), await people.approver()] as const;
    const operator = await cluster.kubeconfigForServiceAccount(SYSTEM, names.operatorAccount);
    const world = new OperatorWorld(cluster, people, clients, operator, names);
    const made = ours("ManagedDeployment", DEPLOYMENT_ID, { deploymentId: DEPLOYMENT_ID, name: "shop" });
    await world.agent.create(managedDeployments, made, signal());
    await accept(world.admin, DEPLOYMENT_ID, SHOP);
    await world.#policiesInForce();
    return world;
  }

  close(): Promise<void> {
    return this.#people.close();
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
    const clock = new ShiftedClock();
    const lines: string[] = [];
    const running = startOperator(this.env, { clock, log: recorder(lines) }, { identity, ...more });
    return Object.assign(running, { clock, lines });
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
    return this.agent.create<AccessGrant>(accessGrants, ours("AccessGrant", requestId, spec), signal());
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
      ours("OperationInvocation", commandId, spec as OperationInvocationSpec),
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

  eventReasons(name: string): Promise<readonly string[]> {
    return eventReasons(this.admin, name);
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

export function scaleTo(
  replicas: number,
  name = "web",
): { readonly command: string; readonly params: Readonly<Record<string, unknown>> } {
  return { command: "kubernetes/scale", params: { namespace: SHOP, kind: "deployment", name, replicas } };
}
