import Type from "typebox";
import { Errors } from "typebox/value";
import { expect, test } from "vitest";
import { KUBERNETES_DATA, ObservedResource, ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { deploymentShape, type Pod, podShape } from "../../kube/projection/shapes.ts";
import { observationOf, unreadable } from "./observation.ts";
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

const pods = [pod("a", true), pod("b", false)];

test("what is told is what the contract takes, to the letter", () => {
  const seen = observationOf(deployment("web", 0), pods, NOW);
  for (const { row, heartbeat } of [seen, unreadable(seen)]) {
    expect([...Errors(ResourceHeartbeat, heartbeat)]).toEqual([]);
    expect([...Errors(ObservedResource, row)]).toEqual([]);
    expect([...Errors(KUBERNETES_DATA.container ?? Type.Never(), heartbeat?.data.data)]).toEqual([]);
  }
});

test("it tells counts, pods that are not ready first, and what was not collected", () => {
  const { row, heartbeat } = observationOf(deployment("web", 0), pods, NOW);
  expect(heartbeat).toMatchObject({
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
  expect(row).toMatchObject({
    rawIdentity: "apps/v1:Deployment:shop:web",
    version: "1.2.3",
    managedResourceId: "deployment.shop.web",
    counts: { desired: 1, ready: 0 },
  });
});

test("it holds nothing of a pod template but images", () => {
  expect(JSON.stringify(observationOf(deployment("web"), [], NOW))).not.toContain("canary");
});

test("what may not be read any more is unknown and old, not gone", () => {
  const { row, heartbeat } = unreadable(observationOf(deployment("web"), [], NOW));
  const issue = { reason: "forbidden", severity: "error" };
  expect(row).toMatchObject({ health: "unknown", providerStale: true, collectionIssues: [issue] });
  expect(heartbeat?.data.data.status).toMatchObject({ health: "unknown", stale: true, collectionIssues: [issue] });
});
