import { SHOP } from "../../world/people.ts";
import type { Attack } from "../attacks.ts";
import { released, releasedDeployment, securedContainer } from "../releases/released-objects.ts";
import {
  ACCOUNTS,
  CLAIM_NAMES,
  CLAIMS,
  CONFIG_MAPS,
  claimOf,
  made,
  marked,
  OBJECTS,
  pod,
  RUNS,
  security,
  volume,
  type Who,
} from "./release-writes.ts";
import { create } from "./writes.ts";

// What a release may not bring: pods, and what holds or finds them.

export const POD_ATTACKS: readonly Attack<Who>[] = [
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
  pod("nor evicts others", "with a priority class", { priorityClassName: "system-node-critical" }),
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
  made("nor annotates a pod for another network", "pods and claims annotations", () =>
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
  made("nor gives an account an identity of the cloud", "writes annotations", () =>
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
  made("nor a class by an annotation", "writes annotations", () =>
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
];
