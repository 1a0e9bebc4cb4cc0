import Type from "typebox";
import { Errors } from "typebox/value";
import { describe, expect, test } from "vitest";
import {
  KUBERNETES_DATA,
  ObservedInventoryBatch,
  ResourceHeartbeat,
} from "../../contract/resources/resource-heartbeat.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { deploymentShape, type Pod, podShape } from "../../kube/projection/shapes.ts";
import { resourceReport, type WorkloadList } from "./resource-report.ts";
import { ofDeployment, type Workload } from "./workload.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const strings = new Interner();

function deployment(name: string, ready = 1): Workload {
  const metadata = {
    name,
    namespace: "shop",
    uid: name,
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { app: name, "app.kubernetes.io/version": "1.2.3" },
  };
  const containers = [{ name: "c", image: "web:1", env: [{ name: "PASSWORD", value: "canary" }] }];
  const spec = { replicas: 1, selector: { matchLabels: { app: name } }, template: { spec: { containers } } };
  const conditions = [
    {
      type: "Available",
      status: "True",
      reason: "MinimumReplicasAvailable",
      // As a webhook's refusal quotes what it refused.
      message: 'pods "web" is forbidden: DB_PASSWORD=canary is not allowed',
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];
  const status = {
    observedGeneration: 1,
    replicas: 1,
    readyReplicas: ready,
    updatedReplicas: 1,
    availableReplicas: ready,
    conditions,
  };
  return ofDeployment(deploymentShape.fromJson({ metadata, spec, status }, strings));
}
function pod(name: string, ready: boolean): Pod {
  const metadata = {
    name,
    namespace: "shop",
    uid: name,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "r" }],
  };
  const state = ready ? { running: {} } : { waiting: { reason: "CrashLoopBackOff", message: "a long story" } };
  const containerStatuses = [{ name: "c", ready, restartCount: 4, image: "web:1", state }];
  const conditions = [{ type: "Ready", status: ready ? "True" : "False" }];
  return podShape.fromJson(
    {
      metadata,
      spec: { nodeName: "n1", containers: [] },
      status: { phase: "Running", podIP: "10.0.0.1", conditions, containerStatuses },
    },
    strings,
  );
}
const list = (workloads: readonly Workload[], more: Partial<WorkloadList> = {}): WorkloadList => ({
  namespace: "shop",
  kind: "Deployment",
  complete: true,
  workloads,
  ...more,
});
const many = (count: number, ready = 1): Workload[] =>
  Array.from({ length: count }, (_, n) => deployment(`web-${n}`, ready));

describe("a report", () => {
  test("is what the contract takes, to the letter", () => {
    const [part] = resourceReport([list([deployment("web", 0)])], () => [pod("a", true), pod("b", false)], NOW);
    expect([...Errors(Type.Array(ResourceHeartbeat), part?.resourceHeartbeats)]).toEqual([]);
    expect([...Errors(Type.Array(ObservedInventoryBatch), part?.observedInventoryBatches)]).toEqual([]);
    expect([...Errors(KUBERNETES_DATA.container ?? Type.Never(), part?.resourceHeartbeats[0]?.data.data)]).toEqual([]);
  });

  test("tells counts, pods that are not ready first, and what was not collected", () => {
    const [part] = resourceReport([list([deployment("web", 0)])], () => [pod("a", true), pod("b", false)], NOW);
    expect(part?.resourceHeartbeats[0]).toMatchObject({
      resourceId: "deployment.shop.web",
      data: {
        data: {
          status: {
            health: "unhealthy",
            message: "0 of 1 ready; b: CrashLoopBackOff (4 restarts)",
            partial: true,
            collectionIssues: [{ source: "metrics" }, { source: "events" }],
          },
          restarts: 8,
          pods: [
            { name: "b", waitingReason: "CrashLoopBackOff" },
            { name: "a", ready: true },
          ],
        },
      },
    });
    expect(part?.observedInventoryBatches[0]).toMatchObject({
      inventoryScope: "kubernetes:apps/v1:Deployment:shop",
      complete: true,
      part: { index: 0, count: 1 },
      resources: [
        {
          rawIdentity: "apps/v1:Deployment:shop:web",
          version: "1.2.3",
          managedResourceId: "deployment.shop.web",
          counts: { desired: 1, ready: 0 },
        },
      ],
    });
  });

  test("holds nothing of a pod template but images", () => {
    expect(JSON.stringify(resourceReport([list([deployment("web")])], () => [], NOW))).not.toContain("canary");
  });

  test("of an empty namespace says that it is empty, so that what was there is removed", () => {
    const [part] = resourceReport([list([])], () => [], NOW);
    expect(part?.observedInventoryBatches).toMatchObject([
      { complete: true, resources: [], part: { index: 0, count: 1 } },
    ]);
  });

  test("of a list that was refused removes nothing", () => {
    const [part] = resourceReport([list([], { complete: false })], () => [], NOW);
    expect(part?.observedInventoryBatches[0]?.complete).toBe(false);
  });
});

describe("a large report is cut", () => {
  test.each([1, 100, 101, 499, 500, 501, 1_300])(
    "for %i workloads, within every bound and without losing a row",
    (count) => {
      const parts = resourceReport([list(many(count))], () => [pod("a", true)], NOW);
      for (const part of parts) {
        expect(part.resourceHeartbeats.length).toBeLessThanOrEqual(100);
        expect(part.observedInventoryBatches.length).toBeLessThanOrEqual(20);
        expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThan(1_000_000);
        for (const batch of part.observedInventoryBatches) expect(batch.resources.length).toBeLessThanOrEqual(500);
      }
      const batches = parts.flatMap((part) => part.observedInventoryBatches);
      expect(new Set(batches.flatMap(({ resources }) => resources.map(({ rawIdentity }) => rawIdentity))).size).toBe(
        count,
      );
      expect(batches.map(({ part }) => part?.index)).toEqual(batches.map((_, index) => index));
      expect(new Set(batches.map(({ part }) => part?.count))).toEqual(new Set([batches.length]));
      expect(parts.flatMap((part) => part.resourceHeartbeats)).toHaveLength(Math.min(count, 500));
    },
  );

  test("with the unhealthy ones told first", () => {
    const parts = resourceReport([list([...many(700), deployment("zz-broken", 0)])], () => [], NOW);
    expect(parts[0]?.resourceHeartbeats[0]?.resourceId).toBe("deployment.shop.zz-broken");
  });

  test("with many namespaces in one call", () => {
    const lists = Array.from({ length: 64 }, (_, n) => list([], { namespace: `n${n}` }));
    expect(resourceReport(lists, () => [], NOW)).toHaveLength(4);
  });
});
