import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { silentLogger } from "../../../src/base/log.ts";
import { Informer } from "../../../src/kube/cache/informer.ts";
import type { Cached } from "../../../src/kube/cache/store.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { type Connection, connect } from "../../../src/kube/client/connection.ts";
import { keyOf, type Resource, resources } from "../../../src/kube/objects/resource.ts";
import {
  cronJobShape,
  jobShape,
  persistentVolumeClaimShape,
  podDisruptionBudgetShape,
} from "../../../src/kube/projection/batch-shapes.ts";
import type { Projection } from "../../../src/kube/projection/projection.ts";
import {
  configMapShape,
  daemonSetShape,
  deploymentShape,
  eventShape,
  namespaceShape,
  nodeShape,
  podShape,
  replicaSetShape,
  statefulSetShape,
} from "../../../src/kube/projection/shapes.ts";

// Controllers, a scheduler and simulated nodes fill in status as in a real cluster.
const cluster = useCluster({ controllers: true, kwok: { nodes: 2 }, isOwn: true });
const signal = AbortSignal.timeout(600_000);
const namespace = "watch-test";
let connection: Connection;
let client: Client;

const workload = (kind: string, name: string, more: object = {}) => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name, namespace, labels: { app: name }, annotations: { note: "grüße, 世界" } },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        initContainers: [{ name: "first", image: "image:0" }],
        containers: [{ name: "main", image: "image:1", env: [{ name: "A", value: "b" }] }],
      },
    },
    ...more,
  },
});

const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "image:1" }] } };
const others = [
  {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "once", namespace },
    spec: { completions: 2, backoffLimit: 1, activeDeadlineSeconds: 900, template },
  },
  {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "nightly", namespace },
    spec: { schedule: "0 3 * * *", suspend: true, jobTemplate: { spec: { template } } },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", namespace },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "none",
      resources: { requests: { storage: "1Gi" } },
    },
  },
  {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "web", namespace },
    spec: { minAvailable: 2, selector: { matchLabels: { app: "web" } } },
  },
];

beforeAll(async () => {
  connection = await connect({ kubeconfig: cluster().adminKubeconfig });
  client = new Client(connection);
  await cluster().apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    workload("Deployment", "web", { replicas: 3 }),
    workload("StatefulSet", "db", {
      replicas: 1,
      serviceName: "db",
      ordinals: { start: 3 },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } },
    }),
    workload("DaemonSet", "each", { updateStrategy: { type: "OnDelete" } }),
    ...others,
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings", namespace }, data: { secret: "not cached" } },
  ]);
  await vi.waitFor(
    async () => {
      const web = await client.get(resources.deployments, { namespace, name: "web" }, signal);
      expect(web).toMatchObject({ status: { readyReplicas: 3 } });
    },
    { timeout: 90_000, interval: 200 },
  );
});

afterAll(() => connection.close());

async function started<T extends Cached>(resource: Resource, projection: Projection<T>) {
  const stop = new AbortController();
  const informer = new Informer({ client, resource, projection, clock: systemClock, log: silentLogger, freeze: true });
  const running = informer.run(stop.signal);
  await informer.whenSynced(signal);
  return {
    informer,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

const kinds: readonly (readonly [string, Resource, Projection<Cached>])[] = [
  ["pods", resources.pods, podShape],
  ["deployments", resources.deployments, deploymentShape],
  ["statefulsets", resources.statefulSets, statefulSetShape],
  ["daemonsets", resources.daemonSets, daemonSetShape],
  ["replicasets", resources.replicaSets, replicaSetShape],
  ["jobs", resources.jobs, jobShape],
  ["cronjobs", resources.cronJobs, cronJobShape],
  ["persistentvolumeclaims", resources.persistentVolumeClaims, persistentVolumeClaimShape],
  ["poddisruptionbudgets", resources.podDisruptionBudgets, podDisruptionBudgetShape],
  ["nodes", resources.nodes, nodeShape],
  ["namespaces", resources.namespaces, namespaceShape],
  ["configmaps", resources.configMaps, configMapShape],
  ["events", resources.events, eventShape],
];

describe("an informer on a real API server", () => {
  test.each(kinds)("reads %s from protobuf to what JSON says of them", async (_, resource, projection) => {
    await using watched = await started(resource, projection);
    const fromJson: Projection<Cached> = { fromJson: projection.fromJson };
    await using plain = await started(resource, fromJson);
    await vi.waitFor(
      () => {
        const byKey = (objects: Iterable<Cached>) => new Map([...objects].map((object) => [keyOf(object), object]));
        const pods = byKey(watched.informer.store.values());
        expect(pods.size).toBeGreaterThan(0);
        expect(pods).toEqual(byKey(plain.informer.store.values()));
      },
      { timeout: 90_000, interval: 100 },
    );
  });

  test("keeps what workload health needs", async () => {
    await using pods = await started(resources.pods, podShape);
    const pod = [...pods.informer.store.values()].find(({ metadata }) => metadata.labels.app === "web");
    expect(pod).toMatchObject({
      spec: { containers: [{ name: "main", image: "image:1" }] },
      status: { phase: "Running", containerStatuses: [{ name: "main", ready: true, restartCount: 0 }] },
    });
    await using deployments = await started(resources.deployments, deploymentShape);
    expect(deployments.informer.store.get(`${namespace}/web`)).toMatchObject({
      metadata: { generation: 1 },
      spec: { replicas: 3, strategy: { type: "RollingUpdate" }, progressDeadlineSeconds: 600 },
      status: { observedGeneration: 1, replicas: 3, readyReplicas: 3, availableReplicas: 3, updatedReplicas: 3 },
    });
  });

  test("keeps of a Deployment's annotations the revision alone", async () => {
    await using deployments = await started(resources.deployments, deploymentShape);
    const { metadata } = deployments.informer.store.get(`${namespace}/web`) ?? {};
    expect(metadata?.annotations).toEqual({ "deployment.kubernetes.io/revision": "1" });
    await using sets = await started(resources.statefulSets, statefulSetShape);
    expect(JSON.stringify(sets.informer.store.get(`${namespace}/db`))).not.toContain("grüße");
    expect(sets.informer.store.get(`${namespace}/db`)?.spec).toMatchObject({
      ordinals: { start: 3 },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } },
    });
  });

  test("keeps nothing of what a configmap holds", async () => {
    await using maps = await started(resources.configMaps, configMapShape);
    expect(JSON.stringify(maps.informer.store.get(`${namespace}/settings`))).not.toContain("not cached");
  });

  test("goes on after the API server was killed, and misses no change", async () => {
    await using pods = await started(resources.pods, podShape);
    await using maps = await started(resources.configMaps, configMapShape);
    const { apiserver } = cluster().programs;
    await apiserver.kill();
    await apiserver.start(signal);
    const write = (name: string) =>
      client.create(
        resources.configMaps,
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } },
        signal,
      );
    // A fresh API server may need a moment to load RBAC.
    await vi.waitFor(() => write("after"), { timeout: 90_000, interval: 200 });
    await client.delete(resources.configMaps, { namespace, name: "settings" }, {}, signal);
    await vi.waitFor(
      () => {
        expect(maps.informer.store.get(`${namespace}/after`)).toBeDefined();
        expect(maps.informer.store.get(`${namespace}/settings`)).toBeUndefined();
      },
      { timeout: 90_000, interval: 100 },
    );
    const keys = new Set<string>();
    for await (const pod of client.list(resources.pods, {}, signal)) keys.add(keyOf(pod));
    await vi.waitFor(() => expect(new Set([...pods.informer.store.values()].map(keyOf))).toEqual(keys), {
      timeout: 90_000,
    });
  });
});
