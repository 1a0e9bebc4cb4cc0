import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { apiRequest } from "../../../lab/cluster/api-request.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { ReleaseObject } from "../../../src/crds/kinds/release-content.ts";
import { installation, openReleases } from "../../../src/crds/manifests/installation.ts";
import { RELEASE_KINDS, type ReleaseRules, releaseProblems } from "../../../src/operator/rollouts/release-rules.ts";
import { GRANTS, SHOP } from "../operator/operator-world.ts";
import { eventually, signal } from "../wait.ts";
import { MEMBER, REGISTRY, type Released, ROLLOUT_RUN, released, releasedDeployment } from "./released-objects.ts";

// The operator judges a release before it is planned, and the API server judges each write of a rollout. What one refuses
// and the other lets through is either a rollout that stops half-way, or a hole that a stolen operator goes through.

const cluster = useCluster();
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
};

/** Creates it in a dry run, as the account of a rollout that has every right. */
async function tried(object: Released): Promise<Answer> {
  const path = `${PATHS[object.kind]}?dryRun=All`;
  const credentials = { server: cluster().server, ca, token };
  const { status, body } = await apiRequest(credentials, { method: "POST", path, body: object }, signal());
  return { status, words: String((body as { readonly message?: string }).message ?? "") };
}

const own = released("v1", "ServiceAccount", "own");

function judged(object: Released, rules: ReleaseRules): readonly string[] {
  const line = (manifest: Released): ReleaseObject => ({ wave: 0, frozen: false, resourceId: "api", manifest });
  return releaseProblems([line(own), line(object)], rules).map(({ message }) => message);
}

/** Mostly absent, so that many objects are in order and most others break one rule. */
const maybe = <Value>(...values: readonly Value[]): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 9 }, { arbitrary: fc.constantFrom(...values), weight: 1 });
const defined = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
const CONTAINER = fc
  .record({
    image: fc.constantFrom(
      ...[`${REGISTRY}/api:2`, `${REGISTRY}/api@sha256:${"a".repeat(64)}`, REGISTRY, `${REGISTRY}:1`],
      ...["api:2", "registry.example/shopping/x:1"],
    ),
    privileged: maybe(true, false),
    allowPrivilegeEscalation: maybe(true, false),
    procMount: maybe("Default", "Unmasked"),
    add: maybe(["NET_BIND_SERVICE"], ["SYS_ADMIN"], ["NET_BIND_SERVICE", "SYS_TIME"], []),
    hostPort: maybe(0, 80),
  })
  .map(({ image, add, hostPort, ...security }) => ({
    image,
    securityContext: defined({ ...security, ...(add && { capabilities: { add, drop: ["ALL"] } }) }),
    ...(hostPort !== undefined && { ports: [{ containerPort: 80, hostPort }] }),
  }));

const VOLUME = fc.constantFrom<object>(
  { emptyDir: {} },
  { configMap: { name: "c" } },
  { secret: { secretName: "s" } },
  { persistentVolumeClaim: { claimName: "p" } },
  { projected: { sources: [{ configMap: { name: "c" } }] } },
  { projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
  { hostPath: { path: "/" } },
  { csi: { driver: "d.example" } },
  { nfs: { server: "n", path: "/" } },
  { image: { reference: "i:1" } },
);

const POD = fc
  .record({
    hostNetwork: maybe(true, false),
    hostPID: maybe(true, false),
    hostIPC: maybe(true, false),
    serviceAccountName: maybe("own", "customers", "default"),
    serviceAccount: maybe("own", "customers"),
    automountServiceAccountToken: maybe(true, false),
    nodeName: maybe("n-1"),
    volumes: fc.option(fc.array(VOLUME, { maxLength: 2 }), { nil: undefined }),
    first: fc.option(CONTAINER, { nil: undefined }),
    container: CONTAINER,
  })
  .map(({ volumes, first, container, ...fields }) => {
    const pod = defined({
      ...fields,
      volumes: volumes?.map((volume, index) => ({ name: `v-${index}`, ...volume })),
      initContainers: first && [{ name: "i", ...first }],
    });
    return { pod, container };
  });

const METADATA = fc
  .record({
    finalizers: maybe(["example.com/keep"]),
    ownerReferences: maybe([{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" }]),
  })
  .map(defined);

const OBJECT: fc.Arbitrary<Released> = fc.oneof(
  { arbitrary: POD.map(({ pod, container }) => releasedDeployment("api", pod, container)), weight: 6 },
  {
    arbitrary: POD.map(({ pod, container }) => {
      const { spec } = releasedDeployment("api", { ...pod, restartPolicy: "Never" }, container) as unknown as {
        readonly spec: { readonly template: object };
      };
      const jobTemplate = { spec: { template: spec.template } };
      return released("batch/v1", "CronJob", "api", { spec: { schedule: "0 0 1 1 *", jobTemplate } });
    }),
    weight: 2,
  },
  {
    arbitrary: fc
      .record({
        type: maybe("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
        externalIPs: maybe(["192.0.2.1"]),
      })
      .map(({ type, externalIPs }) =>
        released("v1", "Service", "api", {
          spec: defined({
            type,
            externalIPs,
            ports: [{ port: 80 }],
            externalName: type === "ExternalName" ? "e.x" : undefined,
          }),
        }),
      ),
    weight: 2,
  },
  {
    arbitrary: fc.constant(
      released("networking.k8s.io/v1", "Ingress", "api", {
        spec: { defaultBackend: { service: { name: "api", port: { number: 80 } } } },
      }),
    ),
    weight: 1,
  },
  { arbitrary: fc.constant(released("v1", "Secret", "api")), weight: 1 },
  { arbitrary: METADATA.map((metadata) => released("v1", "ConfigMap", "api", {}, metadata)), weight: 1 },
);

beforeAll(async () => {
  const { crds, rbac, policies } = installation();
  await cluster().apply([...crds, ...rbac, ...policies]);
  const account = (name: string, namespace: string, labels = {}) => ({
    ...{ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } },
  });
  await cluster().apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } }]);
  await cluster().apply([
    account(ROLLOUT_RUN, GRANTS),
    account("customers", SHOP),
    account("own", SHOP, MEMBER),
    {
      ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "careless" } },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: ROLLOUT_RUN, namespace: GRANTS }],
    },
  ]);
  token = await cluster().serviceAccountToken(GRANTS, ROLLOUT_RUN);
  ca = await readFile(cluster().caFile, "utf8");
}, 120_000);

const NARROW = { registries: [REGISTRY], mayExpose: false, kinds: RELEASE_KINDS };
const WIDE = { registries: [], mayExpose: true, kinds: RELEASE_KINDS };
const SECRET = released("v1", "Secret", "api");
const BORROWING = releasedDeployment("api", { serviceAccountName: "customers" });
const INGRESS = released("networking.k8s.io/v1", "Ingress", "api", {
  spec: { defaultBackend: { service: { name: "api", port: { number: 80 } } } },
});

test.each([
  ["narrow", NARROW],
  ["wide", WIDE],
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
      { numRuns: 400 },
    );
    expect(seen.passed).toBeGreaterThan(20);
    expect(seen.refused).toBeGreaterThan(100);
    expect(seen.invalid).toBeLessThan(seen.passed + seen.refused);
  },
  240_000,
);
