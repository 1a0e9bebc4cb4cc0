import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { createClient } from "../../../src/api-client/client.ts";
import type { Deployment } from "../../../src/contract/deployments/deployment.ts";
import type { DeploymentStatus } from "../../../src/contract/deployments/deployment-state.ts";
import type { KubernetesStack } from "../../../src/contract/deployments/stack.ts";
import type { Manifest } from "../../../src/contract/stacks/manifests-config.ts";
import { objectName } from "../../../src/crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { type Rollout, type RolloutSpec, rollouts } from "../../../src/crds/kinds/rollout.ts";
import { openMachines, openNamespaceToReleases, openReleases } from "../../../src/crds/manifests/installation.ts";
import { accept, ours } from "../../world/objects.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";

const RELEASES_ON = { SALLYPORT_RELEASES_ENABLED: "true" };

type Resources = KubernetesStack["resources"];

const resource = (config: Resources[string]["config"]): Resources => ({
  [config.id]: { config, dependencies: [], lifecycle: "live" },
});

/** A resource of a stack that runs one pod. */
export function container(id: string, cpu: string): Resources {
  return resource({ id, type: "container", image: `registry.example.com/${id}:1`, cpu });
}

export function manifests(id: string, object: Manifest & { readonly [field: string]: unknown }): Resources {
  return resource({ id, type: "manifests", objects: [object] });
}

/** No cluster makes it. */
export function postgres(id: string): Resources {
  return resource({ id, type: "postgres" });
}

/** Of the setup: no release deletes it. */
export function frozen(resources: Resources): Resources {
  return Object.fromEntries(Object.entries(resources).map(([id, each]) => [id, { ...each, lifecycle: "frozen" }]));
}

/** Platform, agent and operator with a cluster in which releases are on, and what the vendor and the customer do there. */
export class StatusesWorld {
  readonly #world: AgentWorld;
  readonly #cluster: Cluster;
  readonly #manager: ReturnType<typeof createClient>;
  readonly #agent: Running;
  #operator: Running;
  #isAgentThere = true;

  private constructor(world: AgentWorld) {
    this.#world = world;
    this.#cluster = world.cluster;
    this.#manager = createClient({ baseUrl: world.platform.url, credential: world.runtimeKey });
    this.#operator = world.startOperator(RELEASES_ON);
    this.#agent = world.startAgent("agent", { ...RELEASES_ON, SALLYPORT_AGENT_MACHINES: "true" });
  }

  static async open(cluster: Cluster): Promise<StatusesWorld> {
    // The agent alone has to do with machines here: it sees pools and nodes.
    const machines = openMachines().filter(({ kind }) => !kind.includes("Policy"));
    const more = [...openReleases(), ...openNamespaceToReleases(SHOP), ...machines];
    const world = await createAgentWorld(cluster, { more });
    const { vendorAdmin, projectId: project } = world;
    // A project's first release goes to production, which other deployments follow: this one has nothing to install.
    await vendorAdmin.releases.create({ body: { project } }, signal());
    return new StatusesWorld(world);
  }

  async close(): Promise<void> {
    await this.agentEnds();
    await this.#operator.stop();
    await this.#manager.close();
    await this.#world.close();
  }

  async agentEnds(): Promise<void> {
    if (this.#isAgentThere) await this.#agent.stop();
    this.#isAgentThere = false;
  }

  /** A deployment that the customer accepted from the start, without a release. */
  get observed(): string {
    return this.#world.deploymentId;
  }

  /** @returns the release's id */
  async releases(version: string, resources: Resources): Promise<string> {
    const stack = { kubernetes: { id: "shop", resources } };
    const body = { project: this.#world.projectId, version, stack };
    return (await this.#world.vendorAdmin.releases.create({ body }, signal())).id;
  }

  async deploys(name: string, pinnedReleaseId: string): Promise<string> {
    const { vendorAdmin, managerId, groupId, projectId: project } = this.#world;
    const where = { project, deploymentGroupId: groupId, managerId, operatorPermission: "manage" as const };
    const body = { name, platform: "kubernetes" as const, ...where, pinnedReleaseId };
    return (await vendorAdmin.deployments.create({ body }, signal())).deployment.id;
  }

  async pins(id: string, releaseId: string): Promise<void> {
    await this.#world.vendorAdmin.deployments.pinRelease({ params: { id }, body: { releaseId } }, signal());
  }

  async retries(id: string): Promise<void> {
    await this.#world.vendorAdmin.deployments.retry({ params: { id } }, signal());
  }

  async removes(id: string): Promise<void> {
    await this.#world.vendorAdmin.deployments.delete({ params: { id }, body: { action: "cleanup" } }, signal());
  }

  /** What the platform answers. @param code of the error; undefined: there is none */
  sees(id: string, status: DeploymentStatus, code?: string): Promise<Deployment> {
    return eventually(
      () => this.#world.vendorAdmin.deployments.get({ params: { id } }, signal()),
      (found) => found.status === status && found.error?.code === code,
    );
  }

  /** The agent shows it in the cluster, and has told the platform that it waits for the customer. */
  async isShown(id: string): Promise<void> {
    await eventually(
      () => this.#managed(id),
      (found) => found.status?.state === "Waiting",
    );
    await eventually(
      () => this.#world.vendorAdmin.deployments.get({ params: { id } }, signal()),
      ({ capabilities }) => capabilities?.some(({ state }) => state === "denied") === true,
    );
  }

  async accepts(id: string): Promise<void> {
    await accept(this.#world.admin, id, SHOP);
  }

  /** The one rollout of the deployment that goes on, once it is in one of these states. */
  async #open(id: string, ...states: readonly string[]): Promise<Rollout> {
    const open = async (): Promise<Rollout | undefined> => {
      for await (const each of this.#world.admin.list<Rollout>(rollouts, { namespace: GRANTS }, signal())) {
        if (each.spec.deploymentId === id && each.status?.finishedAt === undefined) return each;
      }
      return undefined;
    };
    return eventually(open, ({ status }) => states.includes(status?.state ?? ""));
  }

  /** The states of all rollouts of the deployment, once none of them goes on, sorted. */
  async endedAs(id: string): Promise<readonly string[]> {
    const all = async (): Promise<readonly Rollout[]> => {
      const found: Rollout[] = [];
      for await (const each of this.#world.admin.list<Rollout>(rollouts, { namespace: GRANTS }, signal())) {
        if (each.spec.deploymentId === id) found.push(each);
      }
      return found;
    };
    const isOver = ({ status }: Rollout): boolean => status?.finishedAt !== undefined;
    return (await eventually(all, (found) => found.every(isOver))).map(({ status }) => status?.state ?? "").sort();
  }

  async #says({ metadata }: Rollout, spec: Partial<RolloutSpec>): Promise<void> {
    const key = { namespace: GRANTS, name: metadata.name };
    await this.#world.admin.patch(rollouts, key, { type: "merge", body: { spec } }, {}, signal());
  }

  async approves(id: string): Promise<void> {
    const rollout = await this.#open(id, "AwaitingApproval");
    const { plannedDigest } = rollout.status ?? {};
    if (plannedDigest === undefined) throw new Error("the plan has no digest");
    await this.#says(rollout, { approvedDigest: plannedDigest });
  }

  async denies(id: string): Promise<void> {
    await this.#says(await this.#open(id, "AwaitingApproval"), { deniedReason: "not this week" });
  }

  async aborts(id: string): Promise<void> {
    await this.#says(await this.#open(id, "Applying", "Gating"), { abortReason: "peak hours" });
  }

  /** The operator says on the rollout that a pod fits on no node, and why. */
  async awaitsNodes(id: string): Promise<void> {
    await eventually(
      () => this.#open(id, "Gating"),
      ({ status }) =>
        status?.conditions?.some(
          ({ reason, message }) => reason === "AwaitingNodes" && message.includes("Insufficient cpu"),
        ) === true,
    );
  }

  async letsMachinesJoin(deploymentId: string): Promise<void> {
    await this.#cluster.apply([ours("MachinePool", "workers", { deploymentId })]);
  }

  async letsNoMachineJoin(): Promise<void> {
    await this.#cluster.kubectl(["delete", "machinepool", "workers", "-n", GRANTS]);
  }

  /** A simulated node, as the kubelet of a machine registers one. */
  async machineComes(name: string, cpu: string): Promise<void> {
    const amounts = { cpu, memory: "64Gi", pods: "110" };
    const labels = { type: "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" };
    const status = { allocatable: amounts, capacity: amounts };
    const body = { apiVersion: "v1", kind: "Node", metadata: { name, labels }, status };
    const answer = await this.#cluster.request({ method: "POST", path: "/api/v1/nodes", body });
    if (answer.status !== 201) throw new Error(`${name} was not created: ${JSON.stringify(answer.body)}`);
  }

  async deletes(kind: string, name: string): Promise<void> {
    await this.#cluster.kubectl(["delete", kind, name, "-n", SHOP]);
  }

  /** Another operator takes over, and looks at what is installed, as the same one does each ten minutes. */
  async operatorChanges(): Promise<void> {
    await this.#operator.stop();
    this.#operator = this.#world.startOperator(RELEASES_ON);
  }

  /** As a manager of the deployment, with its key. */
  async reports(deploymentId: string, status: DeploymentStatus, code: string): Promise<void> {
    const error = { code, message: "for this test", internal: false };
    const state = { status, platform: "kubernetes" as const, protocolVersion: 1, error };
    await this.#manager.sync.reconcile({ body: { deploymentId, state } }, signal());
  }

  #managed(id: string): Promise<ManagedDeployment | undefined> {
    return this.#world.admin.get<ManagedDeployment>(
      managedDeployments,
      { namespace: GRANTS, name: objectName(id) },
      signal(),
    );
  }
}
