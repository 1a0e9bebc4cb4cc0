import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import type { ReleaseManifest, ReleaseObject } from "../../../src/crds/kinds/release-content.ts";
import type { Drift } from "../../../src/crds/kinds/rollout.ts";
import { openNamespaceToReleases, openReleases } from "../../../src/crds/manifests/installation.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { type Connection, connect, type WireRequest } from "../../../src/kube/client/connection.ts";
import { type Comparison, driftOf } from "../../../src/operator/rollouts/drift/drift.ts";
import { MemberLooks } from "../../../src/operator/rollouts/drift/member-looks.ts";
import type { Override } from "../../../src/operator/rollouts/give-way.ts";
import { namespace } from "../../world/installation.ts";
import { signal } from "../../world/wait.ts";
import { configMap, deployment, member, useHands } from "./hands-world.ts";

// What the operator sees of drift on a real API server, which alone says who owns a field, with the rights that it has.

const cluster = useCluster();
const world = useHands(cluster);
const { systemNamespace, operatorAccount } = DEFAULT_NAMES;
let operator: Connection;
const asked: string[] = [];

beforeAll(async () => {
  await cluster().apply([namespace(systemNamespace)]);
  const account = { apiVersion: "v1", kind: "ServiceAccount" };
  await cluster().apply([{ ...account, metadata: { name: operatorAccount, namespace: systemNamespace } }]);
  const roles = openReleases().filter(({ kind }) => kind === "ClusterRole");
  await cluster().apply(roles.filter(({ metadata }) => metadata.name.startsWith("sallyport-operator-release-")));
  const path = `/api/v1/namespaces/${systemNamespace}/serviceaccounts/${operatorAccount}/token`;
  const { status } = (await world.send("POST", path, {})) as { status: { token: string } };
  const admin = await connect({ kubeconfig: cluster().adminKubeconfig });
  const connection = admin.withToken(status.token);
  const request = (each: WireRequest, stop: AbortSignal) => {
    asked.push(`${new URL(each.path, "http://x").pathname} ${each.headers?.accept ?? ""}`);
    return connection.request(each, stop);
  };
  operator = {
    ...{ server: connection.server, userAgent: connection.userAgent, namespace: connection.namespace, request },
    open: (each, stop) => connection.open(each, stop),
    upgrade: (each, upgrade, stop) => connection.upgrade(each, upgrade, stop),
    withToken: (token) => connection.withToken(token),
    close: () => admin.close(),
  };
});
afterAll(() => operator?.close());

async function opened(): Promise<string> {
  const shop = await world.namespace();
  await cluster().apply(openNamespaceToReleases(shop).filter(({ metadata }) => metadata.name.endsWith("-members")));
  return shop;
}

/** Applied as a rollout does. @returns what it gave way to */
async function installed(shop: string, ...objects: ReleaseObject[]): Promise<(Override & { ref: string })[]> {
  const intent = await world.intent("install", { objects, namespaces: [shop] });
  const { failures, overrides } = await (await world.hands()).apply(intent, 0, world.until(), signal());
  expect(failures).toEqual([]);
  return [...overrides];
}

async function compared(
  objects: readonly ReleaseObject[],
  given: readonly (Override & { ref: string })[] = [],
): Promise<Comparison> {
  asked.length = 0;
  const looks = await new MemberLooks(new Client(operator).exchange).of(objects, "dep_1", signal());
  const record = { given, drift: [], stored: (line: Drift) => line };
  return driftOf(objects, (ref) => looks.get(ref) ?? "unreadable", record);
}

async function drift(...args: Parameters<typeof compared>): Promise<readonly Drift[]> {
  const { drift: found, unseen } = await compared(...args);
  expect(unseen).toEqual([]);
  return found;
}

const kubectl = (...args: readonly string[]) => cluster().kubectl(args);
const pathOf = ({ metadata, kind }: ReleaseManifest) =>
  `${kind === "Deployment" ? "/apis/apps/v1" : "/api/v1"}/namespaces/${metadata.namespace}/${kind.toLowerCase()}s/${metadata.name}`;

test("what was installed has not drifted, and no value is asked for to see it", async () => {
  const shop = await opened();
  const labels = { "app.kubernetes.io/part-of": "shop" };
  const service: ReleaseManifest = {
    ...{ apiVersion: "v1", kind: "Service", metadata: { name: "web", namespace: shop, labels } },
    spec: {
      selector: { app: "web" },
      ports: [
        { name: "http", port: 80 },
        { name: "dns", port: 53, protocol: "UDP", targetPort: "dns" },
      ],
    },
  };
  const full = deployment(shop, "full", { replicas: 2, nodeSelector: { disk: "fast" } });
  const spec = full.spec as { template: { spec: { containers: object[] } } };
  Object.assign(spec.template.spec.containers[0] ?? {}, {
    ...{ args: ["-v"], env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] },
    resources: { requests: { cpu: "1000m", memory: "64Mi" }, limits: {} },
    volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
  });
  Object.assign(spec.template.spec, { volumes: [{ name: "tmp", emptyDir: {} }] });
  const objects = [full, service, configMap(shop, "web", { a: "1", b: "2" })].map((each) => member(each));
  await installed(shop, ...objects);
  expect(await drift(objects)).toEqual([]);
  expect(asked.filter((each) => each.includes(`/namespaces/${shop}/`))).toHaveLength(3);
  for (const each of asked.filter((one) => one.includes(`/namespaces/${shop}/`)))
    expect(each).toContain("PartialObjectMetadataList");
});

test("a field that a person has changed is told with object, field and manager, and no more once it is as before", async () => {
  const shop = await opened();
  const objects = [deployment(shop, "web"), configMap(shop, "conf", { a: "1", b: "2" })].map((each) => member(each));
  await installed(shop, ...objects);
  await kubectl("set", "image", "deployment/web", "c=registry.example/app:hotfix", "-n", shop);
  await kubectl("patch", "configmap", "conf", "-n", shop, "--type=json", "-p", '[{"op":"remove","path":"/data/b"}]');
  expect(await drift(objects)).toEqual([
    {
      ...{ ref: `Deployment.apps/${shop}/web`, manager: "kubectl-set" },
      field: '.spec.template.spec.containers[name="c"].image',
    },
    { ref: `ConfigMap/${shop}/conf`, field: ".data.b" },
  ]);
  await kubectl("set", "image", "deployment/web", "c=registry.example/app:1", "-n", shop);
  await kubectl("patch", "configmap", "conf", "-n", shop, "--type=merge", "-p", '{"data":{"b":"2"}}');
  expect(await drift(objects)).toEqual([]);
});

test("scaling, a restart and fields that no release has set are no drift", async () => {
  const shop = await opened();
  const objects = [member(deployment(shop, "web"))];
  await installed(shop, ...objects);
  await kubectl("scale", "deployment/web", "--replicas=3", "-n", shop);
  await kubectl("rollout", "restart", "deployment/web", "-n", shop);
  await kubectl("annotate", "deployment/web", "team=shop", "-n", shop);
  expect(await drift(objects)).toEqual([]);
  await kubectl("patch", "deployment", "web", "-n", shop, "-p", '{"spec":{"replicas":5}}');
  expect(await drift(objects)).toMatchObject([{ field: ".spec.replicas", manager: "kubectl-patch" }]);
});

test("what the rollout has given way to is no drift, and a change after that is", async () => {
  const shop = await opened();
  const objects = [member(configMap(shop, "conf", { a: "1", b: "1" }))];
  await installed(shop, ...objects);
  await kubectl("patch", "configmap", "conf", "-n", shop, "--type=merge", "-p", '{"data":{"a":"theirs"}}');
  const next = [member(configMap(shop, "conf", { a: "2", b: "2" }))];
  const given = await installed(shop, ...next);
  expect(given).toMatchObject([{ field: ".data.a" }]);
  expect(await drift(next, given)).toEqual([]);
  await kubectl("patch", "configmap", "conf", "-n", shop, "--type=merge", "-p", '{"data":{"b":"theirs"}}');
  expect(await drift(next, given)).toMatchObject([{ field: ".data.b", manager: "kubectl-patch" }]);
});

test("an object that was deleted is missing, one without our labels is there, and one that was made anew is another's", async () => {
  const shop = await opened();
  const [gone, unlabelled, anew] = ["gone", "unlabelled", "anew"].map((name) => configMap(shop, name, { a: "1" })) as [
    ReleaseManifest,
    ReleaseManifest,
    ReleaseManifest,
  ];
  const objects = [gone, unlabelled, anew].map((each) => member(each));
  await installed(shop, ...objects);
  await world.send("DELETE", pathOf(gone));
  await kubectl("label", "configmap/unlabelled", "sallyport.dev/deployment-id-", "-n", shop);
  await world.send("DELETE", pathOf(anew));
  await kubectl("create", "configmap", "anew", "--from-literal=a=other", "-n", shop);
  expect(await drift(objects)).toEqual([
    { ref: `ConfigMap/${shop}/gone` },
    { ref: `ConfigMap/${shop}/unlabelled`, field: ".metadata.labels.sallyport.dev/deployment-id" },
    { ref: `ConfigMap/${shop}/anew`, field: ".", manager: "kubectl-create" },
  ]);
});

test("without its role in a namespace the operator tells nothing of what is there", async () => {
  const shop = await world.namespace();
  const objects = [member(configMap(shop, "conf", { a: "1" }))];
  await installed(shop, ...objects);
  await world.send("DELETE", pathOf(objects[0]?.manifest as ReleaseManifest));
  expect(await compared(objects)).toEqual({ drift: [], unseen: [`ConfigMap/${shop}/conf`] });
  onTestFinished(() => expect(asked).not.toEqual([]));
});
