import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES, EXPIRES_AT_ANNOTATION, GRANT_UID_LABEL, grantAccount } from "../../../src/crds/group.ts";
import {
  installation,
  openCluster,
  openNamespaceToReleases,
  openReleases,
} from "../../../src/crds/manifests/installation.ts";
import {
  APPLYSET_LABEL,
  applySetId,
  DEPLOYMENT_ID_LABEL,
  planAccount,
  ROLLOUT_UID_LABEL,
  rolloutAccount,
} from "../../../src/crds/release-names.ts";
import { type Attack, inForce, runAs, testRefusals } from "../attacks.ts";
import { WITH_RELEASES } from "../installed.ts";
import { APPROVER, DEPLOYMENT_ID, GRANTS, OperatorWorld, SHOP } from "../operator/operator-world.ts";
import { eventually } from "../wait.ts";
import {
  MEMBER,
  ownerOf,
  PLAN,
  REGISTRY,
  ROLLOUT_RUN,
  ROLLOUT_UID,
  released,
  releasedDeployment,
  securedContainer,
} from "./released-objects.ts";

// Neither agent nor operator runs. An attacker has the credentials of one account, which has every right, and types any
// command: what is refused here is refused by policies alone.

const cluster = useCluster({ holds: WITH_RELEASES });
const { systemNamespace } = DEFAULT_NAMES;
const OTHER_UID = "1badcafe-0000-4000-8000-000000000002";
/** Another deployment that is accepted for the same namespace. */
const OTHERS = { [APPLYSET_LABEL]: applySetId("dpl-other", GRANTS), [DEPLOYMENT_ID_LABEL]: "dpl_other" };
const DIGEST = `sha256:${"a".repeat(64)}`;
const OTHER_DIGEST = `sha256:${"b".repeat(64)}`;
const ONCALL = "olga";
/** May approve what changes, and not what deletes. */
const MUTATOR = "mia";
/** May write to rollouts, and has no word. */
const STRANGER = "sam";
type Who =
  | "agent"
  | "operator"
  | "plan"
  | "rollout"
  | "unnamed"
  | "approver"
  | "oncall"
  | "mutator"
  | "stranger"
  | "admin";
const kubeconfigs: Partial<Record<Who, string>> = {};
let world: OperatorWorld;

const CREATE = ["create", "--dry-run=server", "-f", "-"];
const create = (stdin: () => object) => ({ args: CREATE, stdin });
const say = (name: string, spec: object): readonly string[] => [
  ...["patch", "rout", name, "-n", GRANTS, "--type=merge", "--dry-run=server", "-p", JSON.stringify({ spec })],
];
const ours = (kind: string, name: string, spec: object, metadata: object = {}): object => ({
  ...{ apiVersion: "sallyport.dev/v1alpha1", kind, metadata: { name, namespace: GRANTS, ...metadata }, spec },
});

function rollout(name: string, spec: object = {}, metadata: object = {}): object {
  const asked = {
    ...{ rolloutId: name, deploymentId: DEPLOYMENT_ID, action: "update", contentName: "rel-1", contentDigest: DIGEST },
    ...{ requestedAt: "2026-01-01T12:00:00Z", deadline: "2026-01-01T13:00:00Z" },
  };
  return ours("Rollout", name, { ...asked, ...spec }, metadata);
}

function content(name: string, metadata: object = {}): object {
  const object = { wave: 0, frozen: false, resourceId: "api", manifest: releasedDeployment("api") };
  const spec = {
    deploymentId: DEPLOYMENT_ID,
    version: "1",
    digest: DIGEST,
    configHash: "c".repeat(64),
    objects: [object],
  };
  return ours("ReleaseContent", name, spec, metadata);
}

const RELEASE = "sallyport-op-release-apply";
const UNNAMED = "rollout-0badcafe0000";
const soon = (minutes: number): string => `${new Date(Date.now() + minutes * 60_000).toISOString().slice(0, 19)}Z`;

interface Lent {
  readonly role?: string;
  readonly account?: string;
  readonly name?: string;
  readonly kind?: string;
  readonly labels?: object;
  readonly minutes?: number;
  readonly namespace?: string;
}

function binding(lent: Lent = {}): object {
  const { role = RELEASE, account = ROLLOUT_RUN, name = account, kind = "RoleBinding", namespace = SHOP } = lent;
  const { labels = { [ROLLOUT_UID_LABEL]: ROLLOUT_UID }, minutes = 119 } = lent;
  const annotations = { [EXPIRES_AT_ANNOTATION]: soon(minutes) };
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind,
    metadata: { name, ...(kind === "RoleBinding" && { namespace }), labels, annotations },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: GRANTS }],
  };
}

const owner = (uid: string): object => ({
  ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "Rollout", name: "waiting", uid },
});

function account(name: string, metadata: object = {}, namespace = GRANTS): object {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, ...metadata } };
}

const PLANS = "sallyport-plan-accounts";
const OBJECTS = "sallyport-rollout-objects";
const ACCOUNTS = "sallyport-rollout-service-accounts";
const CONFIG_MAPS = "sallyport-rollout-config-maps";
const CLAIMS = "sallyport-rollout-volume-claims";
const CLAIM_NAMES = "sallyport-rollout-claim-names";
const WORDS = "sallyport-rollout-words";
const CONTENT = "sallyport-release-content";
const BINDINGS = "sallyport-operator-bindings";
const MADE = "sallyport-operator-objects";
const RUNS = { policy: OBJECTS, as: "rollout" } as const;

/** A Deployment that a rollout may not make. */
const pod = (title: string, words: string, spec: object, container: object = {}): Attack<Who> => ({
  ...{ title, words, ...RUNS },
  ...create(() => releasedDeployment("fresh", spec, container)),
});
/** An object of a release that a rollout may not make. */
const made = (title: string, words: string, object: () => object): Attack<Who> => ({
  ...{ title, words, ...RUNS },
  ...create(object),
});
const claimOf = (spec: object): object => ({
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
});
const marked = (pod: object, metadata: object = {}): object => {
  const { spec } = releasedDeployment("fresh", pod) as unknown as {
    readonly spec: { readonly template: { readonly metadata: object } };
  };
  const { template } = spec;
  return { ...spec, template: { ...template, metadata: { ...template.metadata, ...metadata } } };
};
const PINNED = { nodeSelector: { "kubernetes.io/hostname": "n-1" } };
const NETWORK = { annotations: { "k8s.v1.cni.cncf.io/networks": "storage" } };
const security = (context: object): object => ({ securityContext: context });
const volume = (source: object): object => ({ volumes: [{ name: "v", ...source }] });

/** What the account of one deployment's rollout does to another deployment's. */
const acrossDeployments = (title: string, ...args: readonly string[]): Attack<Who> => ({
  ...{ title, ...RUNS, words: "objects of its own deployment only" },
  args: () => [...args, "-n", SHOP, "--dry-run=server"],
});

const ATTACKS: readonly Attack<Who>[] = [
  {
    title: "the account that plans changes nothing of a release's",
    ...{ policy: PLANS, as: "plan", words: "tries out (dryRun=All) and changes nothing" },
    // Comes to pass without the policy, and is each time a change.
    args: () => [
      "patch",
      "configmap",
      "member",
      "-n",
      SHOP,
      "-p",
      JSON.stringify({ data: { tried: `${Date.now()}` } }),
    ],
  },
  {
    title: "nor of the customer's",
    ...{ policy: PLANS, as: "plan", words: "tries out (dryRun=All) and changes nothing", isReal: true },
    args: () => ["delete", "configmap", "member", "-n", SHOP],
  },
  {
    title: "nor makes anything, and it is that policy which says so: a plan begins with the proof",
    ...{ policy: PLANS, as: "plan", words: "ValidatingAdmissionPolicy 'sallyport-plan-accounts'", isReal: true },
    args: () => ["create", "configmap", "probe", "-n", SHOP],
  },
  {
    title: "a rollout makes no Secret",
    ...{ ...RUNS, words: "kinds that releases may install" },
    ...create(() => released("v1", "Secret", "fresh")),
  },
  {
    title: "nor a right",
    ...{ ...RUNS, words: "kinds that releases may install" },
    ...create(() => ({ ...binding({ role: "view", account: "default" }) })),
  },
  {
    title: "nor a right in the whole cluster",
    ...{ ...RUNS, words: "kinds that releases may install" },
    ...create(() => binding({ role: "view", account: "default", kind: "ClusterRoleBinding" })),
  },
  {
    title: "nor scales by the subresource",
    ...{ ...RUNS, words: "kinds that releases may install" },
    args: () => ["scale", "deployment", "member", "-n", SHOP, "--replicas=3", "--dry-run=server"],
  },
  {
    title: "nor goes through a proxy of the API server",
    ...{ ...RUNS, words: "kinds that releases may install" },
    args: () => ["get", "--raw", `/api/v1/namespaces/${SHOP}/services/member/proxy/`],
  },
  {
    title: "nor writes in a system namespace",
    ...{ ...RUNS, words: "nothing in a system namespace" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { namespace: "kube-system" })),
  },
  {
    title: "nor makes what shows no deployment",
    ...{ ...RUNS, words: "makes objects with the labels" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { labels: {} })),
  },
  {
    title: "nor changes the customer's own",
    ...{ ...RUNS, words: "changes and deletes only what a release has installed" },
    args: () => ["annotate", "deployment", "web", "-n", SHOP, "a=b", "--dry-run=server"],
  },
  {
    title: "nor deletes it",
    ...{ ...RUNS, words: "changes and deletes only what a release has installed" },
    args: () => ["delete", "deployment", "web", "-n", SHOP, "--dry-run=server"],
  },
  {
    title: "nor gives an object to another deployment",
    ...{ ...RUNS, words: "gives no object to another deployment" },
    args: () => [
      "label",
      "configmap",
      "member",
      "-n",
      SHOP,
      `${DEPLOYMENT_ID_LABEL}=x`,
      "--overwrite",
      "--dry-run=server",
    ],
  },
  {
    title: "nor makes one of another deployment",
    ...{ ...RUNS, words: "objects of its own deployment only" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { labels: OTHERS })),
  },
  acrossDeployments("nor changes one of another deployment", "annotate", "configmap", "others", "a=b"),
  acrossDeployments("nor deletes one of another deployment", "delete", "configmap", "others"),
  acrossDeployments(
    "nor lets one of another deployment go",
    ...["label", "configmap", "others", ...Object.keys(OTHERS).map((label) => `${label}-`)],
  ),
  acrossDeployments(
    "nor takes one of another deployment for its own",
    ...["label", "configmap", "others", "--overwrite"],
    ...Object.entries(MEMBER).map(([label, value]) => `${label}=${value}`),
  ),
  {
    title: "nor does the account that plans show that it could",
    ...{ policy: OBJECTS, as: "plan", words: "objects of its own deployment only" },
    args: () => ["delete", "configmap", "others", "-n", SHOP, "--dry-run=server"],
  },
  {
    title: "an account whose name says no deployment writes no object",
    ...{ policy: OBJECTS, as: "unnamed", words: "objects of its own deployment only" },
    ...create(() => released("v1", "ConfigMap", "fresh")),
  },
  {
    title: "nor keeps one from being deleted",
    ...{ ...RUNS, words: "no ownerReferences and no finalizers" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { finalizers: ["example.com/keep"] })),
  },
  {
    title: "nor has one deleted with another",
    ...{ ...RUNS, words: "no ownerReferences and no finalizers" },
    ...create(() =>
      released(
        "v1",
        "ConfigMap",
        "fresh",
        {},
        {
          ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "other", uid: OTHER_UID }],
        },
      ),
    ),
  },
  {
    title: "nor makes objects of which nothing knows the names",
    ...{ ...RUNS, words: "no generateName" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { name: undefined, generateName: "fresh-" })),
  },
  pod("nor takes the node's network", "in the node's own network", { hostNetwork: true }),
  pod("nor the node's processes", "in the node's own network", { hostPID: true }),
  pod("nor the node's files", "volumes of these kinds only", volume({ hostPath: { path: "/" } })),
  pod("nor the volume of a driver", "volumes of these kinds only", volume({ csi: { driver: "d.example" } })),
  pod("nor the token of the namespace's account", "the token of the namespace's own", {
    automountServiceAccountToken: true,
  }),
  pod(
    "nor that token by another way",
    "the token of the namespace's own",
    volume({ projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }),
  ),
  pod("nor a node by its name", "chooses no node by name", { nodeName: "control-plane" }),
  pod(
    "nor is privileged",
    "no privileged container",
    {},
    security({ privileged: true, allowPrivilegeEscalation: null }),
  ),
  pod("nor is where it runs first", "no privileged container", {
    initContainers: [
      securedContainer({ name: "i", ...security({ privileged: true, allowPrivilegeEscalation: null }) }),
    ],
  }),
  pod("nor may become so", "no privileged container", {}, { securityContext: { allowPrivilegeEscalation: true } }),
  pod(
    "nor adds a capability",
    "adds no capability",
    {},
    { securityContext: { capabilities: { add: ["SYS_ADMIN"], drop: ["ALL"] } } },
  ),
  pod("nor takes a port of the node", "takes no port of a node", {}, { ports: [{ containerPort: 80, hostPort: 80 }] }),
  pod("nor pulls from elsewhere", "images of allowed registries only", {}, { image: "registry.example/shopping/x:1" }),
  pod("nor pulls from another port", "images of allowed registries only", {}, { image: "other.example:5000/x:1" }),
  pod("nor a node by its host name", "by name (nodeSelector", { nodeSelector: { "kubernetes.io/hostname": "n-1" } }),
  pod("nor a node by affinity", "by name (nodeAffinity", {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "Exists" }] }],
        },
      },
    },
  }),
  pod("nor evicts others", "a priority of the system's own", { priorityClassName: "system-node-critical" }),
  pod("nor changes the kernel", "no setting of a node's kernel", security({ sysctls: [{ name: "a.b", value: "1" }] })),
  pod("nor leaves SELinux", "more than SELinux lets", {}, security({ seLinuxOptions: { type: "spc_t" } })),
  pod("nor seccomp", "runs nothing Unconfined", security({ seccompProfile: { type: "Unconfined" } })),
  pod("nor AppArmor", "runs nothing Unconfined", {}, security({ appArmorProfile: { type: "Unconfined" } })),
  pod(
    "nor has the kubelet ask another host",
    "ask no other host",
    {},
    { readinessProbe: { httpGet: { port: 80, host: "db" } } },
  ),
  pod(
    "nor may escalate, for want of a word",
    "with allowPrivilegeEscalation: false",
    {},
    security({ allowPrivilegeEscalation: null }),
  ),
  pod("nor runs as root, for want of a word", "with runAsNonRoot: true", security({ runAsNonRoot: null })),
  pod("nor runs as root by its number", "none as user 0", {}, security({ runAsUser: 0 })),
  pod("nor goes without seccomp", "with a seccompProfile", security({ seccompProfile: null })),
  pod("nor keeps capabilities", "that drop ALL capabilities", {}, security({ capabilities: null })),
  pod(
    "nor reads a Secret that is not named",
    "only Secrets that releases may read",
    volume({ secret: { secretName: "theirs" } }),
  ),
  pod("nor as a variable", "only Secrets that releases may read", {}, { envFrom: [{ secretRef: { name: "theirs" } }] }),
  pod("nor pulls with one", "only Secrets that releases may read", { imagePullSecrets: [{ name: "theirs" }] }),
  pod(
    "nor reads the values of another deployment",
    "only Secrets that releases may read",
    {},
    { envFrom: [{ secretRef: { name: `cfg-dpl-other-${"0a".repeat(16)}` } }] },
  ),
  {
    title: "nor reads one in what was installed",
    ...{ ...RUNS, words: "only Secrets that releases may read" },
    args: () => [
      ...["patch", "deployment", "member", "-n", SHOP, "--dry-run=server", "-p"],
      JSON.stringify({ spec: { template: { spec: volume({ secret: { secretName: "theirs" } }) } } }),
    ],
  },
  {
    title: "a rollout reads no ConfigMap of the customer's",
    ...{ policy: CONFIG_MAPS, as: "rollout", words: "only ConfigMaps that the release brings" },
    ...create(() => releasedDeployment("fresh", volume({ configMap: { name: "theirs" } }))),
  },
  {
    title: "nor one of another deployment",
    ...{ policy: CONFIG_MAPS, as: "rollout", words: "only ConfigMaps that the release brings" },
    ...create(() => releasedDeployment("fresh", {}, { envFrom: [{ configMapRef: { name: "others" } }] })),
  },
  {
    title: "a rollout uses no volume claim of the customer's",
    ...{ policy: CLAIMS, as: "rollout", words: "only volume claims that the release brings" },
    ...create(() => releasedDeployment("fresh", volume({ persistentVolumeClaim: { claimName: "data-db-0" } }))),
  },
  {
    title: "nor makes a StatefulSet that takes one by its name",
    ...{ policy: CLAIMS, as: "rollout", words: "takes volume claims of others by their names" },
    ...create(() =>
      released("apps/v1", "StatefulSet", "db", {
        spec: {
          ...marked({}),
          ...{ serviceName: "db", volumeClaimTemplates: [{ metadata: { name: "data" }, ...claimOf({}) }] },
        },
      }),
    ),
  },
  {
    title: "nor makes a claim that a StatefulSet of the customer's would take by its name",
    ...{ policy: CLAIM_NAMES, as: "rollout", words: "a StatefulSet of others would take for its own" },
    ...create(() => released("v1", "PersistentVolumeClaim", "data-vault-1", claimOf({}))),
  },
  made("nor annotates a pod for another network", "annotates no pod", () =>
    released("apps/v1", "Deployment", "fresh", {
      spec: marked({}, { annotations: { "k8s.v1.cni.cncf.io/networks": "storage" } }),
    }),
  ),
  {
    title: "nor binds to another node what the customer has bound to one",
    ...{ ...RUNS, words: "by name (nodeSelector" },
    args: () => [
      ...["patch", "deployment", "pinned", "-n", SHOP, "--dry-run=server", "-p"],
      JSON.stringify({ spec: { template: { spec: { nodeSelector: { "kubernetes.io/hostname": "n-2" } } } } }),
    ],
  },
  made("nor gives an account an identity of the cloud", "annotates no service account", () =>
    released("v1", "ServiceAccount", "fresh", {}, { annotations: { "eks.amazonaws.com/role-arn": "a" } }),
  ),
  made("nor a Secret", "gives no service account a Secret", () =>
    released("v1", "ServiceAccount", "fresh", { imagePullSecrets: [{ name: "theirs" }] }),
  ),
  made("nor labels its pods as another deployment's", "makes pods with the label", () =>
    released("apps/v1", "StatefulSet", "fresh", {
      spec: {
        ...marked({}, { labels: { app: "fresh" } }),
        ...{ selector: { matchLabels: { app: "fresh" } }, serviceName: "fresh" },
      },
    }),
  ),
  made("nor has a workload choose others' pods", "chooses pods with the label", () =>
    released("apps/v1", "DaemonSet", "fresh", { spec: { ...marked({}), selector: { matchLabels: { app: "fresh" } } } }),
  ),
  made("nor opens all pods by a NetworkPolicy", "chooses pods with the label", () =>
    released("networking.k8s.io/v1", "NetworkPolicy", "fresh", { spec: { podSelector: {}, ingress: [{}] } }),
  ),
  made("nor keeps all pods where they are", "chooses pods with the label", () =>
    released("policy/v1", "PodDisruptionBudget", "fresh", { spec: { selector: {}, maxUnavailable: 0 } }),
  ),
  made("nor leads to the customer's pods", "chooses pods with the label", () =>
    released("v1", "Service", "fresh", { spec: { selector: { app: "web" }, ports: [{ port: 80 }] } }),
  ),
  made("nor scales what is no workload", "scales Deployments and StatefulSets only", () =>
    released("autoscaling/v2", "HorizontalPodAutoscaler", "fresh", {
      spec: { scaleTargetRef: { apiVersion: "a.example/v1", kind: "Deployment", name: "web" }, maxReplicas: 2 },
    }),
  ),
  made("nor claims a volume that is there", "no volume and no data that is there", () =>
    released("v1", "PersistentVolumeClaim", "fresh", claimOf({ volumeName: "theirs" })),
  ),
  made("nor a copy of another claim", "no volume and no data that is there", () =>
    released("apps/v1", "StatefulSet", "fresh", {
      spec: {
        ...marked({}),
        serviceName: "fresh",
        volumeClaimTemplates: [
          { metadata: { name: "d" }, ...claimOf({ dataSource: { kind: "PersistentVolumeClaim", name: "theirs" } }) },
        ],
      },
    }),
  ),
  ...["whenDeleted", "whenScaled"].map((field) =>
    made(`nor has claims deleted with their data by ${field}`, "no claim deleted with its data", () =>
      released("apps/v1", "StatefulSet", "fresh", {
        spec: {
          ...marked({}),
          serviceName: "fresh",
          persistentVolumeClaimRetentionPolicy: { [field]: "Delete" },
        },
      }),
    ),
  ),
  made("nor a volume without a class", "without a class", () =>
    released("v1", "PersistentVolumeClaim", "fresh", claimOf({ storageClassName: "" })),
  ),
  made("nor one for as long as a pod", "without a class", () =>
    releasedDeployment("fresh", volume({ ephemeral: { volumeClaimTemplate: claimOf({ storageClassName: "" }) } })),
  ),
  made("nor a class by an annotation", "claims no volume by the annotation", () =>
    released("v1", "PersistentVolumeClaim", "fresh", claimOf({}), {
      annotations: { "volume.beta.kubernetes.io/storage-class": "" },
    }),
  ),
  {
    title: "nor does all that in a CronJob",
    ...{ ...RUNS, words: "in the node's own network" },
    ...create(() => {
      const { spec } = releasedDeployment("fresh", { hostNetwork: true, restartPolicy: "Never" }) as unknown as {
        readonly spec: { readonly template: object };
      };
      const jobTemplate = { spec: { template: spec.template } };
      return released("batch/v1", "CronJob", "fresh", { spec: { schedule: "0 0 1 1 *", jobTemplate } });
    }),
  },
  {
    title: "nor leads out of the cluster",
    ...{ ...RUNS, words: "no Service that leads out" },
    ...create(() => released("v1", "Service", "fresh", { spec: { type: "NodePort", ports: [{ port: 80 }] } })),
  },
  {
    title: "nor takes over addresses",
    ...{ ...RUNS, words: "takes over no address" },
    ...create(() =>
      released("v1", "Service", "fresh", { spec: { externalIPs: ["192.0.2.1"], ports: [{ port: 80 }] } }),
    ),
  },
  {
    title: "nor brings an Ingress",
    ...{ ...RUNS, words: "makes no Ingress" },
    ...create(() =>
      released("networking.k8s.io/v1", "Ingress", "fresh", {
        spec: { defaultBackend: { service: { name: "member", port: { number: 80 } } } },
      }),
    ),
  },
  {
    title: "the account that plans is told of it in the dry run",
    ...{ policy: OBJECTS, as: "plan", words: "in the node's own network" },
    ...create(() => releasedDeployment("fresh", { hostNetwork: true })),
  },
  {
    title: "a rollout borrows no account of the customer's",
    ...{ policy: ACCOUNTS, as: "rollout", words: "a service account that the release itself has installed" },
    ...create(() => releasedDeployment("fresh", { serviceAccountName: "customers" })),
  },
  {
    title: "nor one of another deployment's release",
    ...{ policy: ACCOUNTS, as: "rollout", words: "a service account that the release itself has installed" },
    ...create(() => releasedDeployment("fresh", { serviceAccountName: "others" })),
  },
  {
    title: "a stolen agent asks for no rollout that is paused, and shown as another than it is",
    ...{ policy: WORDS, as: "agent", words: "created without the customer's words" },
    ...create(() => rollout("asked", { pausedReason: "run this" })),
  },
  {
    title: "nor for one that another controller takes for its own",
    ...{ policy: WORDS, as: "agent", words: "takes no label and no annotation" },
    ...create(() => rollout("asked", {}, { labels: { "app.kubernetes.io/managed-by": "Helm" } })),
  },
  {
    title: "nor for one that cannot be deleted",
    ...{ policy: WORDS, as: "agent", words: "takes no finalizer and no owner" },
    ...create(() => rollout("asked", {}, { finalizers: ["example.com/keep"] })),
  },
  {
    title: "nor lets its own go on",
    ...{ policy: WORDS, as: "agent", words: "a service account or node cannot decide" },
    args: () => say("waiting", { approvedDigest: DIGEST }),
  },
  {
    title: "nor does a stolen operator",
    ...{ policy: WORDS, as: "operator", words: "a service account or node cannot decide" },
    args: () => say("waiting", { approvedDigest: DIGEST }),
  },
  {
    title: "nor takes over the customer's fields",
    ...{ policy: WORDS, as: "operator", words: "a service account or node cannot decide" },
    args: () => say("waiting", { takeOver: [{ kind: "Deployment", name: "web" }] }),
  },
  {
    title: "nor removes the record of a rollout that goes on",
    ...{ policy: WORDS, as: "operator", words: "only the record of a rollout that has ended" },
    args: () => ["delete", "rout", "waiting", "-n", GRANTS, "--dry-run=server"],
  },
  {
    title: "a person without the right lets no rollout go on",
    ...{ policy: WORDS, as: "oncall", words: "the right to approve mutating changes" },
    args: () => say("waiting", { approvedDigest: DIGEST }),
  },
  {
    title: "nor takes fields over",
    ...{ policy: WORDS, as: "oncall", words: "the right to approve mutating changes" },
    args: () => say("waiting", { takeOver: [{ kind: "Deployment", name: "web" }] }),
  },
  {
    title: "nor lets one go on that an approver has paused",
    ...{ policy: WORDS, as: "oncall", words: "the right to approve mutating changes" },
    args: () => say("paused", { pausedReason: null }),
  },
  {
    title: "nor lets a deletion go on, with the right to approve changes alone",
    ...{ policy: WORDS, as: "mutator", words: "the right to approve destructive changes" },
    args: () => say("leaving", { approvedDigest: DIGEST }),
  },
  {
    title: "nor an update go on that deletes what it makes anew",
    ...{ policy: WORDS, as: "mutator", words: "the right to approve destructive changes" },
    args: () => say("anew", { approvedDigest: DIGEST }),
  },
  {
    title: "a stranger denies none",
    ...{ policy: WORDS, as: "stranger", words: "you need the verb revoke on it" },
    args: () => say("waiting", { deniedReason: "no" }),
  },
  {
    title: "nor aborts one",
    ...{ policy: WORDS, as: "stranger", words: "you need the verb revoke on it" },
    args: () => say("waiting", { abortReason: "no" }),
  },
  {
    title: "nor pauses one",
    ...{ policy: WORDS, as: "stranger", words: "you need the verb revoke on it" },
    args: () => say("waiting", { pausedReason: "no" }),
  },
  {
    title: "an approver allows nothing but what was planned",
    ...{ policy: WORDS, as: "approver", words: "must be what was planned and shown" },
    args: () => say("waiting", { approvedDigest: OTHER_DIGEST }),
  },
  {
    title: "an approver approves in no other person's name",
    ...{ policy: WORDS, as: "approver", words: "approvedBy must be the user who" },
    args: () => say("waiting", { approvedDigest: DIGEST, approvedBy: "bob" }),
  },
  {
    title: "nor denies so",
    ...{ policy: WORDS, as: "approver", words: "deniedBy must be the user who" },
    args: () => say("waiting", { deniedReason: "no", deniedBy: "bob" }),
  },
  {
    title: "nor aborts so",
    ...{ policy: WORDS, as: "approver", words: "abortedBy must be the user who" },
    args: () => say("waiting", { abortReason: "no", abortedBy: "bob" }),
  },
  {
    title: "what was shown is not changed afterwards, by an admin either",
    ...{ policy: CONTENT, as: "admin", words: "the content of a release is immutable" },
    args: () => [
      ...["patch", "relc", "rel-1", "-n", GRANTS, "--type=json", "--dry-run=server", "-p"],
      '[{"op":"replace","path":"/spec/objects/0/manifest/spec/template/spec/containers/0/image","value":"evil:1"}]',
    ],
  },
  {
    title: "nor kept from being deleted by the agent",
    ...{ policy: CONTENT, as: "agent", words: "takes no finalizer and no owner" },
    ...create(() => content("rel-2", { finalizers: ["example.com/keep"] })),
  },
  {
    title: "a stolen operator lends the role of releases to no account of another rollout than the label's",
    ...{ policy: BINDINGS, as: "operator", words: "only bind the grant's own ServiceAccount" },
    ...create(() => binding({ account: rolloutAccount(ownerOf(OTHER_UID)) })),
  },
  {
    title: "nor to the account of a grant, which no policy for releases holds",
    ...{ policy: BINDINGS, as: "operator", words: "only bind the grant's own ServiceAccount" },
    ...create(() => binding({ account: grantAccount(ROLLOUT_UID) })),
  },
  {
    title: "nor by a grant's label",
    ...{ policy: BINDINGS, as: "operator", words: "only make RoleBindings labelled" },
    ...create(() => binding({ account: grantAccount(ROLLOUT_UID), labels: { [GRANT_UID_LABEL]: ROLLOUT_UID } })),
  },
  {
    title: "nor another role to the account of a rollout",
    ...{ policy: BINDINGS, as: "operator", words: "only make RoleBindings labelled" },
    ...create(() => binding({ role: "sallyport-op-kubernetes-logs" })),
  },
  {
    title: "nor by a binding of another name",
    ...{ policy: BINDINGS, as: "operator", words: "only bind the grant's own ServiceAccount" },
    ...create(() => binding({ name: "mine" })),
  },
  {
    title: "nor to one whose name says no deployment",
    ...{ policy: BINDINGS, as: "operator", words: "only bind the grant's own ServiceAccount" },
    ...create(() => binding({ account: UNNAMED })),
  },
  {
    title: "nor for more than two hours",
    ...{ policy: BINDINGS, as: "operator", words: "two hours at most" },
    ...create(() => binding({ minutes: 130 })),
  },
  {
    title: "nor in the whole cluster",
    ...{ policy: BINDINGS, as: "operator", words: "may not touch ClusterRoleBindings" },
    ...create(() => binding({ kind: "ClusterRoleBinding" })),
  },
  {
    title: "nor in a system namespace",
    ...{ policy: BINDINGS, as: "operator", words: "may not bind roles in a system namespace" },
    ...create(() => binding({ namespace: "kube-system" })),
  },
  {
    title: "nor makes an account with a right outside of the cluster",
    ...{ policy: MADE, as: "operator", words: "no other label or annotation" },
    ...create(() => account(planAccount(ownerOf(OTHER_UID)), { annotations: { "eks.amazonaws.com/role-arn": "arn" } })),
  },
  {
    title: "nor makes an account that is named after another rollout than the one it is labelled with",
    ...{ policy: MADE, as: "operator", words: "named after that rollout" },
    ...create(() => {
      const labels = { [ROLLOUT_UID_LABEL]: ROLLOUT_UID };
      return account(rolloutAccount(ownerOf(OTHER_UID)), { labels, ownerReferences: [owner(ROLLOUT_UID)] });
    }),
  },
  {
    title: "nor one that is there without its rollout",
    ...{ policy: MADE, as: "operator", words: "named after that rollout" },
    ...create(() => account(rolloutAccount(ownerOf(OTHER_UID)), { labels: { [ROLLOUT_UID_LABEL]: OTHER_UID } })),
  },
  {
    title: "nor takes a token of an account that is no rollout's",
    ...{ policy: "sallyport-operator-tokens", as: "operator", words: "only mint tokens for grant accounts" },
    args: () => ["create", "token", "default", "-n", GRANTS],
  },
  {
    title: "nor brings a command before the eyes of who reads a plan",
    ...{ policy: "sallyport-no-commands-in-status", as: "operator", words: "holds no command" },
    args: () => [
      ...["patch", "rout", "waiting", "-n", GRANTS, "--type=merge", "--subresource=status", "--dry-run=server", "-p"],
      JSON.stringify({
        status: { plan: { create: 0, change: 0, prune: 0, unchanged: 0, changes: ["run kubectl now"] } },
      }),
    ],
  },
  {
    title: "a person gives the role of releases to no account of a grant",
    ...{ policy: "sallyport-lending", as: "admin", words: "lent by the operator alone" },
    ...create(() => binding({ account: grantAccount(ROLLOUT_UID), labels: {} })),
  },
];

const OPTIONS = {
  registries: [REGISTRY, "other.example"],
  mayRead: { secrets: ["shop-*"], configMaps: ["shop-settings"], volumeClaims: ["data-cache-*"] },
};
const attacked = {
  cluster,
  kubeconfigs,
  policies: () => [...installation().policies, ...openReleases(undefined, OPTIONS)],
};
const run = runAs<Who>(attacked);

const RBAC = "rbac.authorization.k8s.io";
const bound = (kind: string, name: string, role: object, subject: object): Record<string, unknown> => ({
  ...{ apiVersion: `${RBAC}/v1`, kind, metadata: { name, ...(kind === "RoleBinding" && { namespace: GRANTS }) } },
  ...{ roleRef: { apiGroup: RBAC, kind: "ClusterRole", ...role }, subjects: [subject] },
});
const user = (name: string): object => ({ apiGroup: RBAC, kind: "User", name });
const everything = (name: string, subject: object): Record<string, unknown> =>
  bound("ClusterRoleBinding", `careless-${name}`, { name: "cluster-admin" }, subject);
const role = (name: string, rules: object): Record<string, unknown> => ({
  ...{ apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name }, rules: [rules] },
});

beforeAll(async () => {
  world = await OperatorWorld.create(cluster());
  await cluster().apply([...openReleases(undefined, OPTIONS), ...openNamespaceToReleases(SHOP), ...openCluster()]);
  const words = { apiGroups: ["sallyport.dev"], resources: ["rollouts"], verbs: ["get", "patch"] };
  await cluster().apply([
    everything("rollouts", { apiGroup: RBAC, kind: "Group", name: `system:serviceaccounts:${GRANTS}` }),
    everything("processes", { apiGroup: RBAC, kind: "Group", name: `system:serviceaccounts:${systemNamespace}` }),
    role("patches-rollouts", words),
    role("approves-changes", {
      apiGroups: ["sallyport.dev"],
      resources: ["risks"],
      resourceNames: ["mutating"],
      verbs: ["approve"],
    }),
    bound("RoleBinding", "oncall", { name: "sallyport-oncall" }, user(ONCALL)),
    ...[STRANGER, MUTATOR].map((name) =>
      bound("RoleBinding", `patches-${name}`, { name: "patches-rollouts" }, user(name)),
    ),
    bound("RoleBinding", "approves-changes", { name: "approves-changes" }, user(MUTATOR)),
    ...[PLAN, ROLLOUT_RUN, UNNAMED].map((name) => account(name) as Record<string, unknown>),
    account("customers", {}, SHOP) as Record<string, unknown>,
    account("others", { labels: OTHERS }, SHOP) as Record<string, unknown>,
    account("own", { labels: MEMBER }, SHOP) as Record<string, unknown>,
    released("v1", "ConfigMap", "member"),
    released("v1", "ConfigMap", "others", {}, { labels: OTHERS }),
    ...["theirs", "shop-settings"].map((name) => released("v1", "ConfigMap", name, {}, { labels: {} })),
    ...(["vault", "own-set"] as const).map((name) =>
      released(
        "apps/v1",
        "StatefulSet",
        name,
        {
          spec: {
            ...marked({}),
            ...{
              replicas: 0,
              serviceName: name,
              volumeClaimTemplates: [{ metadata: { name: "data" }, ...claimOf({}) }],
            },
          },
        },
        name === "vault" ? { labels: {} } : {},
      ),
    ),
    ...["data-db-0", "data-cache-0"].map((name) =>
      released("v1", "PersistentVolumeClaim", name, claimOf({}), { labels: {} }),
    ),
    released("v1", "PersistentVolumeClaim", "data-own-0", claimOf({})),
    // The customer has had it read a Secret.
    releasedDeployment("reading", volume({ secret: { secretName: "theirs" } })),
    released("v1", "Service", "member", { spec: { ports: [{ port: 80 }] } }),
    releasedDeployment("member"),
    // The customer has given it the node's network.
    releasedDeployment("touched", { hostNetwork: true, serviceAccountName: "own" }),
    // The customer has bound it to a node, and to a network.
    released("apps/v1", "Deployment", "pinned", { spec: marked(PINNED, NETWORK) }),
    content("rel-1") as Record<string, unknown>,
    ...["waiting", "denied", "ended", "paused", "unnamed", "anew"].map(
      (name) => rollout(name) as Record<string, unknown>,
    ),
    rollout("leaving", { action: "delete", contentName: undefined, contentDigest: undefined }) as Record<
      string,
      unknown
    >,
  ]);
  for (const name of ["agent", "operator"] as const) {
    kubeconfigs[name] = await cluster().kubeconfigForServiceAccount(systemNamespace, `sallyport-${name}`);
  }
  kubeconfigs.plan = await cluster().kubeconfigForServiceAccount(GRANTS, PLAN);
  kubeconfigs.unnamed = await cluster().kubeconfigForServiceAccount(GRANTS, UNNAMED);
  kubeconfigs.rollout = await cluster().kubeconfigForServiceAccount(GRANTS, ROLLOUT_RUN);
  const people = { approver: APPROVER, oncall: ONCALL, mutator: MUTATOR, stranger: STRANGER } as const;
  for (const [who, name] of Object.entries(people)) kubeconfigs[who as Who] = cluster().kubeconfigFor({ user: name });
  kubeconfigs.admin = cluster().adminKubeconfig;
  await report("waiting", { state: "Planning" });
  await report("waiting", { state: "AwaitingApproval", plannedDigest: DIGEST });
  await report("leaving", { state: "Planning", plannedDigest: DIGEST });
  await report("ended", { state: "Failed" });
  await report("unnamed", { state: "Planning", plannedDigest: DIGEST });
  const plan = { create: 0, change: 0, prune: 0, unchanged: 0, recreate: ["Deployment.apps/shop/api"] };
  await report("anew", { state: "Planning", plannedDigest: DIGEST, plan });
  await report("paused", { state: "Planning" });
  const pause = JSON.stringify({ spec: { pausedReason: "audit" } });
  expect((await cluster().kubectl(["patch", "rout", "paused", "-n", GRANTS, "--type=merge", "-p", pause])).stderr).toBe(
    "",
  );
  await inForce(ATTACKS, run);
});
afterAll(() => world?.close());

async function report(name: string, status: object): Promise<void> {
  const line = [
    "patch",
    "rout",
    name,
    "-n",
    GRANTS,
    "--type=merge",
    "--subresource=status",
    "-p",
    JSON.stringify({ status }),
  ];
  expect((await cluster().kubectl(line)).stderr).toBe("");
}

testRefusals(ATTACKS, attacked);

describe("let through", () => {
  const bare = { [ROLLOUT_UID_LABEL]: OTHER_UID };
  test.each<[string, Who, readonly string[], (() => object)?]>([
    ["the agent writes what a release installs", "agent", CREATE, () => content("rel-9")],
    ["the agent asks for a rollout", "agent", CREATE, () => rollout("asked")],
    [
      "the operator makes the account of a rollout",
      "operator",
      CREATE,
      () => account(rolloutAccount(ownerOf(OTHER_UID)), { labels: bare, ownerReferences: [owner(OTHER_UID)] }),
    ],
    ["the operator lends the role to the account that plans", "operator", CREATE, () => binding({ account: PLAN })],
    ["the operator lends it to the one that carries out", "operator", CREATE, () => binding()],
    ["the operator acts as that account", "operator", ["create", "token", ROLLOUT_RUN, "-n", GRANTS, "--duration=10m"]],
    [
      "the operator removes it",
      "operator",
      ["delete", "serviceaccount", ROLLOUT_RUN, "-n", GRANTS, "--dry-run=server"],
    ],
    ["the operator removes an old record", "operator", ["delete", "rout", "ended", "-n", GRANTS, "--dry-run=server"]],
    ["the account that plans tries a Deployment", "plan", CREATE, () => releasedDeployment("fresh")],
    ["it tries a deletion", "plan", ["delete", "configmap", "member", "-n", SHOP, "--dry-run=server"]],
    ["it asks what it may do", "plan", ["auth", "can-i", "create", "deployments", "-n", SHOP]],
    ["a rollout installs a Deployment", "rollout", CREATE, () => releasedDeployment("fresh")],
    [
      "with the account that the release brings",
      "rollout",
      CREATE,
      () => releasedDeployment("fresh", { serviceAccountName: "own", automountServiceAccountToken: true }),
    ],
    [
      "with one that does not exist yet",
      "rollout",
      CREATE,
      () => releasedDeployment("fresh", { serviceAccountName: "new" }),
    ],
    [
      "what it reads is named, its own, or not there yet",
      "rollout",
      CREATE,
      () =>
        releasedDeployment(
          "fresh",
          {
            volumes: [
              { name: "a", configMap: { name: "shop-settings" } },
              { name: "b", persistentVolumeClaim: { claimName: "data-cache-0" } },
              { name: "c", configMap: { name: "member" } },
              { name: "d", configMap: { name: "new" } },
            ],
            imagePullSecrets: [{ name: "shop-pull" }],
          },
          { envFrom: [{ secretRef: { name: `cfg-dpl-shop-1-${"0a".repeat(16)}` } }] },
        ),
    ],
    [
      "it makes a claim that a StatefulSet of its own takes",
      "rollout",
      CREATE,
      () => released("v1", "PersistentVolumeClaim", "data-own-set-0", claimOf({})),
    ],
    [
      "it makes a claim whose name only begins like one of a StatefulSet",
      "rollout",
      CREATE,
      () => released("v1", "PersistentVolumeClaim", "data-vault-backup", claimOf({})),
    ],
    [
      "a StatefulSet takes the claims that one of its own has left",
      "rollout",
      CREATE,
      () =>
        released("apps/v1", "StatefulSet", "own", {
          spec: {
            ...marked({}),
            ...{ serviceName: "own", volumeClaimTemplates: [{ metadata: { name: "data" }, ...claimOf({}) }] },
          },
        }),
    ],
    [
      "it changes what the customer has had read a Secret",
      "rollout",
      [
        "patch",
        "deployment",
        "reading",
        "-n",
        SHOP,
        "--dry-run=server",
        "-p",
        JSON.stringify({ spec: { paused: true } }),
      ],
    ],
    ["it brings an account", "rollout", CREATE, () => released("v1", "ServiceAccount", "new")],
    [
      "it claims a volume",
      "rollout",
      CREATE,
      () =>
        released("v1", "PersistentVolumeClaim", "fresh", {
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        }),
    ],
    [
      "it changes what was installed",
      "rollout",
      ["annotate", "deployment", "member", "-n", SHOP, "a=b", "--dry-run=server"],
    ],
    [
      "it changes what the customer has bound to a node",
      "rollout",
      [
        "patch",
        "deployment",
        "pinned",
        "-n",
        SHOP,
        "--dry-run=server",
        "-p",
        JSON.stringify({ spec: { paused: true } }),
      ],
    ],
    ["it prunes it", "rollout", ["delete", "deployment", "member", "-n", SHOP, "--dry-run=server"]],
    [
      "it lets one go, unlabelled, to the customer who has changed it",
      "rollout",
      [
        "label",
        "deployment",
        "touched",
        "-n",
        SHOP,
        "--dry-run=server",
        ...Object.keys(MEMBER).map((label) => `${label}-`),
      ],
    ],
    ["a person on call pauses it", "oncall", say("waiting", { pausedReason: "peak hours" })],
    ["who may approve changes lets it go on after a pause", "mutator", say("paused", { pausedReason: null })],
    ["a person on call pauses it anew", "oncall", say("paused", { pausedReason: "and tomorrow" })],
    ["a person on call stops it", "oncall", say("waiting", { abortReason: "peak hours" })],
    ["who may approve changes lets an update go on", "mutator", say("waiting", { approvedDigest: DIGEST })],
    ["an approver lets a deletion go on", "approver", say("leaving", { approvedDigest: DIGEST })],
    ["an approver takes fields over", "approver", say("waiting", { takeOver: [{ kind: "Deployment", name: "web" }] })],
  ])("%s", async (_, as, args, stdin) => {
    const { code, stderr } = await run({ as, args, stdin });
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });

  test("the API server writes the name of the person who decides", async () => {
    const said = async (as: Who, name: string, spec: object): Promise<string> => {
      const args = ["patch", "rout", name, "-n", GRANTS, "--type=merge", "-o", "json", "-p", JSON.stringify({ spec })];
      const { stdout, stderr } = await run({ as, args });
      expect(stderr).toBe("");
      return stdout;
    };
    expect(JSON.parse(await said("approver", "waiting", { approvedDigest: DIGEST })).spec.approvedBy).toBe(APPROVER);
    expect(JSON.parse(await said("oncall", "waiting", { abortReason: "peak" })).spec.abortedBy).toBe(ONCALL);
    expect(JSON.parse(await said("oncall", "denied", { deniedReason: "no" })).spec.deniedBy).toBe(ONCALL);
  });

  test.each([
    ["sallyport-stamp-rollout-approver", { approvedDigest: DIGEST }, "approvedDigest carries no name"],
    ["sallyport-stamp-rollout-denier", { deniedReason: "no" }, "deniedReason carries no name"],
    ["sallyport-stamp-rollout-aborter", { abortReason: "no" }, "abortReason carries no name"],
  ])(
    "without %s a word that carries no name is refused, and one with the person's own is taken",
    async (policy, spec, words) => {
      await cluster().kubectl(["delete", "mutatingadmissionpolicybinding", policy]);
      await eventually(
        () => run({ as: "approver", args: say("unnamed", spec) }),
        ({ stderr }) => stderr.includes(words),
      );
      const by = { approvedDigest: "approvedBy", deniedReason: "deniedBy", abortReason: "abortedBy" };
      const own = Object.fromEntries(
        Object.entries(by).flatMap(([word, name]) => (word in spec ? [[name, APPROVER]] : [])),
      );
      const { code, stderr } = await run({ as: "approver", args: say("unnamed", { ...spec, ...own }) });
      expect({ code, stderr }).toMatchObject({ code: 0 });
    },
  );
});

// The last: it exchanges a policy.
test("a role of the customer's own goes to the accounts of one rollout too, and to no others", async () => {
  const own = "acme-releases";
  const { policies } = installation({ ...DEFAULT_NAMES, releaseRole: own });
  await cluster().apply(policies.filter(({ metadata }) => metadata.name === BINDINGS));
  await cluster().apply([role(own, { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] })]);
  const lends = (lent: Lent) => run({ as: "operator", ...create(() => binding({ role: own, ...lent })) });
  await eventually(
    () => lends({}),
    ({ code }) => code === 0,
  );
  expect((await lends({ account: PLAN })).code).toBe(0);
  const grant = { account: grantAccount(ROLLOUT_UID), labels: { [GRANT_UID_LABEL]: ROLLOUT_UID } };
  expect((await lends(grant)).stderr).toContain("only make RoleBindings labelled");
  expect((await lends({ minutes: 130 })).stderr).toContain("two hours at most");
  expect((await lends({ kind: "ClusterRoleBinding" })).stderr).toContain("may not touch ClusterRoleBindings");
  expect((await lends({ role: "view" })).stderr).toContain("only make RoleBindings labelled");
  // One that was lent before the customer has chosen that role is taken back all the same.
  await cluster().apply([binding({ role: "view" }) as Record<string, unknown>]);
  const removed = ["delete", "rolebinding", ROLLOUT_RUN, "-n", SHOP, "--dry-run=server"];
  expect(await run({ as: "operator", args: removed })).toMatchObject({ code: 0 });
});

test("a person lends that role to no account among the grants, by any name, and to others as they like", async () => {
  const own = "acme-releases";
  const { policies } = installation({ ...DEFAULT_NAMES, releaseRole: own });
  const lends = (subject: object, kind = "RoleBinding") =>
    run({ as: "admin", ...create(() => bound(kind, "own-role", { name: own }, subject)) });
  const group = (name: string): object => ({ apiGroup: RBAC, kind: "Group", name });
  const among = { kind: "ServiceAccount", name: grantAccount(ROLLOUT_UID), namespace: GRANTS };
  // Until now nothing speaks against it.
  expect(await lends(among)).toMatchObject({ code: 0 });
  await cluster().apply(policies.filter(({ metadata }) => metadata.name === "sallyport-lending"));
  const words = "the role of releases is lent by the operator alone";
  await eventually(
    () => lends(among),
    ({ stderr }) => stderr.includes(words),
  );
  const names = [
    { ...among, name: ROLLOUT_RUN },
    user(`system:serviceaccount:${GRANTS}:${grantAccount(ROLLOUT_UID)}`),
    ...["system:authenticated", "system:serviceaccounts", `system:serviceaccounts:${GRANTS}`].map(group),
  ];
  for (const subject of names) expect((await lends(subject)).stderr).toContain(words);
  expect((await lends(among, "ClusterRoleBinding")).stderr).toContain(words);
  const others = [user("ann@example.com"), { ...among, namespace: SHOP }];
  for (const subject of others) expect(await lends(subject)).toMatchObject({ code: 0 });
});
