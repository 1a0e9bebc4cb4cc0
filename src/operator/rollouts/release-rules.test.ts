import { describe, expect, test } from "vitest";
import type { ReleaseManifest, ReleaseObject } from "../../crds/kinds/release-content.ts";
import { DEPLOYMENT_ID_LABEL } from "../../crds/release-names.ts";
import { READS_NOTHING } from "../../crds/released/may-read.ts";
import { USES_NOTHING } from "../../crds/released/may-use.ts";
import { adoptedProblems, RELEASE_KINDS, type ReleaseRules, refOf, releaseProblems } from "./release-rules.ts";

const RULES: ReleaseRules = {
  ...{ kinds: RELEASE_KINDS, namespaces: ["shop"], registries: [], mayExpose: false },
  ...{ mayRead: READS_NOTHING, mayUse: USES_NOTHING, maxPods: 100, podSecurity: "baseline" },
};

const line = (manifest: ReleaseManifest): ReleaseObject => ({ wave: 0, frozen: false, resourceId: "api", manifest });

const OWN = { [DEPLOYMENT_ID_LABEL]: "dep_1" };
const OTHER = { [DEPLOYMENT_ID_LABEL]: "dep_2" };

function deployment(pod: object = {}, container: object = {}, metadata: object = {}): ReleaseManifest {
  const containers = [{ name: "c", image: "registry.example/shop/api:2", ...container }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "api", namespace: "shop", labels: OWN, ...metadata },
    spec: {
      selector: { matchLabels: OWN },
      template: { metadata: { labels: OWN }, spec: { automountServiceAccountToken: false, containers, ...pod } },
    },
  };
}
const object = (apiVersion: string, kind: string, rest: object = {}): ReleaseManifest => ({
  ...{ apiVersion, kind, metadata: { name: "api", namespace: "shop", labels: OWN } },
  ...rest,
});
const templateOf = (spec: object): object => ({ metadata: { labels: OWN }, spec });
const workload = (rest: object): ReleaseManifest =>
  object("apps/v1", "StatefulSet", { spec: { ...templated, ...rest } });
const templated = {
  selector: { matchLabels: OWN },
  template: templateOf({ automountServiceAccountToken: false, containers: [] }),
};
const claim = (spec: object, metadata: object = {}): ReleaseManifest =>
  object("v1", "PersistentVolumeClaim", {
    metadata: { name: "api", namespace: "shop", labels: OWN, ...metadata },
    spec,
  });
const account = (rest: object, metadata: object = {}): ReleaseManifest =>
  object("v1", "ServiceAccount", { metadata: { name: "own", namespace: "shop", labels: OWN, ...metadata }, ...rest });
const policy = (podSelector: object): ReleaseManifest =>
  object("networking.k8s.io/v1", "NetworkPolicy", { spec: { podSelector } });
const budget = (spec: object): ReleaseManifest => object("policy/v1", "PodDisruptionBudget", { spec });
const scaler = (scaleTargetRef: object): ReleaseManifest =>
  object("autoscaling/v2", "HorizontalPodAutoscaler", { spec: { scaleTargetRef } });
const pinned = (affinity: object): ReleaseManifest => deployment({ affinity: { nodeAffinity: affinity } });
const nodeOf = (spec: unknown): object => spec as object;
const byHost = [{ key: "kubernetes.io/hostname", operator: "In", values: ["n-1"] }];
const named = (name: string): object => ({ name, namespace: "shop", labels: OWN });
const problems = (manifests: readonly ReleaseManifest[], rules: Partial<ReleaseRules> = {}): readonly string[] =>
  releaseProblems(manifests.map(line), { ...RULES, ...rules }).map(({ message }) => message);

test("an object is named by kind, group, namespace and name", () => {
  expect(refOf(deployment())).toBe("Deployment.apps/shop/api");
  expect(refOf(object("v1", "Service"))).toBe("Service/shop/api");
});

test("an ordinary release has no problem", () => {
  const own = deployment({ serviceAccountName: "own", automountServiceAccountToken: true });
  const job = object("batch/v1", "CronJob", {
    spec: { jobTemplate: { spec: { template: templateOf({ automountServiceAccountToken: false, containers: [] }) } } },
  });
  const service = (selector: object) => object("v1", "Service", { metadata: named("api"), spec: { selector } });
  const orderly = deployment(
    {
      ...{
        hostAliases: [{ ip: "127.0.0.1", hostnames: ["a"] }],
        nodeSelector: { disk: "ssd" },
      },
      securityContext: {
        seccompProfile: { type: "RuntimeDefault" },
        seLinuxOptions: { type: "container_t", level: "s0" },
      },
    },
    { livenessProbe: { httpGet: { port: 80 } }, lifecycle: { preStop: { exec: { command: ["a"] } } } },
    named("web"),
  );
  const rest = [
    scaler({ apiVersion: "apps/v1", kind: "Deployment", name: "web" }),
    policy({ matchLabels: { ...OWN, app: "a" }, matchExpressions: [{ key: "a", operator: "Exists" }] }),
    budget({ selector: { matchLabels: OWN } }),
    claim({ storageClassName: "fast" }),
    workload({ volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { resources: {} } }] }),
  ];
  expect(problems([account({}), own, job, service(OWN), orderly, ...rest])).toEqual([]);
  expect(problems([object("v1", "Service", { spec: { ports: [{ port: 80 }] } })])).toEqual([]);
});

type Row = [string, ReleaseManifest, string];
const CLASS = "volume.beta.kubernetes.io/storage-class";
const annotated = (name: string): Row => [
  `${name} on a pod`,
  workload({ template: { ...templated.template, metadata: { labels: OWN, annotations: { [name]: "a" } } } }),
  `annotation ${name}`,
];

describe("refused is", () => {
  test.each<Row>([
    [
      "a namespace that is not accepted",
      deployment({}, {}, { namespace: "billing" }),
      "not accepted in namespace billing",
    ],
    ["no namespace", deployment({}, {}, { namespace: undefined }), "names no namespace"],
    ["a right", object("rbac.authorization.k8s.io/v1", "RoleBinding"), "no RoleBinding.rbac.authorization.k8s.io"],
    ["a kind of the same name in another group", object("apps.example/v1", "Deployment"), "no Deployment.apps.example"],
    ["a Secret", object("v1", "Secret"), "install no Secret"],
    ["a webhook", object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"), "install no"],
    ["an owner", deployment({}, {}, { ownerReferences: [{ name: "o" }] }), "metadata.ownerReferences"],
    ["a finalizer", deployment({}, {}, { finalizers: ["a/b"] }), "metadata.finalizers"],
    ["a generated name", deployment({}, {}, { generateName: "a" }), "metadata.generateName"],
    ["the node's network", deployment({ hostNetwork: true }), "hostNetwork"],
    ["the node's processes", deployment({ hostPID: true }), "hostPID"],
    ["the node's files", deployment({ volumes: [{ name: "v", hostPath: { path: "/" } }] }), "volume v"],
    ["a driver's own volume", deployment({ volumes: [{ name: "v", csi: { driver: "d" } }] }), "volume v"],
    ["an account of others", deployment({ serviceAccountName: "admin" }), "service account admin"],
    ["an account by its old name", deployment({ serviceAccount: "admin" }), "service account admin"],
    [
      "the namespace's own token",
      deployment({ automountServiceAccountToken: undefined }),
      "automountServiceAccountToken",
    ],
    [
      "the namespace's own token by another way",
      deployment({ volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] }),
      "projected token",
    ],
    [
      "a certificate of the pod's account",
      deployment({ volumes: [{ name: "v", projected: { sources: [{ podCertificate: { keyType: "ED25519" } }] } }] }),
      "of a kind that may not be used",
    ],
    ["a node by name", deployment({ nodeName: "control-plane-1" }), "nodeName"],
    ["a privileged container", deployment({}, { securityContext: { privileged: true } }), "privileged"],
    [
      "a privileged container that runs first",
      deployment({ initContainers: [{ name: "i", securityContext: { privileged: true } }] }),
      "container i is privileged",
    ],
    ["a way to more", deployment({}, { securityContext: { allowPrivilegeEscalation: true } }), "escalate"],
    ["a capability", deployment({}, { securityContext: { capabilities: { add: ["SYS_ADMIN"] } } }), "capabilities"],
    ["an open /proc", deployment({}, { securityContext: { procMount: "Unmasked" } }), "/proc"],
    ["a port of the node", deployment({}, { ports: [{ containerPort: 80, hostPort: 80 }] }), "port of the node"],
    ["a Service that leads out", object("v1", "Service", { spec: { type: "LoadBalancer" } }), "leads out"],
    ["a Service with a name of elsewhere", object("v1", "Service", { spec: { type: "ExternalName" } }), "leads out"],
    ["an address that is taken over", object("v1", "Service", { spec: { externalIPs: ["1.2.3.4"] } }), "addresses"],
    ["an Ingress", object("networking.k8s.io/v1", "Ingress"), "exposes"],
    [
      "an identity of a cloud",
      account({}, { annotations: { "eks.amazonaws.com/role-arn": "a" } }),
      "annotation eks.amazonaws.com/role-arn is not in releases.mayUse.annotations",
    ],
    ["a Secret of an account", account({ secrets: [{ name: "a" }] }), "secrets may not be set"],
    ["a Secret to pull with", account({ imagePullSecrets: [{ name: "a" }] }), "imagePullSecrets may not be set"],
    ...["iam.amazonaws.com/role", "k8s.v1.cni.cncf.io/networks", "v1.multus-cni.io/default-network"].map(annotated),
    annotated("container.apparmor.security.beta.kubernetes.io/c"),
    ["no mark on its pods", workload({ template: { spec: { automountServiceAccountToken: false } } }), "its pods lack"],
    [
      "a mark of others on its pods",
      workload({ template: { ...templated.template, metadata: { labels: OTHER } } }),
      "its pods lack",
    ],
    ["pods of others", workload({ selector: { matchLabels: { app: "a" } } }), "chooses pods"],
    ["a network policy for all pods", policy({}), "chooses pods"],
    ["a network policy for pods of others", policy({ matchLabels: { app: "db" } }), "chooses pods"],
    ["a network policy for another deployment's", policy({ matchLabels: OTHER }), "chooses pods"],
    ["a network policy without a word", object("networking.k8s.io/v1", "NetworkPolicy"), "chooses pods"],
    ["a budget for all pods", budget({ selector: {} }), "chooses pods"],
    ["a budget for pods of others", budget({ selector: { matchLabels: { app: "db" } } }), "chooses pods"],
    ["a Service for pods of others", object("v1", "Service", { spec: { selector: { app: "db" } } }), "chooses pods"],
    [
      "a Job that chooses pods",
      object("batch/v1", "Job", { spec: { template: templated.template, manualSelector: true } }),
      "manualSelector",
    ],
    ["an autoscaler of others", scaler({ apiVersion: "apps/v1", kind: "Deployment", name: "db" }), "scaleTargetRef"],
    [
      "an autoscaler of another kind",
      scaler({ apiVersion: "v1", kind: "ReplicationController", name: "a" }),
      "scaleTargetRef",
    ],
    [
      "a user of SELinux",
      deployment({ securityContext: { seLinuxOptions: { user: "system_u" } } }),
      "the pod has seLinux",
    ],
    [
      "a role of SELinux",
      deployment({}, { securityContext: { seLinuxOptions: { role: "r" } } }),
      "container c has seLinux",
    ],
    ["a type of SELinux", deployment({}, { securityContext: { seLinuxOptions: { type: "spc_t" } } }), "seLinux"],
    ["no seccomp", deployment({ securityContext: { seccompProfile: { type: "Unconfined" } } }), "no seccompProfile"],
    [
      "no AppArmor",
      deployment({}, { securityContext: { appArmorProfile: { type: "Unconfined" } } }),
      "no appArmorProfile",
    ],
    ["a sysctl", deployment({ securityContext: { sysctls: [{ name: "a", value: "1" }] } }), "sysctls"],
    [
      "a process of the host",
      deployment({ securityContext: { windowsOptions: { hostProcess: true } } }),
      "of the host",
    ],
    ["a priority of the system", deployment({ priorityClassName: "system-node-critical" }), "priorityClassName"],
    ["a node by its host name", deployment({ nodeSelector: { "kubernetes.io/hostname": "n-1" } }), "nodeSelector"],
    [
      "a node by affinity",
      pinned({ requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: byHost }] } }),
      "nodeAffinity",
    ],
    [
      "a node by a field",
      pinned({ requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: byHost }] } }),
      "nodeAffinity",
    ],
    [
      "a node that is preferred",
      pinned({
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchExpressions: byHost } }],
      }),
      "nodeAffinity",
    ],
    ["a probe of others", deployment({}, { readinessProbe: { httpGet: { host: "169.254.169.254" } } }), "another host"],
    ["a handler of others", deployment({}, { lifecycle: { preStop: { tcpSocket: { host: "db" } } } }), "another host"],
    ...["volumeName", "selector", "dataSource", "dataSourceRef"].map(
      (field): Row => [`a claim's ${field}`, claim({ [field]: { a: "b" } }), field],
    ),
    [
      "claims that go with their StatefulSet",
      workload({ persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } }),
      "whenDeleted is not Retain",
    ],
    [
      "claims that go with a copy",
      workload({ persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete" } }),
      "whenScaled is not Retain",
    ],
    ["a claim without a class", claim({ storageClassName: "" }), "storageClassName"],
    [
      "a claim with a class by annotation",
      claim({}, { annotations: { [CLASS]: "" } }),
      "not in releases.mayUse.annotations",
    ],
    ["a claim of each copy's", workload({ volumeClaimTemplates: [{ spec: { volumeName: "v" } }] }), "volumeName"],
    [
      "a claim for as long as the pod",
      deployment({
        volumes: [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: { dataSource: { name: "d" } } } } }],
      }),
      "dataSource",
    ],
  ])("%s", (_, manifest, words) => {
    expect(problems([manifest])).toEqual([expect.stringContaining(words)]);
  });

  test("one object twice", () => {
    expect(problems([deployment(), deployment()])).toEqual(["the release has it twice"]);
  });

  test("in a Pod and in a CronJob what is refused in a Deployment", () => {
    const pod = { hostNetwork: true, automountServiceAccountToken: false };
    const rules = { kinds: ["Pod", "CronJob.batch"] };
    expect(problems([object("v1", "Pod", { spec: pod })], rules)).toEqual([expect.stringContaining("hostNetwork")]);
    const spec = { jobTemplate: { spec: { template: templateOf(pod) } } };
    expect(problems([object("batch/v1", "CronJob", { spec })], rules)).toEqual([
      expect.stringContaining("hostNetwork"),
    ]);
  });

  test.each([
    ["registry.example/shop", "registry.example/shop/api:2", true],
    ["registry.example/shop/", "registry.example/shop/api@sha256:1", true],
    ["registry.example/shop/api", "registry.example/shop/api:2", true],
    ["registry.example/shop", "registry.example/shopping/api:2", false],
    ["registry.example", "registry.example.evil/api:2", false],
    ["registry.example", "api:2", false],
    ["registry.example", "registry.example/api:2", true],
    ["registry.example", "registry.example:5000/api:2", false],
    ["registry.example", "registry.example:2", false],
    ["registry.example:5000", "registry.example:5000/api:2", true],
  ])("with the registry %s the image %s: %s", (registry, image, isAllowed) => {
    expect(problems([deployment({}, { image })], { registries: [registry] })).toHaveLength(isAllowed ? 0 : 1);
  });
});

test("where it may be exposed, Services and Ingresses pass, but no address of others", () => {
  const service = (spec: object) => object("v1", "Service", { spec: { type: "LoadBalancer", ...spec } });
  expect(problems([service({}), object("networking.k8s.io/v1", "Ingress")], { mayExpose: true })).toEqual([]);
  expect(problems([service({ externalIPs: ["1.2.3.4"] })], { mayExpose: true })).toEqual([
    "externalIPs take over addresses",
  ]);
});

describe("of what it does not bring, a release reads", () => {
  const hex = "0123456789abcdef".repeat(2);
  const volume = (source: object): object => ({ volumes: [{ name: "v", ...source }] });
  const projected = (source: object): object => volume({ projected: { sources: [source] } });
  const variable = (valueFrom: object): object => ({ env: [{ name: "A", valueFrom }] });
  test.each<[string, object, object, string]>([
    ["a Secret as a volume", volume({ secret: { secretName: "a" } }), {}, "Secret a"],
    ["a Secret in a projected volume", projected({ secret: { name: "a" } }), {}, "Secret a"],
    ["a Secret to pull with", { imagePullSecrets: [{ name: "a" }] }, {}, "Secret a"],
    ["a Secret's key as a variable", {}, variable({ secretKeyRef: { name: "a", key: "k" } }), "Secret a"],
    ["a Secret's keys as variables", {}, { envFrom: [{ secretRef: { name: "a" } }] }, "Secret a"],
    [
      "one in what runs first",
      { initContainers: [{ name: "i", envFrom: [{ secretRef: { name: "a" } }] }] },
      {},
      "Secret a",
    ],
    ["a ConfigMap as a volume", volume({ configMap: { name: "a" } }), {}, "ConfigMap a"],
    ["a ConfigMap in a projected volume", projected({ configMap: { name: "a" } }), {}, "ConfigMap a"],
    ["a ConfigMap's key as a variable", {}, variable({ configMapKeyRef: { name: "a", key: "k" } }), "ConfigMap a"],
    ["a ConfigMap's keys as variables", {}, { envFrom: [{ configMapRef: { name: "a" } }] }, "ConfigMap a"],
    ["a volume claim", volume({ persistentVolumeClaim: { claimName: "a" } }), {}, "PersistentVolumeClaim a"],
  ])("%s only where the customer has named it", (_, pod, container, words) => {
    expect(problems([deployment(pod, container)])).toEqual([expect.stringContaining(`it reads ${words}`)]);
    const all = ["*"];
    const named = { secrets: all, configMaps: all, volumeClaims: all };
    expect(problems([deployment(pod, container)], { mayRead: named })).toEqual([]);
  });

  test.each<[readonly string[], string, boolean]>([
    [["shop-db"], "shop-db", true],
    [["shop-db"], "shop-db-2", false],
    [["shop-*"], "shop-db", true],
    [["shop-*"], "shop", false],
    [["a", "shop.*"], "shop.db", true],
    [["shop.*"], "shopxdb", false],
    [[], `cfg-dep-1-${hex}`, true],
    [[], `cfg-dep-1-${hex}0`, false],
    [["*"], `cfg-dep-1-${hex}`, true],
    // Values of other deployments: no word of the customer's names them.
    [["*", "cfg-*"], `cfg-dep-2-${hex}`, false],
    [["*"], `cfg-dep-1-b-${hex}`, false],
    [["*"], "cfg-anything", false],
  ])("with the names %j the Secret %s: %s", (secrets, name, isAllowed) => {
    const manifest = deployment({}, { envFrom: [{ secretRef: { name } }] });
    expect(problems([manifest], { mayRead: { ...READS_NOTHING, secrets } })).toHaveLength(isAllowed ? 0 : 1);
  });

  test("a certificate for an Ingress only where the customer has named it", () => {
    const ingress = object("networking.k8s.io/v1", "Ingress", { spec: { tls: [{ secretName: "web-tls" }, {}] } });
    expect(problems([ingress], { mayExpose: true })).toEqual([expect.stringContaining("it reads Secret web-tls")]);
    expect(problems([ingress], { mayExpose: true, mayRead: { ...READS_NOTHING, secrets: ["web-*"] } })).toEqual([]);
  });

  test("what it brings itself it reads under any name", () => {
    const brought = [object("v1", "ConfigMap"), claim({})];
    const volumes = [
      { name: "a", configMap: { name: "api" } },
      { name: "b", persistentVolumeClaim: { claimName: "api" } },
    ];
    expect(problems([...brought, deployment({ volumes })])).toEqual([]);
  });
});

describe("where Pod Security is restricted", () => {
  const POD = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
  const CONTAINER = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
  const secured = (pod: object = {}, container: object = {}): ReleaseManifest =>
    deployment({ securityContext: { ...POD, ...pod } }, { securityContext: { ...CONTAINER, ...container } });
  test.each<[string, ReleaseManifest, string | undefined]>([
    ["what the renderer makes", secured(), undefined],
    ["a container's own words", secured({ runAsNonRoot: undefined }, { runAsNonRoot: true }), undefined],
    [
      "a profile of the node's",
      secured({ seccompProfile: undefined }, { seccompProfile: { type: "Localhost" } }),
      undefined,
    ],
    ["a number as its user", secured({ runAsUser: 1000 }, { runAsUser: 1001 }), undefined],
    ["no word on its user", secured({ runAsNonRoot: undefined }), "lacks runAsNonRoot"],
    ["a container that takes its pod's word back", secured({}, { runAsNonRoot: false }), "lacks runAsNonRoot"],
    ["root by its number", secured({}, { runAsUser: 0 }), "container c runs as user 0"],
    ["root by the pod's number", secured({ runAsUser: 0 }), "the pod runs as user 0"],
    ["no profile", secured({ seccompProfile: undefined }), "lacks a seccompProfile"],
    ["no word on escalation", secured({}, { allowPrivilegeEscalation: undefined }), "lacks allowPrivilegeEscalation"],
    ["capabilities that stay", secured({}, { capabilities: { drop: ["NET_RAW"] } }), "does not drop ALL"],
    ["capabilities without a word", secured({}, { capabilities: undefined }), "does not drop ALL"],
  ])("%s", (_, manifest, words) => {
    expect(problems([manifest])).toEqual([]);
    expect(problems([manifest], { podSecurity: "restricted" })).toEqual(
      words === undefined ? [] : [expect.stringContaining(words)],
    );
  });
});

describe("names of the customer's", () => {
  const used = deployment({
    ...{ priorityClassName: "high", runtimeClassName: "gvisor", schedulerName: "batch" },
    resourceClaims: [{ name: "g", resourceClaimName: "gpu" }],
  });
  const may = { priorityClasses: ["high"], runtimeClasses: ["g*"], schedulers: ["batch"], resourceClaims: ["gpu"] };

  test("are refused, each by the value that would allow it, and pass when it names them", () => {
    expect(problems([used])).toEqual([
      "priorityClassName high is not in releases.mayUse.priorityClasses",
      "runtimeClassName gvisor is not in releases.mayUse.runtimeClasses",
      "schedulerName batch is not in releases.mayUse.schedulers",
      "resourceClaimName gpu is not in releases.mayUse.resourceClaims",
    ]);
    expect(problems([used], { mayUse: { ...USES_NOTHING, ...may } })).toEqual([]);
    expect(problems([deployment({ schedulerName: "default-scheduler" })])).toEqual([]);
  });

  test("are also resources with a domain, annotations and labels, also of what is made of the object", () => {
    const gpu = deployment({}, { resources: { limits: { cpu: "1", "gpu.example/a": "1" } } });
    expect(problems([gpu])).toEqual(["resource gpu.example/a is not in releases.mayUse.extendedResources"]);
    expect(problems([gpu], { mayUse: { ...USES_NOTHING, extendedResources: ["gpu.example/*"] } })).toEqual([]);
    const plain = { plain: "a", "helm.sh/hook": "a", "checksum/config": "a", "prometheus.io/scrape": "true" };
    const annotations = { ...plain, "mesh.example/inject": "a" };
    const labels = { ...OWN, tier: "a", "app.kubernetes.io/name": "a", "mesh.example/inject": "a" };
    const template = { metadata: { labels, annotations }, spec: { automountServiceAccountToken: false } };
    expect(problems([workload({ template })])).toEqual([
      "label mesh.example/inject is not in releases.mayUse.labels",
      "annotation mesh.example/inject is not in releases.mayUse.annotations",
    ]);
    expect(problems([object("v1", "Service", { metadata: { ...named("api"), labels, annotations } })])).toHaveLength(2);
    const mayUse = { ...USES_NOTHING, annotations: ["mesh.example/*"], labels: ["mesh.example/inject"] };
    expect(problems([workload({ template })], { mayUse })).toEqual([]);
  });

  test("that pods resolve to something else are taken by no Service", () => {
    const service = (name: string, clusterIP?: string) =>
      object("v1", "Service", { metadata: named(name), spec: { selector: OWN, ...(clusterIP && { clusterIP }) } });
    expect(problems([service("kubernetes")])).toEqual([expect.stringContaining("the API server")]);
    expect(problems([service("com", "None")])).toEqual([expect.stringContaining("the domain com")]);
    expect(problems([service("com"), service("web", "None")])).toEqual([]);
    expect(problems([deployment({ hostname: "vault", subdomain: "secrets" })])).toEqual([
      "spec.template.spec.subdomain may not be set",
    ]);
  });
});

test("more pods than a release may have are refused, in words of the whole", () => {
  const scaled = (replicas: number) => ({ ...deployment(), spec: { ...nodeOf(deployment().spec), replicas } });
  expect(problems([scaled(100)])).toEqual([]);
  expect(problems([scaled(101)])).toEqual(["it may have 101 pods at once, and releases.maxPods is 100"]);
  expect(problems([scaled(3)], { maxPods: 2 })).toHaveLength(1);
  const top = scaler({ apiVersion: "apps/v1", kind: "Deployment", name: "api" });
  const most = { ...top, spec: { ...nodeOf(top.spec), maxReplicas: 200 } };
  expect(problems([scaled(1), most])).toEqual(["it may have 200 pods at once, and releases.maxPods is 100"]);
});

test("a field that no Kubernetes had until now is refused: it could name anything", () => {
  expect(problems([deployment({ fromANewerKubernetes: "a" })])).toEqual([
    "spec.template.spec.fromANewerKubernetes is no field that this version of Sallyport knows",
  ]);
});

describe("a text", () => {
  const data = (text: string): ReleaseManifest => object("v1", "ConfigMap", { data: { settings: text } });
  test.each([
    ["that clears the line", "a\u001b[2K"],
    ["that goes back in its line", "evil\rgood"],
    ["that turns its direction", "a\u202eb"],
    ["in an isolate of its own", "a\u2066b"],
    ["that ends where it does not", "a\u0000b"],
    ["of half a character", "a\ud800"],
  ])("%s is refused", (_, text) => {
    expect(problems([data(text)])).toEqual([expect.stringMatching(/^\.data\.settings has .* shows falsely$/)]);
    const named = object("v1", "ConfigMap", { data: { [text]: "a" } });
    expect(problems([named])).toEqual([expect.stringMatching(/^\.data has a name with the character U\+.*, which/)]);
  });

  test("of many lines and languages passes", () => {
    const persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645";
    expect(problems([data(`\ufeffa\r\n\tb\n${persian} \u{1f468}\u200d\u{1f469} \ue0b0\u2028`)])).toEqual([]);
  });

  test("of any depth is read", () => {
    let data: object = { text: "a\u202eb" };
    for (let depth = 0; depth < 100_000; depth += 1) data = { data };
    expect(problems([object("v1", "ConfigMap", { data })])).toHaveLength(1);
  });
});

const secretEnv = { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "db-password", key: "p" } } }] };
const FILE = "kubectl.kubernetes.io/last-applied-configuration";
test.each<[string, ReleaseManifest, readonly string[]]>([
  [
    "what it reads",
    deployment({}, secretEnv),
    ["it reads Secret db-password, which releases.mayRead.secrets does not name"],
  ],
  [
    "who its pods are",
    deployment({ serviceAccountName: "theirs" }),
    ["service account theirs is not the release's own"],
  ],
  [
    "what an account has",
    account({}, { annotations: { "cloud.example/role": "a", role: "a" } }),
    ["annotation cloud.example/role is not in releases.mayUse.annotations"],
  ],
  [
    "what a controller does with its pods, and what they take",
    workload({
      template: {
        metadata: { labels: OWN, annotations: { "mesh.example/volume": "a" }, finalizers: ["a.example/b"] },
        spec: { automountServiceAccountToken: false, priorityClassName: "high", fromANewerKubernetes: "a" },
      },
    }),
    [
      "annotation mesh.example/volume is not in releases.mayUse.annotations",
      "spec.template.metadata.finalizers may not be set",
      "priorityClassName high is not in releases.mayUse.priorityClasses",
    ],
  ],
  [
    "nothing of what adoption removes, or the API server writes",
    account({}, { uid: "u", annotations: { [FILE]: "{}" } }),
    [],
  ],
  ["nothing of a claim that is bound", claim({ volumeName: "pv-1" }), []],
])("of an object that is adopted are judged with the customer's fields: %s", (_, adopted, messages) => {
  const ref = refOf(adopted);
  expect(adoptedProblems(adopted, [line(deployment()), line(account({}))], RULES)).toEqual(
    messages.map((message) => ({ ref, message: `as it would be then: ${message}` })),
  );
});
