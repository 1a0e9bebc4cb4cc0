import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { DEFAULT_NAMES, MACHINES_ACCOUNT } from "../../../src/crds/group.ts";
import { type MachineDrain, machineDrains } from "../../../src/crds/kinds/machine-drain.ts";
import { openMachines } from "../../../src/crds/manifests/installation.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { INSTALLED, namespace } from "../../world/installation.ts";
import { eventReasons, ours } from "../../world/objects.ts";
import { GRANTS, People, SHOP, SYSTEM } from "../../world/people.ts";
import { type Environment, type Running, startMachineController } from "../../world/processes.ts";
import { eventually, PATIENT_LEASE, signal } from "../../world/wait.ts";

/** All that a customer can add. */
const RIGHTS = { allowForce: true, signServing: true };

export interface NodeObject extends KubeObject {
  readonly spec: { readonly unschedulable?: boolean };
}
export interface PodObject extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** A real API server with controllers and simulated nodes, where machines are switched on. */
export class DrainWorld {
  readonly cluster: Cluster;
  readonly admin: Client;
  readonly agent: Client;
  readonly operator: Client;
  readonly machines: Client;
  readonly kubeconfig: string;
  readonly #people: People;
  #names = 0;

  private constructor(
    cluster: Cluster,
    kubeconfig: string,
    people: People,
    [admin, agent, operator, machines]: readonly [admin: Client, agent: Client, operator: Client, machines: Client],
  ) {
    this.cluster = cluster;
    this.kubeconfig = kubeconfig;
    this.#people = people;
    this.admin = admin;
    this.agent = agent;
    this.operator = operator;
    this.machines = machines;
  }

  static async create(cluster: Cluster): Promise<DrainWorld> {
    await cluster.apply([...INSTALLED, ...openMachines(DEFAULT_NAMES, RIGHTS), namespace(SHOP)]);
    const people = new People(cluster);
    const kubeconfig = await cluster.kubeconfigForServiceAccount(SYSTEM, MACHINES_ACCOUNT);
    return new DrainWorld(cluster, kubeconfig, people, [
      await people.admin(),
      await people.account(DEFAULT_NAMES.agentAccount),
      await people.account(DEFAULT_NAMES.operatorAccount),
      await people.with(kubeconfig),
    ]);
  }

  close(): Promise<void> {
    return this.#people.close();
  }

  get env(): Record<string, string> {
    return {
      SALLYPORT_KUBECONFIG: this.kubeconfig,
      SALLYPORT_HEALTH_HOST: "127.0.0.1",
      ...PATIENT_LEASE,
      SALLYPORT_RETRY_PERIOD: "200ms",
      SALLYPORT_MACHINES_SWEEP_INTERVAL: "2s",
      SALLYPORT_MACHINES_POLICY_CHECK_INTERVAL: "1s",
    };
  }

  /** The controller in this process. */
  start(env: Environment = {}): Running {
    return startMachineController({ ...this.env, SALLYPORT_IDENTITY: "machines-under-test", ...env });
  }

  /** A Deployment whose pods are all on `node`, and ready; they may be made again elsewhere. */
  async workload(name: string, node: string, replicas: number, more: object = {}, namespace = SHOP): Promise<void> {
    const labels = { app: name };
    const others = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] };
    const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: others }] };
    const spec = {
      containers: [{ name: "main", image: "none" }],
      affinity: { nodeAffinity },
      // In place of the scheduler's own spread over nodes, which outweighs the affinity once a hundred pods are on one.
      topologySpreadConstraints: [
        {
          ...{ maxSkew: 1, topologyKey: "kubernetes.io/os", whenUnsatisfiable: "ScheduleAnyway" },
          labelSelector: { matchLabels: labels },
        },
      ],
      terminationGracePeriodSeconds: 1,
      ...more,
    };
    await this.cluster.apply([
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, namespace },
        spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      },
    ]);
    await eventually(
      () => this.pods(name, namespace),
      (pods) => pods.filter(isReady).length === replicas && pods.every(({ spec: { nodeName } }) => nodeName === node),
    );
  }

  async budget(name: string, app: string, spec: object): Promise<void> {
    await this.cluster.apply([
      {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name, namespace: SHOP },
        spec: { selector: { matchLabels: { app } }, ...spec },
      },
    ]);
    interface Seen extends KubeObject {
      readonly status?: { readonly observedGeneration?: number };
    }
    const key = { namespace: SHOP, name };
    await eventually(
      () => this.admin.get<Seen>(resources.podDisruptionBudgets, key, signal()),
      ({ metadata, status }) => status?.observedGeneration === metadata.generation,
    );
  }

  /** Their containers are not ready any more, as when they crash again and again. */
  async unready(app: string): Promise<void> {
    const conditions = ["Ready", "ContainersReady"].map((type) => ({ type, status: "False" }));
    const patch = { type: "merge", body: { status: { conditions } } } as const;
    for (const { metadata } of await this.pods(app)) {
      const key = { namespace: SHOP, name: metadata.name };
      await this.admin.patch(resources.pods, key, patch, { subresource: "status" }, signal());
    }
  }

  async pods(app: string, namespace = SHOP): Promise<readonly PodObject[]> {
    const found: PodObject[] = [];
    const options = { namespace, labelSelector: `app=${app}` };
    for await (const pod of this.admin.list<PodObject>(resources.pods, options, signal())) found.push(pod);
    return found;
  }

  async node(name: string): Promise<NodeObject | undefined> {
    return this.admin.get<NodeObject>(resources.nodes, { name }, signal());
  }

  async cordon(name: string, unschedulable: boolean | null): Promise<void> {
    await this.admin.patch(
      resources.nodes,
      { name },
      { type: "merge", body: { spec: { unschedulable } } },
      {},
      signal(),
    );
  }

  /** As a person, or as the agent where it is a wish of the platform. */
  async drain(spec: Partial<MachineDrain["spec"]> & { readonly nodeName: string }): Promise<MachineDrain> {
    this.#names += 1;
    const client = spec.requested === undefined ? this.admin : this.agent;
    return client.create<MachineDrain>(machineDrains, ours("MachineDrain", `drain-${this.#names}`, spec), signal());
  }

  until({ metadata }: MachineDrain, is: (drain: MachineDrain) => boolean, limitMs?: number): Promise<MachineDrain> {
    const key = { namespace: GRANTS, name: metadata.name };
    return eventually(() => this.admin.get<MachineDrain>(machineDrains, key, signal()), is, limitMs);
  }

  drained(drain: MachineDrain): Promise<MachineDrain> {
    return this.until(drain, ({ status }) => status?.state === "Drained");
  }

  async cancel({ metadata }: MachineDrain): Promise<void> {
    await this.admin.delete(machineDrains, { namespace: GRANTS, name: metadata.name }, {}, signal());
  }

  /** Nothing of an earlier test is left on the nodes. */
  async clean(nodes: readonly string[]): Promise<void> {
    await this.cluster.kubectl(["delete", "drain", "--all", "-n", GRANTS]);
    await this.cluster.kubectl(["delete", "mpool", "--all", "-n", GRANTS]);
    const all = ["delete", "deploy,pdb,ds,pod", "--all", "-n", SHOP, "--grace-period=0", "--force"];
    // A benchmark leaves a thousand pods, of which kubectl deletes five a second.
    await this.cluster.kubectl(all, { limitMs: 600_000 });
    for (const name of nodes) {
      await eventually(
        () => this.node(name),
        ({ metadata }) => metadata.annotations?.["sallyport.dev/cordoned-by"] === undefined,
      );
      await this.cordon(name, null);
    }
  }

  eventReasons({ metadata }: MachineDrain): Promise<readonly string[]> {
    return eventReasons(this.admin, metadata.name);
  }
}

function isReady({ status }: PodObject): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
}

export function reasonOf({ status }: MachineDrain, type: string): string | undefined {
  return status?.conditions?.find((each) => each.type === type)?.reason;
}
