import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { apiRequest } from "../../../lab/cluster/api-request.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { isFull } from "../../../src/base/testing/full.ts";
import { runs } from "../../../src/base/testing/runs.ts";
import type { ReleaseObject } from "../../../src/crds/kinds/release-content.ts";
import { openReleases } from "../../../src/crds/manifests/installation.ts";
import { DEPLOYMENT_ID_LABEL } from "../../../src/crds/release-names.ts";
import { type MayUse, USES_NOTHING } from "../../../src/crds/released/may-use.ts";
import { RELEASE_KINDS, type ReleaseRules, releaseProblems } from "../../../src/operator/rollouts/release-rules.ts";
import { INSTALLED, namespace } from "../../world/installation.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { DEPLOYMENT_ID } from "../operator/operator-world.ts";
import {
  MEMBER,
  REGISTRY,
  type Released,
  ROLLOUT_RUN,
  released,
  releasedDeployment,
  securedContainer,
} from "./released-objects.ts";

// The operator judges a release before it is planned, and the API server judges each write of a rollout. What one refuses
// and the other lets through is either a rollout that stops half-way, or a hole that a stolen operator goes through.

const cluster = useCluster({ holds: INSTALLED });
let token = "";
let ca = "";

interface Answer {
  readonly status: number;
  readonly words: string;
}

const PATHS: Readonly<Record<string, string>> = {
  Deployment: "/apis/apps/v1/namespaces/shop/deployments",
  CronJob: "/apis/batch/v1/namespaces/shop/cronjobs",
  Service: "/api/v1/namespaces/shop/services",
  Ingress: "/apis/networking.k8s.io/v1/namespaces/shop/ingresses",
  Secret: "/api/v1/namespaces/shop/secrets",
  ConfigMap: "/api/v1/namespaces/shop/configmaps",
  ServiceAccount: "/api/v1/namespaces/shop/serviceaccounts",
  PersistentVolumeClaim: "/api/v1/namespaces/shop/persistentvolumeclaims",
  StatefulSet: "/apis/apps/v1/namespaces/shop/statefulsets",
  Job: "/apis/batch/v1/namespaces/shop/jobs",
  NetworkPolicy: "/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies",
  PodDisruptionBudget: "/apis/policy/v1/namespaces/shop/poddisruptionbudgets",
  HorizontalPodAutoscaler: "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers",
};

/** Creates it in a dry run, as the account of a rollout that has every right. */
async function tried(object: Released): Promise<Answer> {
  const path = `${PATHS[object.kind]}?dryRun=All`;
  const credentials = { server: cluster().server, ca, token };
  const { status, body } = await apiRequest(credentials, { method: "POST", path, body: object }, signal());
  return { status, words: String((body as { readonly message?: string }).message ?? "") };
}

const CLAIMED = { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } };
/** What the release brings besides: an account, and what an autoscaler may scale. */
const BESIDES = [
  released("v1", "ServiceAccount", "own"),
  released("v1", "ConfigMap", "own"),
  released("v1", "PersistentVolumeClaim", "own", CLAIMED),
  releasedDeployment("scaled"),
];

function judged(object: Released, rules: ReleaseRules): readonly string[] {
  const line = (manifest: Released): ReleaseObject => ({ wave: 0, frozen: false, resourceId: "api", manifest });
  return releaseProblems([...BESIDES, object].map(line), rules).map(({ message }) => message);
}

/** Mostly absent, so that many objects are in order and most others break one rule. */
const maybe = <Value>(...values: readonly Value[]): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 9 }, { arbitrary: fc.constantFrom(...values), weight: 1 });
/** At most so many of these fields, so that most objects that break a rule break one. */
const some = <Fields extends object>(
  fields: { readonly [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
  most: number,
): fc.Arbitrary<Partial<Fields>> =>
  fc
    .tuple(fc.record(fields), fc.subarray(Object.keys(fields), { maxLength: most }))
    .map(
      ([all, kept]) =>
        Object.fromEntries(Object.entries(all).filter(([name]) => kept.includes(name))) as Partial<Fields>,
    );
const defined = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
const handled = (where: string, handler: object): object =>
  where.endsWith("Probe") ? { [where]: handler } : { lifecycle: { [where]: handler } };

/** Of pods and containers: as whom it runs. */
const USER = fc.constantFrom<object>(
  { runAsNonRoot: null },
  { runAsNonRoot: false },
  { runAsNonRoot: true },
  { runAsUser: 0 },
  { runAsUser: 1000 },
);

/** Of pods and containers. */
const SECURITY = some(
  {
    seLinuxOptions: fc.constantFrom(
      { type: "container_t", level: "s0" },
      { type: "spc_t" },
      { user: "u" },
      { role: "r" },
      {},
    ),
    seccompProfile: fc.constantFrom(...[{ type: "RuntimeDefault" }, { type: "Unconfined" }, null], {
      type: "Localhost",
      localhostProfile: "a.json",
    }),
    appArmorProfile: fc.constantFrom({ type: "RuntimeDefault" }, { type: "Unconfined" }),
    windowsOptions: fc.constantFrom({ hostProcess: false }, { runAsUserName: "a" }),
  },
  1,
).map(defined);

const RESOURCES = fc
  .constantFrom("gpu.example/a", "gpu.example/b", "cpu", "hugepages-2Mi")
  .map((name) => ({ limits: { [name]: "1", ...(name.startsWith("huge") && { cpu: "1" }) } }));

const CONTAINER = some(
  {
    image: fc.constantFrom(
      ...[`${REGISTRY}/api:2`, `${REGISTRY}/api@sha256:${"a".repeat(64)}`, REGISTRY, `${REGISTRY}:1`],
      ...["api:2", "registry.example/shopping/x:1", "other.example:5000/api:2", "other.example/api:2"],
    ),
    asks: fc.record({
      host: fc.constantFrom("db.example", ""),
      where: fc.constantFrom("livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop"),
    }),
    security: SECURITY,
    privileged: fc.constantFrom(true, false),
    allowPrivilegeEscalation: fc.constantFrom(true, false),
    procMount: fc.constantFrom("Default", "Unmasked"),
    add: fc.constantFrom(["NET_BIND_SERVICE"], ["SYS_ADMIN"], ["NET_BIND_SERVICE", "SYS_TIME"], []),
    drop: fc.constantFrom(["ALL"], ["ALL", "NET_RAW"], ["NET_RAW"], []),
    allowed: fc.constant(null),
    user: USER,
    env: fc.constantFrom(
      { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] },
      { env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } }] },
      { envFrom: [{ secretRef: { name: "shop-s" } }, { configMapRef: { name: "own" } }] },
      { envFrom: [{ secretRef: { name: `cfg-dpl-shop-1-${"0a".repeat(16)}` } }] },
      { envFrom: [{ configMapRef: { name: "shop-c" } }, { secretRef: { name: "s" } }] },
    ),
    hostPort: fc.constantFrom(0, 80),
    resources: RESOURCES,
  },
  1,
).map(
  ({
    image = `${REGISTRY}/api:2`,
    add,
    drop = ["ALL"],
    hostPort,
    asks,
    security,
    allowed,
    user,
    env,
    resources,
    ...own
  }) => ({
    image,
    ...env,
    ...(resources && { resources }),
    ...(asks && handled(asks.where, { httpGet: { port: 80, host: asks.host } })),
    securityContext: defined({
      ...own,
      ...security,
      ...user,
      // An API server takes no container that is privileged and may not escalate.
      ...((allowed === null || own.privileged === true) && { allowPrivilegeEscalation: null }),
      capabilities: { drop, ...(add && { add }) },
    }),
    ...(hostPort !== undefined && { ports: [{ containerPort: 80, hostPort }] }),
  }),
);

const VOLUME = fc.constantFrom<object>(
  { emptyDir: {} },
  { configMap: { name: "c" } },
  { configMap: { name: "own" } },
  { secret: { secretName: "s" } },
  { secret: { secretName: "shop-s" } },
  { persistentVolumeClaim: { claimName: "p" } },
  { persistentVolumeClaim: { claimName: "own" } },
  { projected: { sources: [{ configMap: { name: "shop-c" } }, { secret: { name: "shop-s" } }] } },
  { projected: { sources: [{ configMap: { name: "c" } }] } },
  { projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
  { hostPath: { path: "/" } },
  { csi: { driver: "d.example" } },
  { nfs: { server: "n", path: "/" } },
  { image: { reference: "i:1" } },
);

const CLASS = "volume.beta.kubernetes.io/storage-class";
/** A claim by itself, of a copy or of a pod. */
const CLAIM = some(
  {
    annotated: fc.constantFrom({ [CLASS]: "" }, { [CLASS]: "fast" }, { a: "b" }),
    kept: fc.constantFrom(["example.com/keep"]),
    volumeName: fc.constantFrom("v", ""),
    selector: fc.constantFrom({}, { matchLabels: { a: "b" } }),
    dataSource: fc.constantFrom({ kind: "PersistentVolumeClaim", name: "theirs" }),
    dataSourceRef: fc.constantFrom({ kind: "PersistentVolumeClaim", name: "theirs" }),
    storageClassName: fc.constantFrom("", "fast"),
  },
  1,
).map(({ annotated, kept, ...spec }) => ({
  metadata: defined({ annotations: annotated, finalizers: kept }),
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...defined(spec) },
}));
const RETENTION = fc.constantFrom<object | undefined>(
  ...[undefined, {}, { whenDeleted: "Retain" }, { whenDeleted: "Delete" }, { whenScaled: "Delete" }],
);
const EPHEMERAL = CLAIM.map((volumeClaimTemplate) => ({ ephemeral: { volumeClaimTemplate } }));

const EXPRESSION = fc.constantFrom("kubernetes.io/hostname", "disk").map((key) => ({
  matchExpressions: [{ key, operator: "Exists" }],
}));
const BY_FIELD = { matchFields: [{ key: "metadata.name", operator: "In", values: ["n-1"] }] };
const TERM = fc.oneof({ arbitrary: EXPRESSION, weight: 4 }, { arbitrary: fc.constant(BY_FIELD), weight: 1 });
const AFFINITY = fc
  .record({ term: TERM, isRequired: fc.boolean() })
  .map(({ term, isRequired }) =>
    isRequired
      ? { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } }
      : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: term }] },
  )
  .map((nodeAffinity) => ({ nodeAffinity }));
const OWN = { [DEPLOYMENT_ID_LABEL]: DEPLOYMENT_ID };
/** Mostly of the object's own pods. */
const LABELS = fc.oneof(
  { arbitrary: fc.constantFrom<object>(OWN, { ...OWN, app: "a" }), weight: 4 },
  {
    arbitrary: fc.constantFrom<object | undefined>(undefined, {}, { app: "a" }, { [DEPLOYMENT_ID_LABEL]: "other" }),
    weight: 2,
  },
);
const SELECTOR = LABELS.chain((matchLabels) =>
  fc.constantFrom(
    defined({ matchLabels }),
    defined({ matchLabels, matchExpressions: [{ key: "a", operator: "Exists" }] }),
  ),
);

/** Beside pods, or away from them, of this namespace and others. */
const BESIDE = fc
  .record({
    way: fc.constantFrom("podAffinity", "podAntiAffinity"),
    isRequired: fc.boolean(),
    where: fc.constantFrom({}, { namespaces: [] }, { namespaces: ["billing"] }, { namespaceSelector: {} }),
  })
  .map(({ way, isRequired, where }) => {
    const term = { topologyKey: "zone", labelSelector: { matchLabels: { app: "db" } }, ...where };
    return {
      [way]: isRequired
        ? { requiredDuringSchedulingIgnoredDuringExecution: [term] }
        : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] },
    };
  });
/** Obeyed by a controller, or by none. */
const ANNOTATIONS = fc
  .constantFrom(
    ...["iam.amazonaws.com/role", "mesh.example/inject", "mesh.example", "helm.sh/hook", "checksum/a", "a"],
    ...["helm.sh", "xhelm.sh/a", "kubectl.kubernetes.io/restartedAt", "prometheus.io/scrape"],
  )
  .map((name) => ({ [name]: "a" }));
const MARKED = { "mesh.example/inject": "a" };
const MARKS = fc
  .constantFrom("mesh.example/inject", "istio.example/rev", "app.kubernetes.io/name", "tier", "helm.sh/chart")
  .map((name) => ({ [name]: "a" }));
const POD = some(
  {
    hostNetwork: fc.constantFrom(true, false),
    hostPID: fc.constantFrom(true, false),
    hostIPC: fc.constantFrom(true, false),
    serviceAccountName: fc.constantFrom("own", "customers", "default"),
    serviceAccount: fc.constantFrom("own", "customers"),
    automountServiceAccountToken: fc.constantFrom(true, false),
    nodeName: fc.constantFrom("n-1"),
    nodeSelector: fc.constantFrom({ disk: "ssd" }, { "kubernetes.io/hostname": "n-1" }),
    affinity: fc.oneof(AFFINITY, BESIDE),
    hostAliases: fc.constantFrom([{ ip: "127.0.0.1", hostnames: ["a"] }]),
    priorityClassName: fc.constantFrom("system-node-critical", "high", ""),
    priority: fc.constantFrom(0, 1000),
    runtimeClassName: fc.constantFrom("gvisor", "kata"),
    schedulerName: fc.constantFrom("default-scheduler", "batch", "other"),
    subdomain: fc.constantFrom("", "secrets"),
    hostname: fc.constantFrom("vault"),
    resourceClaims: fc.constantFrom(
      [],
      ...["resourceClaimName", "resourceClaimTemplateName"].flatMap((field) =>
        ["gpu", "theirs"].map((name) => [{ name: "r", [field]: name }]),
      ),
    ),
    security: SECURITY,
    user: USER,
    imagePullSecrets: fc.constantFrom([{ name: "s" }], [{ name: "shop-s" }]),
    sysctls: fc.constantFrom([{ name: "net.ipv4.ip_local_port_range", value: "1 2" }], []),
    annotations: ANNOTATIONS,
    volumes: fc.array(fc.oneof({ arbitrary: VOLUME, weight: 5 }, { arbitrary: EPHEMERAL, weight: 2 }), {
      maxLength: 2,
    }),
    first: CONTAINER,
  },
  1,
).map(({ volumes, first, security, user, sysctls, annotations, ...fields }) => {
  const pod = defined({
    ...fields,
    securityContext: defined({ ...security, ...user, sysctls }),
    volumes: volumes?.map((volume, index) => ({ name: `v-${index}`, ...volume })),
    initContainers: first && [securedContainer({ ...first, name: "i" })],
  });
  return { pod, annotations };
});

/** Of what a controller makes of an object: it has all of it. */
const WITHIN = fc
  .record({
    finalizers: maybe(["example.com/keep"]),
    ownerReferences: maybe([{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" }]),
    namespace: maybe("billing"),
    generateName: maybe("a-"),
    name: maybe("a"),
  })
  .map(defined);

/** A Deployment of it, and what is in its `spec`. */
const WORKLOAD = fc
  .tuple(POD, CONTAINER, WITHIN, maybe(MARKED), maybe(1, 200))
  .map(([{ pod, annotations }, container, within, marks, replicas]) => {
    const deployment = releasedDeployment("api", pod, container);
    const { template, ...rest } = deployment.spec as {
      readonly template: { readonly metadata: { readonly labels: object } };
    };
    const labels = { ...template.metadata.labels, ...marks };
    const metadata = { ...within, labels, ...(annotations && { annotations }) };
    return { ...deployment, spec: { ...rest, ...defined({ replicas }), template: { ...template, metadata } } };
  });
const RUN = WORKLOAD.map(({ spec: { template } }) => {
  const pod = (template as unknown as { readonly spec: object }).spec;
  return { template: { ...template, spec: { ...pod, restartPolicy: "Never" } } };
});

const METADATA = fc
  .record({
    annotations: fc.option(ANNOTATIONS, { nil: undefined, freq: 3 }),
    labels: fc.option(
      MARKS.map((marks) => ({ ...MEMBER, ...marks })),
      { nil: undefined, freq: 3 },
    ),
    finalizers: maybe(["example.com/keep"]),
    ownerReferences: maybe([{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" }]),
  })
  .map(defined);

const OBJECT: fc.Arbitrary<Released> = fc.oneof(
  { arbitrary: WORKLOAD, weight: 6 },
  {
    arbitrary: fc
      .record({ workload: WORKLOAD, selector: SELECTOR, labels: LABELS })
      .map(({ workload, selector, labels }) => {
        const template = { ...workload.spec.template, metadata: defined({ labels }) };
        return { ...workload, spec: { selector, template } };
      }),
    weight: 2,
  },
  {
    arbitrary: fc
      .record({ workload: WORKLOAD, claim: CLAIM, kept: RETENTION })
      .map(({ workload: { spec }, claim, kept }) => {
        const volumeClaimTemplates = [{ ...claim, metadata: { ...claim.metadata, name: "data" } }];
        const own = defined({ serviceName: "api", volumeClaimTemplates, persistentVolumeClaimRetentionPolicy: kept });
        return released("apps/v1", "StatefulSet", "api", { spec: { ...spec, ...own } });
      }),
    weight: 2,
  },
  {
    arbitrary: fc
      .record({ spec: RUN, metadata: WITHIN })
      .map(({ spec, metadata }) =>
        released("batch/v1", "CronJob", "api", { spec: { schedule: "0 0 1 1 *", jobTemplate: { metadata, spec } } }),
      ),
    weight: 2,
  },
  {
    arbitrary: fc.record({ run: RUN, manualSelector: maybe(true, false) }).map(({ run, manualSelector }) =>
      released("batch/v1", "Job", "api", {
        spec: { ...run, ...defined({ manualSelector }), ...(manualSelector && { selector: { matchLabels: OWN } }) },
      }),
    ),
    weight: 1,
  },
  {
    arbitrary: fc
      .record({
        annotations: maybe({}, { "eks.amazonaws.com/role-arn": "a" }, { role: "a" }),
        list: maybe("secrets", "imagePullSecrets"),
      })
      .map(({ annotations, list }) =>
        released(
          "v1",
          "ServiceAccount",
          "api",
          list === undefined ? {} : { [list]: [{ name: "a" }] },
          defined({ annotations }),
        ),
      ),
    weight: 1,
  },
  {
    arbitrary: CLAIM.map(({ metadata, spec }) => released("v1", "PersistentVolumeClaim", "api", { spec }, metadata)),
    weight: 2,
  },
  {
    arbitrary: SELECTOR.map((podSelector) =>
      released("networking.k8s.io/v1", "NetworkPolicy", "api", { spec: { podSelector } }),
    ),
    weight: 1,
  },
  {
    arbitrary: fc
      .option(SELECTOR, { nil: undefined })
      .map((selector) =>
        released("policy/v1", "PodDisruptionBudget", "api", { spec: { maxUnavailable: 1, ...defined({ selector }) } }),
      ),
    weight: 1,
  },
  {
    // That the release brings what is scaled, the operator alone can tell.
    arbitrary: fc
      .record({
        apiVersion: fc.constantFrom("apps/v1", "apps/v1", "v1", "apps.example/v1"),
        kind: fc.constantFrom("Deployment", "Deployment", "ReplicaSet", "DaemonSet"),
        maxReplicas: fc.constantFrom(2, 2, 200),
      })
      .map(({ maxReplicas, ...target }) =>
        released("autoscaling/v2", "HorizontalPodAutoscaler", "api", {
          spec: { scaleTargetRef: { ...target, name: "scaled" }, maxReplicas },
        }),
      ),
    weight: 1,
  },
  {
    arbitrary: fc
      .record({
        type: maybe("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
        externalIPs: maybe(["192.0.2.1"]),
        selector: LABELS,
        name: fc.constantFrom("api", "api", "kubernetes", "com"),
        isHeadless: fc.boolean(),
      })
      .map(({ type, externalIPs, selector, name, isHeadless }) =>
        released("v1", "Service", name, {
          spec: defined({
            clusterIP: isHeadless && (type === undefined || type === "ClusterIP") ? "None" : undefined,
            type,
            externalIPs,
            selector,
            ports: [{ port: 80 }],
            externalName: type === "ExternalName" ? "e.x" : undefined,
          }),
        }),
      ),
    weight: 2,
  },
  {
    arbitrary: maybe([{ secretName: "s" }], [{ secretName: "shop-s" }, {}]).map((tls) =>
      released("networking.k8s.io/v1", "Ingress", "api", {
        spec: defined({ tls, defaultBackend: { service: { name: "api", port: { number: 80 } } } }),
      }),
    ),
    weight: 1,
  },
  { arbitrary: fc.constant(released("v1", "Secret", "api")), weight: 1 },
  { arbitrary: METADATA.map((metadata) => released("v1", "ConfigMap", "api", {}, metadata)), weight: 1 },
);

beforeAll(async () => {
  await cluster().apply([...INSTALLED]);
  const account = (name: string, namespace: string, labels = {}) => ({
    ...{ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } },
  });
  await cluster().apply([namespace(SHOP)]);
  await cluster().apply([
    account(ROLLOUT_RUN, GRANTS),
    account("customers", SHOP),
    ...BESIDES.filter(({ kind }) => kind !== "Deployment"),
    ...["c", "shop-c"].map((name) => released("v1", "ConfigMap", name, {}, { labels: {} })),
    released("v1", "PersistentVolumeClaim", "p", CLAIMED, { labels: {} }),
    {
      ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "careless" } },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: ROLLOUT_RUN, namespace: GRANTS }],
    },
  ]);
  token = await cluster().serviceAccountToken(GRANTS, ROLLOUT_RUN);
  ca = await readFile(cluster().caFile, "utf8");
});

const EVERYTHING = { secrets: ["*"], configMaps: ["*"], volumeClaims: ["*"] };
const SOME = { secrets: ["shop-*"], configMaps: ["shop-c"], volumeClaims: [] };
type Options = Omit<ReleaseRules, "namespaces">;
const RESTRICTED: Options = {
  ...{ registries: [REGISTRY, "other.example"], mayExpose: false, kinds: RELEASE_KINDS },
  ...{ mayRead: SOME, mayUse: USES_NOTHING, maxPods: 100, podSecurity: "restricted" },
};
const EXPOSED: Options = { ...RESTRICTED, registries: [], mayExpose: true };
const NAMED: MayUse = {
  ...{ priorityClasses: ["high"], runtimeClasses: ["g*"], schedulers: ["batch"], resourceClaims: ["gpu"] },
  ...{ extendedResources: ["gpu.example/a"], annotations: ["mesh.example/*"], labels: ["mesh.example/inject"] },
};
const BASELINE: Options = { ...EXPOSED, mayRead: EVERYTHING, mayUse: NAMED, podSecurity: "baseline" };
/** Refused by the one policy that the main one does not see: each of them, in force. */
const READING = ["configMap", "persistentVolumeClaim"].map((source) =>
  releasedDeployment("api", {
    volumes: [{ name: "v", [source]: source === "configMap" ? { name: "c" } : { claimName: "p" } }],
  }),
);
const ROOT = releasedDeployment("api", { securityContext: { runAsNonRoot: null } });
const SECRET = released("v1", "Secret", "api");
const PREFERRED = releasedDeployment("api", { priorityClassName: "high" });
const BORROWING = releasedDeployment("api", { serviceAccountName: "customers" });
const INGRESS = released("networking.k8s.io/v1", "Ingress", "api", {
  spec: { defaultBackend: { service: { name: "api", port: { number: 80 } } } },
});

test.each([
  ["narrow", RESTRICTED],
  ["exposing", EXPOSED],
  ["wide", BASELINE],
])(
  "of random releases, with %s rules, operator and API server refuse the same",
  async (_, options) => {
    await cluster().apply(openReleases(undefined, options));
    // In force, each of them.
    await eventually(
      () => tried(SECRET),
      ({ words }) => words.includes("kinds that releases may install"),
    );
    await eventually(
      () => tried(BORROWING),
      ({ words }) => words.includes("the release itself has installed"),
    );
    await eventually(
      () => tried(INGRESS),
      ({ status }) => (status === 201) === options.mayExpose,
    );
    const isWide = options.podSecurity === "baseline";
    for (const object of [ROOT, ...READING]) {
      await eventually(
        () => tried(object),
        ({ status, words }) => (isWide ? status === 201 : / rollout (runs|reads|uses) /.test(words)),
      );
    }
    // What is named last, too.
    await eventually(
      () => tried(PREFERRED),
      ({ status }) => (status === 201) === (options.mayUse !== USES_NOTHING),
    );
    const rules: ReleaseRules = { ...options, namespaces: [SHOP] };
    const seen = { passed: 0, refused: 0, invalid: 0 };
    await fc.assert(
      fc.asyncProperty(OBJECT, async (object) => {
        const { status, words } = await tried(object);
        const problems = judged(object, rules);
        if (status === 422 && !words.includes("ValidatingAdmissionPolicy")) {
          seen.invalid += 1;
          return;
        }
        seen[status === 201 ? "passed" : "refused"] += 1;
        expect({ status, words, problems }).toMatchObject(
          problems.length === 0
            ? { status: 201 }
            : { status: 403, words: expect.stringContaining("ValidatingAdmissionPolicy") },
        );
      }),
      { numRuns: runs(500), examples: [[releasedDeployment("api")], [SECRET]] },
    );
    expect(seen.passed).toBeGreaterThan(isFull ? 20 : 0);
    expect(seen.refused).toBeGreaterThan(isFull ? 100 : 0);
    expect(seen.invalid).toBeLessThan(seen.passed + seen.refused);
  },
  240_000,
);
