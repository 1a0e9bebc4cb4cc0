import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { objectName } from "../../../src/crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import type { HealthWorld, Report } from "./health-world.ts";

/** Where the API server has each kind that a test makes. */
const PATHS = {
  Deployment: "/apis/apps/v1/namespaces/shop/deployments",
  ReplicaSet: "/apis/apps/v1/namespaces/shop/replicasets",
  Pod: "/api/v1/namespaces/shop/pods",
  Job: "/apis/batch/v1/namespaces/shop/jobs",
  CronJob: "/apis/batch/v1/namespaces/shop/cronjobs",
  PodDisruptionBudget: "/apis/policy/v1/namespaces/shop/poddisruptionbudgets",
} as const satisfies Readonly<Record<string, `/${string}/namespaces/${typeof SHOP}/${string}`>>;
export type Kind = keyof typeof PATHS;

export interface Sample {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly name: string;
  readonly metadata?: object;
  readonly spec: object;
}

/** What the agent tells of a workload beside its row. */
export interface Told {
  readonly cpu?: object;
  readonly workload?: { readonly conditions: readonly object[] };
  readonly events: readonly { readonly reason: string; readonly message: string; readonly involvedObject: object }[];
  readonly status: { readonly collectionIssues: readonly { readonly source: string; readonly reason: string }[] };
}

interface Rule {
  readonly resources: readonly string[];
}

export const containers = [{ name: "app", image: "registry.example/app:1" }];

export const job = (name: string, metadata: object = {}): Sample => ({
  ...{ apiVersion: "batch/v1", kind: "Job", name, metadata },
  spec: { template: { spec: { containers, restartPolicy: "Never" } } },
});

const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, "Z");

/** The status of a Job that was tried too often. */
export function failure(): object {
  const failed = { status: "True", reason: "BackoffLimitExceeded", message: "too often", lastTransitionTime: now() };
  return { startTime: now(), failed: 7, conditions: ["FailureTarget", "Failed"].map((type) => ({ type, ...failed })) };
}

export const owned = (kind: Kind, name: string, uid: string) => ({
  ownerReferences: [{ apiVersion: kind === "CronJob" ? "batch/v1" : "apps/v1", kind, name, uid, controller: true }],
});

export const eventOf = (name: string, regarding: object, note: string) => ({
  ...{ apiVersion: "events.k8s.io/v1", kind: "Event", metadata: { name, namespace: SHOP } },
  ...{ eventTime: new Date().toISOString().replace("Z", "000Z"), reason: "Failed", type: "Warning", note, regarding },
  ...{ reportingController: "example.com/app", reportingInstance: "app-1", action: "Start" },
});

export const condition = (status: ManagedDeployment["status"], type: string) =>
  status?.conditions?.find((each) => each.type === type);

export const rowsOf = ({ observedInventoryBatches = [] }: Report): number =>
  observedInventoryBatches.reduce((sum, { resources }) => sum + resources.length, 0);

/** What the tests do to the shop, and how both sides see it. */
export class Scene {
  readonly #cluster: () => Cluster;
  readonly #health: HealthWorld;

  constructor(cluster: () => Cluster, health: HealthWorld) {
    this.#cluster = cluster;
    this.#health = health;
  }

  /** @returns its uid */
  async made({ apiVersion, kind, name, metadata = {}, spec }: Sample): Promise<string> {
    const body = { apiVersion, kind, metadata: { name, namespace: SHOP, ...metadata }, spec };
    const answer = await this.#cluster().request({ method: "POST", path: PATHS[kind], body });
    if (answer.status !== 201) throw new Error(`${kind} ${name} not made: ${JSON.stringify(answer)}`);
    return (answer.body as { readonly metadata: { readonly uid: string } }).metadata.uid;
  }

  async stated(kind: Kind, name: string, status: object): Promise<void> {
    const path = `${PATHS[kind]}/${name}/status`;
    const contentType = "application/merge-patch+json";
    const answer = await this.#cluster().request({ method: "PATCH", path, contentType, body: { status } });
    if (answer.status !== 200) throw new Error(`${kind} ${name} not stated: ${JSON.stringify(answer)}`);
  }

  /** At once, without the time that a Pod is given to end. */
  async removed(kind: Kind, name: string): Promise<void> {
    const path = `${PATHS[kind]}/${name}?gracePeriodSeconds=0&propagationPolicy=Background`;
    const answer = await this.#cluster().request({ method: "DELETE", path });
    if (answer.status !== 200) throw new Error(`${kind} ${name} not removed: ${JSON.stringify(answer)}`);
  }

  /** What the customer reads. */
  readonly shown = async (): Promise<ManagedDeployment["status"]> => {
    const key = { namespace: GRANTS, name: objectName(this.#health.world.deploymentId) };
    return (await this.#health.world.admin.get<ManagedDeployment>(managedDeployments, key, signal()))?.status;
  };

  /** What the agent last told of a workload beside its row. */
  toldOf(resourceId: string): Told | undefined {
    const beats = this.#health.reports.flatMap(({ resourceHeartbeats = [] }) => resourceHeartbeats);
    return beats.findLast((each) => each.resourceId === resourceId)?.data.data as Told | undefined;
  }

  /** What the vendor reads of one, in full. */
  async listed(name: string) {
    const { engineer, projectId } = this.#health.world;
    const { resources } = await engineer.resources.list({ query: { project: projectId } }, signal());
    return resources.find((each) => each.name === name);
  }

  /** Its type, health and lifecycle, as the vendor reads them; or that it is gone. */
  async state(name: string): Promise<string> {
    const row = await this.listed(name);
    return row === undefined ? "gone" : `${row.resourceType} ${row.health} ${row.lifecycle}`;
  }

  isSeen(name: string, words: string): Promise<string> {
    return eventually(
      () => this.state(name),
      (seen) => seen === words,
    );
  }

  /** Takes the rules of one resource from the agent's role. @returns what gives them back. */
  async withoutRule(resource: string): Promise<() => Promise<void>> {
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/sallyport-agent-observe";
    const { rules } = (await this.#cluster().request({ path })).body as { readonly rules: readonly Rule[] };
    const kept = rules.filter(({ resources }) => !resources.includes(resource));
    if (kept.length === rules.length) throw new Error(`no rule of ${resource}`);
    const write = async (body: object): Promise<void> => {
      const contentType = "application/merge-patch+json";
      const { status } = await this.#cluster().request({ method: "PATCH", path, contentType, body });
      if (status !== 200) throw new Error(`the role was not written: ${status}`);
    };
    await write({ rules: kept });
    return () => write({ rules });
  }
}
