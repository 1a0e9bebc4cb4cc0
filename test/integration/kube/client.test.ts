import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect as dial } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { type Connection, connect } from "../../../src/kube/client/connection.ts";
import { type DynamicObject, type KubeObject, resources } from "../../../src/kube/objects/resource.ts";

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const cluster = useCluster({ tokenUsers: [{ user: "nobody" }, { user: "someone" }] });
const signal = AbortSignal.timeout(600_000);
const namespace = "client-test";
let connection: Connection;
let client: Client;

beforeAll(async () => {
  connection = await connect({ kubeconfig: cluster().adminKubeconfig });
  client = new Client(connection, { fieldManager: "client-test" });
  await cluster().apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }]);
});

afterAll(() => connection.close());

async function failure(answer: Promise<unknown>): Promise<ApiError> {
  const error = await answer.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiError)) throw new Error("no ApiError", { cause: error });
  return error;
}

const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace },
  data,
});
const deployment = (name: string, replicas: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "image:1" }] } },
  },
});
const pod = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, labels },
  spec: { containers: [{ name: "main", image: "image:1" }] },
});

describe("the client on a real API server", () => {
  test("creates, reads, replaces and deletes", async () => {
    const key = { namespace, name: "crud" };
    const created = await client.create<ConfigMap>(resources.configMaps, configMap("crud", { a: "1" }), signal);
    expect(await client.get(resources.configMaps, key, signal)).toEqual(created);
    const replaced = await client.replace(resources.configMaps, { ...created, data: { a: "2" } }, {}, signal);
    expect(replaced.data).toEqual({ a: "2" });
    const stale = await failure(client.replace(resources.configMaps, { ...created, data: { a: "3" } }, {}, signal));
    expect(stale.isConflict).toBe(true);
    expect((await failure(client.create(resources.configMaps, configMap("crud"), signal))).isAlreadyExists).toBe(true);
    expect(await client.delete(resources.configMaps, key, {}, signal)).toBe(true);
    expect(await client.delete(resources.configMaps, key, {}, signal)).toBe(false);
    expect(await client.get(resources.configMaps, key, signal)).toBeUndefined();
  });

  test("deletes only what the preconditions name", async () => {
    const key = { namespace, name: "guarded" };
    const { metadata } = await client.create(resources.configMaps, configMap("guarded"), signal);
    const wrong = client.delete(resources.configMaps, key, { preconditions: { uid: "another" } }, signal);
    expect((await failure(wrong)).isConflict).toBe(true);
    const { uid, resourceVersion } = metadata;
    expect(await client.delete(resources.configMaps, key, { preconditions: { uid, resourceVersion } }, signal)).toBe(
      true,
    );
  });

  test("applies server-side: owns what it sent, and takes a field from another only with force", async () => {
    await client.apply<ConfigMap>(resources.configMaps, configMap("applied", { a: "1", b: "1" }), {}, signal);
    const mine = await client.apply<ConfigMap>(resources.configMaps, configMap("applied", { a: "2" }), {}, signal);
    expect(mine.data).toEqual({ a: "2" });
    const other = { fieldManager: "other", force: false };
    const refused = await failure(
      client.apply<ConfigMap>(resources.configMaps, configMap("applied", { a: "3" }), other, signal),
    );
    expect([refused.status, refused.isConflict]).toEqual([409, true]);
    const forced = await client.apply<ConfigMap>(
      resources.configMaps,
      configMap("applied", { a: "3" }),
      { fieldManager: "other" },
      signal,
    );
    expect(forced.data).toEqual({ a: "3" });
  });

  test("patches by merge and by operations, the status apart", async () => {
    const key = { namespace, name: "patched" };
    await client.create(resources.deployments, deployment("patched", 1), signal);
    const merged = await client.patch(
      resources.deployments,
      key,
      { type: "merge", body: { metadata: { labels: { a: "b" } } } },
      {},
      signal,
    );
    expect(merged.metadata.labels).toEqual({ a: "b" });
    const operations = [
      { op: "test", path: "/metadata/labels/a", value: "b" },
      { op: "replace", path: "/metadata/labels/a", value: "c" },
    ] as const;
    const changed = await client.patch(resources.deployments, key, { type: "json", body: operations }, {}, signal);
    expect(changed.metadata.labels).toEqual({ a: "c" });
    const again = await failure(
      client.patch(resources.deployments, key, { type: "json", body: operations }, {}, signal),
    );
    expect(again.isInvalid).toBe(true);
    const body = { status: { observedGeneration: 7 }, spec: { replicas: 9 } };
    const status = await client.patch(
      resources.deployments,
      key,
      { type: "merge", body },
      { subresource: "status" },
      signal,
    );
    expect(status).toMatchObject({ spec: { replicas: 1 }, status: { observedGeneration: 7 } });
  });

  test("lists in pages of 500, by selector, up to a limit", async () => {
    const names = Array.from({ length: 520 }, (_, at) => `many-${at}`);
    for (let at = 0; at < names.length; at += 40) {
      await Promise.all(
        names
          .slice(at, at + 40)
          .map((name) =>
            client.create(
              resources.configMaps,
              { ...configMap(name), metadata: { name, namespace, labels: { many: "yes" } } },
              signal,
            ),
          ),
      );
    }
    const count = async (options: object): Promise<number> => {
      let found = 0;
      for await (const object of client.list(
        resources.configMaps,
        { namespace, labelSelector: "many=yes", ...options },
        signal,
      )) {
        expect([object.kind, object.apiVersion]).toEqual(["ConfigMap", "v1"]);
        found += 1;
      }
      return found;
    };
    expect(await count({})).toBe(520);
    expect(await count({ limit: 507 })).toBe(507);
    expect(await count({ fieldSelector: "metadata.name=many-7" })).toBe(1);
  });

  test("reads and sets a scale", async () => {
    const key = { namespace, name: "scaled" };
    await client.create(resources.deployments, deployment("scaled", 2), signal);
    expect((await client.getScale(resources.deployments, key, signal))?.spec.replicas).toBe(2);
    expect((await client.patchScale(resources.deployments, key, 5, signal)).spec.replicas).toBe(5);
    expect(await client.getScale(resources.deployments, { namespace, name: "none" }, signal)).toBeUndefined();
  });

  test("evicts a pod, unless a disruption budget forbids it, which is said at once", async () => {
    await client.create(resources.pods, pod("free"), signal);
    expect(await client.evict({ namespace, name: "free" }, { gracePeriodSeconds: 0 }, signal)).toBe(true);
    expect(await client.evict({ namespace, name: "none" }, {}, signal)).toBe(false);
    await client.create(
      resources.pods,
      { ...pod("bound", { app: "bound" }), spec: { ...pod("x").spec, nodeName: "somewhere" } },
      signal,
    );
    const budget = {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "bound", namespace },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "bound" } } },
    };
    await client.create<DynamicObject>(resources.podDisruptionBudgets, budget, signal);
    const running = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
    await client.patch(
      resources.pods,
      { namespace, name: "bound" },
      { type: "merge", body: running },
      { subresource: "status" },
      signal,
    );
    const refused = await failure(client.evict({ namespace, name: "bound" }, {}, signal));
    expect(refused.isTooManyRequests).toBe(true);
    // That it asks once, though the server names 10 s to wait, is shown by the client's own test.
    expect(refused.body).toMatchObject({ details: { causes: [{ reason: "DisruptionBudget" }] } });
  });

  test("acts as a ServiceAccount by a token of its own, with its rights only", async () => {
    await client.create(
      resources.serviceAccounts,
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "worker", namespace } },
      signal,
    );
    const issued = await client.createToken({ namespace, name: "worker" }, { expirationSeconds: 600 }, signal);
    expect(Date.parse(issued.expirationTimestamp)).toBeGreaterThan(Date.now() + 500_000);
    const worker = client.withToken(issued.token);
    expect((await worker.whoAmI(signal)).username).toBe(`system:serviceaccount:${namespace}:worker`);
    expect((await failure(worker.get(resources.secrets, { namespace, name: "x" }, signal))).isForbidden).toBe(true);
    expect((await client.whoAmI(signal)).groups).toContain("system:masters");
    expect((await failure(client.withToken("forged").whoAmI(signal))).isUnauthorized).toBe(true);
  });

  test("asks what it and others may do", async () => {
    const attributes = { verb: "delete", group: "apps", resource: "deployments", namespace };
    expect(await client.selfSubjectAccessReview(attributes, signal)).toBe(true);
    expect(await client.selfSubjectAccessReview({ verb: "get", path: "/metrics" }, signal)).toBe(true);
    expect(await client.subjectAccessReview({ user: "nobody" }, attributes, signal)).toBe(false);
    expect((await client.selfSubjectRulesReview(namespace, signal)).resourceRules.length).toBeGreaterThan(0);
  });

  test("reads the log of a pod: empty before it has a node, refused for a container it has not", async () => {
    await client.create(resources.pods, pod("silent"), signal);
    const key = { namespace, name: "silent" };
    expect(await client.podLogs(key, { tailLines: 1, limitBytes: 10 }, signal)).toBe("");
    expect((await failure(client.podLogs(key, { container: "none", limitBytes: 10 }, signal))).status).toBe(400);
  });

  test("reads any path as text", async () => {
    expect(await client.rawGet("/readyz", signal)).toBe("ok");
    expect(await client.rawGet("/version", signal)).toContain("gitVersion");
  });

  test("reads names with colons and capitals as they are", async () => {
    const name = "system:Odd:Name";
    await client.create(
      resources.clusterRoles,
      { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name } },
      signal,
    );
    expect((await client.get(resources.clusterRoles, { name }, signal))?.metadata.name).toBe(name);
  });

  test("tunnels TLS through a proxy", async () => {
    const tunnels: (string | undefined)[] = [];
    const proxy = createServer().on("connect", (request, socket) => {
      tunnels.push(request.url);
      const onward = dial(Number(new URL(cluster().server).port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        onward.pipe(socket).pipe(onward);
      });
      socket.on("error", () => onward.destroy());
      onward.on("error", () => socket.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    // The certificate is valid for this name too. For 127.0.0.1 the client would use no proxy.
    const server = cluster().server.replace("127.0.0.1", "kubernetes.default.svc");
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    const ca = await readFile(cluster().caFile, "utf8");
    const tunneled = await connect({ explicit: { server, ca, token: cluster().tokenFor("someone") }, environment });
    expect((await new Client(tunneled).whoAmI(signal)).username).toBe("someone");
    expect(tunnels).toEqual([new URL(server).host]);
    await tunneled.close();
    await new Promise((resolve) => proxy.close(resolve));
  });
});
