import { readFileSync } from "node:fs";
import { afterAll, beforeAll } from "vitest";
import { argumentsOf } from "../../lab/story/deciding.ts";
import { type Client as Api, createClient } from "../../src/api-client/client.ts";
import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import type { Command } from "../../src/contract/operations/commands.ts";
import { objectName } from "../../src/crds/group.ts";
import { type AccessGrant, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { Client } from "../../src/kube/client/client.ts";
import { connect } from "../../src/kube/client/connection.ts";
import { type KubeObject, type Resource, resources } from "../../src/kube/objects/resource.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import type { Answer } from "./command.ts";
import type { Seen } from "./front.ts";
import { kubectl, kubectlAs } from "./kubectl.ts";
import { readScene, type Scene } from "./scene.ts";

/** Pods must start and images be unpacked while other programs run. */
const PATIENCE_MS = 120_000;

/** One of our processes. */
type Component = "agent" | "operator" | "tunnel";

const READING = ["get-pods", "logs"] as const;
type Reading = (typeof READING)[number];

export const soon = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS);

export interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status?: {
    readonly podIP?: string;
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly ready: boolean;
      readonly containerID?: string;
    }[];
  };
}

export interface PlanLine {
  readonly command: string;
  readonly summary: string;
  readonly params: Readonly<Record<string, string | number>>;
}

/** The people of the tests with their credentials, and what the tests read. */
export class Cast {
  readonly scene: Scene = readScene();
  /** The client of an engineer at the vendor. */
  readonly engineer: Api;
  readonly vendorAdmin: Api;
  /** The client of the customer's admin. */
  readonly kube: Client;
  readonly #close: () => Promise<void>;

  private constructor(engineer: Api, vendorAdmin: Api, kube: Client, close: () => Promise<void>) {
    this.engineer = engineer;
    this.vendorAdmin = vendorAdmin;
    this.kube = kube;
    this.#close = close;
  }

  static async gather(): Promise<Cast> {
    const { vendor, cluster } = readScene();
    const api = (file: string): Api =>
      createClient({ baseUrl: vendor.directUrl, credential: readFileSync(file, "utf8").trim(), userAgent: "e2e" });
    const [engineer, admin] = [api(vendor.keyFiles.engineer), api(vendor.keyFiles.admin)];
    // The vendor's half of the policy: what the platform hands out without a request. The customer's half lets
    // everything that reads run.
    const rules = READING.map((name) => ({ pattern: `kubernetes/${name}`, decision: "auto" as const }));
    await admin.operations.putPolicy({ query: { project: vendor.project }, body: { rules } }, soon());
    // A proxy of this machine cannot reach the cluster's address.
    const connection = await connect({ kubeconfig: cluster.adminKubeconfig, environment: {} });
    const close = async (): Promise<void> => {
      await Promise.all([engineer.close(), admin.close(), connection.close()]);
    };
    return new Cast(engineer, admin, new Client(connection), close);
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** A queued request that waits for the customer, with the `kubectl` line that the platform shows. */
  async ask(...lines: readonly PlanLine[]): Promise<{ readonly id: string; readonly approve: string }> {
    const body = {
      deploymentId: this.scene.vendor.deploymentId,
      remediationPlanId: `plan-${Date.now()}`,
      title: lines[0]?.summary ?? "",
      commands: [...lines],
    };
    const { id } = await this.engineer.accessRequests.create({ body }, soon());
    await this.engineer.accessRequests.queue({ params: { id } }, soon());
    const read = () => this.engineer.accessRequests.get({ params: { id } }, soon());
    const { kubectlApprove } = await eventually(read, (request) => request.kubectlApprove != null, PATIENCE_MS);
    return { id, approve: kubectlApprove ?? "" };
  }

  /**
   * Runs the platform's line as the approver. Repeats it, because just after an installation the policies are not in
   * force.
   */
  async approve(line: string): Promise<void> {
    const type = (): Promise<Answer> => kubectlAs(this.scene, this.scene.cluster.approver, argumentsOf(line), soon());
    const isNotYet = ({ stderr }: Answer): boolean => /ServiceUnavailable|not yet synced/.test(stderr);
    const { code, stderr } = await eventually(type, (answer) => !isNotYet(answer), PATIENCE_MS);
    if (code !== 0) throw new Error(stderr);
  }

  /** Runs an operation that needs no approval, and waits for its end. */
  async look(operation: Reading, params: Readonly<Record<string, string | number>>): Promise<Command> {
    const id = await this.begin(operation, params);
    return this.command(id, ({ state }) => ["SUCCEEDED", "FAILED", "EXPIRED"].includes(state));
  }

  /** Starts such an operation and returns its command's id. */
  async begin(operation: Reading, params: Readonly<Record<string, string | number>>): Promise<string> {
    const { project, deploymentId } = this.scene.vendor;
    const body = { deploymentId, plugin: "kubernetes", operation, params };
    const { commandId } = await this.engineer.operations.invoke({ query: { project }, body }, soon());
    if (commandId === undefined) throw new Error(`${operation} was not dispatched`);
    return commandId;
  }

  command(id: string, until: (command: Command) => boolean): Promise<Command> {
    const query = { include: ["payload" as const] };
    return eventually(() => this.engineer.commands.get({ params: { id }, query }, soon()), until, PATIENCE_MS);
  }

  request(id: string, until: (request: AccessRequest) => boolean): Promise<AccessRequest> {
    return eventually(() => this.engineer.accessRequests.get({ params: { id } }, soon()), until, PATIENCE_MS);
  }

  grant(requestId: string, until: (grant: AccessGrant) => boolean): Promise<AccessGrant> {
    const key = { namespace: GRANTS, name: objectName(requestId) };
    return eventually(() => this.kube.get<AccessGrant>(accessGrants, key, soon()), until, PATIENCE_MS);
  }

  async list<T extends KubeObject>(
    resource: Resource,
    namespace: string,
    labelSelector?: string,
  ): Promise<readonly T[]> {
    const options = { namespace, ...(labelSelector !== undefined && { labelSelector }) };
    const found: T[] = [];
    for await (const each of this.kube.list<T>(resource, options, soon())) found.push(each);
    return found;
  }

  /** The pods of one of our processes, without those that are being deleted. */
  async pods(component: Component): Promise<readonly Pod[]> {
    const pods = await this.list<Pod>(resources.pods, SYSTEM, `app.kubernetes.io/component=${component}`);
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** The metrics of all pods of a process, one after the other. */
  async scrape(component: Component): Promise<string> {
    let text = "";
    for (const { metadata } of await this.pods(component)) {
      const path = `/api/v1/namespaces/${SYSTEM}/pods/${metadata.name}:8080/proxy/metrics`;
      text += await kubectl(this.scene, ["get", "--raw", path], soon());
    }
    return text;
  }

  /** The sum of a series over the pods of a process. */
  async metric(component: Component, series: string): Promise<number> {
    const lines = (await this.scrape(component)).split("\n").filter((line) => line.startsWith(`${series} `));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  /** Every request that the agent has sent to the platform, oldest first. */
  async seenByFront(): Promise<readonly Seen[]> {
    return (await (await fetch(this.scene.vendor.control)).json()) as readonly Seen[];
  }

  /** How many of those requests were heartbeats. */
  async heartbeats(): Promise<number> {
    return (await this.seenByFront()).filter(({ path }) => path.endsWith("/heartbeat")).length;
  }

  /** Makes the platform unreachable for the agent, or reachable again. */
  async setPlatform(passage: "open" | "shut"): Promise<void> {
    await fetch(`${this.scene.vendor.control}/${passage}`, { method: "PUT" });
  }

  /** The workload's pods, without those that are being deleted. */
  async webPods(): Promise<readonly Pod[]> {
    const pods = await this.list<Pod>(resources.pods, SHOP, "app=web");
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }
}

/** For the test file that calls it. */
export function useCast(): () => Cast {
  let cast: Cast | undefined;
  beforeAll(async () => {
    cast = await Cast.gather();
  });
  afterAll(() => cast?.close());
  return () => {
    if (cast === undefined) throw new Error("the cast gathers in beforeAll: use it inside of tests");
    return cast;
  };
}

export const isReady = ({ status }: Pod): boolean =>
  status?.containerStatuses?.every(({ ready }) => ready) === true && status.containerStatuses.length > 0;
