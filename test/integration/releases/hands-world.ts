import { afterAll, beforeAll, onTestFinished } from "vitest";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { withOwnPods } from "../../../src/agent/releases/render/own-pods.ts";
import { objectName, operationRole } from "../../../src/crds/group.ts";
import { customResourceDefinition } from "../../../src/crds/kinds/kind.ts";
import { MANAGED_DEPLOYMENT } from "../../../src/crds/kinds/managed-deployment.ts";
import type { ReleaseManifest, ReleaseObject } from "../../../src/crds/kinds/release-content.ts";
import { ROLLOUT, type Rollout, type RolloutAction } from "../../../src/crds/kinds/rollout.ts";
import { APPLYSET_LABEL, applySetId, DEPLOYMENT_ID_LABEL, RESOURCE_ID_LABEL } from "../../../src/crds/release-names.ts";
import { type MayRead, READS_NOTHING } from "../../../src/crds/released/may-read.ts";
import { USES_NOTHING } from "../../../src/crds/released/may-use.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { type Connection, connect, type WireRequest } from "../../../src/kube/client/connection.ts";
import { RolloutAccess } from "../../../src/operator/access/rollout-access.ts";
import { ClusterHands } from "../../../src/operator/rollouts/hands/cluster-hands.ts";
import type { Intent } from "../../../src/operator/rollouts/hands/hands.ts";
import { RELEASE_KINDS, refOf } from "../../../src/operator/rollouts/release-rules.ts";
import { ShiftedClock } from "../../world/clock.ts";
import { namespace } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { GRANTS, People } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";

const PLANS = "sallyport-plan-accounts";
const ROLE = operationRole("release", "apply");
const LENDING = { grantsNamespace: GRANTS, roleKind: "ClusterRole", role: ROLE } as const;
const DEPLOYMENT_ID = "dep_1";

/** What a test sees of an object. */
export interface Live {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly { readonly manager: string }[];
  };
  readonly spec?: {
    readonly replicas?: number;
    readonly nodeName?: string;
    readonly template?: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
  readonly data?: Readonly<Record<string, string>>;
}

/** What happens around each request of the hands. What `after` throws ends them as a crash would. */
export interface Around {
  readonly before?: (request: WireRequest) => Promise<void>;
  readonly after?: () => void;
}

/** A cluster in which releases may be rolled out: the kind, the role, and the policy that holds plans to dry runs. */
export class HandsWorld {
  readonly clock = new ShiftedClock();
  readonly #cluster: () => Cluster;
  #people: People | undefined;
  #admin: Client | undefined;
  #made = 0;

  constructor(cluster: () => Cluster) {
    this.#cluster = cluster;
  }

  async open(): Promise<void> {
    await this.#cluster().apply([
      namespace(GRANTS),
      ...[ROLLOUT, MANAGED_DEPLOYMENT].map(customResourceDefinition),
      role(),
    ]);
    await this.policy(true);
    this.#people = new People(this.#cluster());
    this.#admin = await this.#people.admin();
  }

  async close(): Promise<void> {
    await this.#people?.close();
  }

  /** Adds or removes the policy. It is in force some time later: a plan waits for that by itself. */
  async policy(isThere: boolean): Promise<void> {
    if (isThere) await this.#cluster().apply(planPolicies());
    else await this.#cluster().kubectl(["delete", "validatingadmissionpolicybinding", PLANS]);
  }

  /** A namespace of its own for one test, with the names of its objects. */
  async namespace(): Promise<string> {
    this.#made += 1;
    const name = `shop-${this.#made}`;
    await this.#cluster().apply([namespace(name)]);
    return name;
  }

  /** @param kubeconfig of the operator; default: the admin's. */
  async hands(
    around: Around = {},
    releasesNamespace?: string,
    kubeconfig: string = this.#cluster().adminKubeconfig,
    { mayRead = READS_NOTHING, recreates = false }: { mayRead?: MayRead; recreates?: boolean } = {},
  ): Promise<ClusterHands> {
    const connection = await connect({ kubeconfig });
    onTestFinished(() => connection.close());
    const client = new Client(watched(connection, around));
    return new ClusterHands({
      ...{ client, version: "1.2.3" },
      access: new RolloutAccess(client, LENDING),
      clientFor: (token) => client.withToken(token),
      grantsNamespace: GRANTS,
      rules: {
        ...{ kinds: RELEASE_KINDS, registries: [], mayExpose: false },
        ...{ mayRead, mayUse: USES_NOTHING, maxPods: 100, podSecurity: "restricted" },
      },
      recreates,
      ...(releasesNamespace !== undefined && { secrets: { client, releasesNamespace } }),
      fence: () => undefined,
      clock: this.clock,
    });
  }

  /** A rollout that the API server has: accounts go when their owner is not there. */
  async intent(action: RolloutAction, parts: Partial<Intent> = {}): Promise<Intent> {
    this.#made += 1;
    const rolloutId = `duop-${this.#made}`;
    const digest = `sha256:${"a".repeat(64)}`;
    const times = { requestedAt: "2026-01-01T12:00:00Z", deadline: "2026-01-01T13:00:00Z" };
    const brings = action === "install" || action === "update";
    const content = brings && { contentName: "rel-1", contentDigest: digest };
    const spec = { rolloutId, deploymentId: DEPLOYMENT_ID, action, ...content };
    const path = `/apis/sallyport.dev/v1alpha1/namespaces/${GRANTS}/${ROLLOUT.plural}`;
    const answer = await this.send("POST", path, ours(ROLLOUT.kind, rolloutId, { ...spec, ...times }));
    return {
      ...{ rollout: answer as Rollout, objects: [], former: [] },
      formerRef: action === "update" ? { name: "rel-0", digest } : undefined,
      installed: (parts.former ?? []).map(({ manifest }) => refOf(manifest)),
      ...{ done: [], takeOver: [], namespaces: [], ...parts },
    };
  }

  until(): Date {
    return new Date(this.clock.wallNow().getTime() + 3_600_000);
  }

  async send(method: string, path: string, body?: object, contentType?: string): Promise<unknown> {
    const call = { method, path, ...(body && { body }), ...(contentType !== undefined && { contentType }) };
    const answer = await this.#cluster().request(call);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Undefined: it is not there. */
  async read({ apiVersion, kind, metadata }: ReleaseManifest): Promise<Live | undefined> {
    const { status, body } = await this.#cluster().request({ path: pathOf(apiVersion, kind, metadata) });
    return status === 404 ? undefined : (body as Live);
  }

  /** As a customer's tool of that name, with force as `kubectl edit` has it. */
  async change(manifest: ReleaseManifest, manager = "customer"): Promise<void> {
    const { apiVersion, kind, metadata } = manifest;
    const path = `${pathOf(apiVersion, kind, metadata)}?fieldManager=${manager}&force=true`;
    await this.send("PATCH", path, manifest, "application/apply-patch+yaml");
  }

  /** What of this rollout's accounts and bindings is there. */
  async lent({ rollout }: Intent, namespace: string): Promise<readonly string[]> {
    if (this.#admin === undefined) throw new Error("the world is not open");
    const found = await new RolloutAccess(this.#admin, LENDING).leftOvers([namespace], signal());
    const own = found.filter(({ rolloutUid }) => rolloutUid === rollout.metadata.uid);
    return own.map(({ kind, object }) => `${kind} ${object.metadata.name}`);
  }

  /** The pods of a Deployment are there and ready, as its status says. */
  async ready(manifest: ReleaseManifest): Promise<void> {
    await eventually(
      () => this.read(manifest),
      (live) => (live as { status?: { readyReplicas?: number } }).status?.readyReplicas === live.spec?.replicas,
    );
  }

  /** A node that no program runs pods for: its pods are what a test says. */
  async silentNode(): Promise<Readonly<Record<string, string>>> {
    const labels = { "example.com/silent": "yes" };
    const amounts = { cpu: "64", memory: "64Gi", pods: "500" };
    const conditions = [{ type: "Ready", status: "True", reason: "Test", message: "", lastHeartbeatTime: now() }];
    const status = { capacity: amounts, allocatable: amounts, conditions };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "silent", labels }, status };
    await this.send("POST", "/api/v1/nodes", node);
    return labels;
  }

  /** The only pod of the namespace, once it is on a node, gets this status. */
  async report(namespace: string, status: object): Promise<void> {
    const [pod] = await eventually(
      () => this.pods(namespace),
      (all) => all.length > 0 && all.every(({ spec }) => spec?.nodeName !== undefined),
    );
    const path = `/api/v1/namespaces/${namespace}/pods/${pod?.metadata.name}/status`;
    await this.send("PATCH", path, { status }, "application/merge-patch+json");
  }

  async pods(namespace: string): Promise<readonly Live[]> {
    const list = await this.send("GET", `/api/v1/namespaces/${namespace}/pods`);
    return (list as { readonly items: readonly Live[] }).items;
  }
}

export function useHands(cluster: () => Cluster): HandsWorld {
  const world = new HandsWorld(cluster);
  beforeAll(() => world.open(), 120_000);
  afterAll(() => world.close());
  return world;
}

function watched(connection: Connection, around: Around): Connection {
  return {
    ...{ server: connection.server, userAgent: connection.userAgent, namespace: connection.namespace },
    async request(request, each) {
      await around.before?.(request);
      const answer = await connection.request(request, each);
      try {
        around.after?.();
      } catch (error) {
        answer.body.resume();
        throw error;
      }
      return answer;
    },
    open: (request, each) => connection.open(request, each),
    upgrade: (request, upgrade, each) => connection.upgrade(request, upgrade, each),
    withToken: (token) => watched(connection.withToken(token), around),
    close: () => connection.close(),
  };
}

function now(): string {
  return new Date().toISOString();
}

function pathOf(apiVersion: string, kind: string, { namespace, name }: ReleaseManifest["metadata"]): string {
  const root = apiVersion.includes("/") ? "/apis" : "/api";
  return `${root}/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
}

/** With the labels that the agent writes, and no pods but its own. */
export function member(
  manifest: ReleaseManifest,
  more: Partial<ReleaseObject> = {},
  deploymentId = DEPLOYMENT_ID,
): ReleaseObject {
  const { metadata } = manifest;
  const labels = {
    ...metadata.labels,
    [DEPLOYMENT_ID_LABEL]: deploymentId,
    [RESOURCE_ID_LABEL]: metadata.name,
    [APPLYSET_LABEL]: applySetId(objectName(deploymentId), GRANTS),
    "app.kubernetes.io/managed-by": "sallyport",
  };
  const labelled = withOwnPods({ ...manifest, metadata: { ...metadata, labels } }, deploymentId);
  return { wave: 0, frozen: false, resourceId: metadata.name, ...more, manifest: labelled };
}

export const configMap = (
  namespace: string,
  name: string,
  data: Readonly<Record<string, string>>,
): ReleaseManifest => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace },
  data,
});

export interface DeploymentOptions {
  readonly image?: string;
  readonly replicas?: number;
  readonly app?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly progressDeadlineSeconds?: number;
  readonly minReadySeconds?: number;
  readonly paused?: boolean;
  /** Its pods' ServiceAccount. */
  readonly account?: string;
}

export function deployment(namespace: string, name: string, options: DeploymentOptions = {}): ReleaseManifest {
  const { image = "registry.example/app:1", replicas = 1, app = name, nodeSelector, account, ...rest } = options;
  const labels = { app };
  const pod = {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      { name: "c", image, securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } } },
    ],
    ...(nodeSelector && { nodeSelector }),
    ...(account !== undefined && { serviceAccountName: account }),
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      ...rest,
      ...{ replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
    },
  };
}

function role(): object & { readonly kind: string } & Readonly<Record<string, unknown>> {
  const verbs = ["get", "list", "watch", "create", "patch", "delete"];
  const rules = [
    { apiGroups: ["apps"], resources: ["deployments", "statefulsets", "daemonsets"], verbs },
    { apiGroups: ["batch"], resources: ["jobs", "cronjobs"], verbs },
    { apiGroups: ["autoscaling"], resources: ["horizontalpodautoscalers"], verbs },
    { apiGroups: [""], resources: ["services", "configmaps", "persistentvolumeclaims", "serviceaccounts"], verbs },
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
    { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["list"] },
    // As a role of the customer's own may be.
    { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: ["get", "list", "create", "patch"] },
    { apiGroups: ["networking.k8s.io"], resources: ["ingresses"], verbs: ["list"] },
    { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: ["list"] },
  ];
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: ROLE }, rules };
}

/** The policy that holds plans to dry runs, and beside it one that releases make members of their sets only. */
function planPolicies(): readonly Readonly<Record<string, unknown>>[] {
  return [
    ...policyOf(PLANS, ["plan"], "has(request.dryRun) && request.dryRun"),
    ...policyOf(
      "sallyport-rollout-objects",
      ["plan", "rollout"],
      `request.operation != 'CREATE' || object.metadata[?'labels'][?'${APPLYSET_LABEL}'].orValue('') != ''`,
    ),
  ];
}

function policyOf(name: string, accounts: readonly string[], expression: string) {
  const rule = { apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] };
  const matchConstraints = { resourceRules: [{ ...rule, operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"] }] };
  const prefixes = accounts.map((each) => `'system:serviceaccount:${GRANTS}:${each}-'`);
  const madeBy = prefixes.map((each) => `request.userInfo.username.startsWith(${each})`).join(" || ");
  const spec = {
    ...{ failurePolicy: "Fail", matchConstraints, matchConditions: [{ name: "accounts", expression: madeBy }] },
    validations: [{ expression, message: "not so" }],
  };
  const apiVersion = "admissionregistration.k8s.io/v1";
  const binding = { policyName: name, validationActions: ["Deny"] };
  return [
    { apiVersion, kind: "ValidatingAdmissionPolicy", metadata: { name }, spec },
    { apiVersion, kind: "ValidatingAdmissionPolicyBinding", metadata: { name }, spec: binding },
  ];
}
