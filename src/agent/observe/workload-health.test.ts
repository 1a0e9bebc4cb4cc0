import { describe, expect, test } from "vitest";
import { Interner } from "../../kube/projection/interner.ts";
import { daemonSetShape, deploymentShape, statefulSetShape } from "../../kube/projection/shapes.ts";
import { ofDaemonSet, ofDeployment, ofStatefulSet } from "./workload.ts";
import { healthOf } from "./workload-health.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const strings = new Interner();
const base = (more: object = {}) => ({
  metadata: {
    name: "web",
    namespace: "shop",
    uid: "u",
    resourceVersion: "1",
    generation: 2,
    creationTimestamp: "2026-01-01T00:00:00Z",
    ...more,
  },
});

interface Given {
  readonly replicas?: number;
  readonly status?: object;
  readonly metadata?: object;
}
const deployment = ({ replicas = 3, status = {}, metadata = {} }: Given) =>
  ofDeployment(
    deploymentShape.fromJson(
      {
        ...base(metadata),
        spec: {
          replicas,
          selector: { matchLabels: { app: "web" } },
          template: { spec: { containers: [{ name: "c", image: "web:1" }] } },
        },
        status: {
          observedGeneration: 2,
          replicas: 3,
          readyReplicas: 3,
          updatedReplicas: 3,
          availableReplicas: 3,
          ...status,
        },
      },
      strings,
    ),
  );

describe("a Deployment is", () => {
  test.each<[string, Given, string, string]>([
    ["all ready", {}, "healthy", "running"],
    ["one short", { status: { readyReplicas: 2 } }, "degraded", "running"],
    ["none ready", { status: { readyReplicas: 0 } }, "unhealthy", "running"],
    ["being deleted", { metadata: { deletionTimestamp: "2026-01-01T11:59:00Z" } }, "healthy", "deleting"],
    ["not seen yet", { status: { observedGeneration: 1 } }, "healthy", "updating"],
    ["half updated", { status: { updatedReplicas: 1 } }, "healthy", "updating"],
    ["scaling up", { replicas: 3, status: { replicas: 2, readyReplicas: 2 } }, "degraded", "scaling"],
    ["scaling down", { replicas: 1, status: { replicas: 3 } }, "healthy", "scaling"],
    [
      "stuck",
      { status: { readyReplicas: 0, conditions: [{ type: "Progressing", status: "False" }] } },
      "unhealthy",
      "failed",
    ],
    [
      "young and not ready",
      { metadata: { creationTimestamp: "2026-01-01T11:59:00.001Z" }, status: { readyReplicas: 0 } },
      "unhealthy",
      "creating",
    ],
    [
      "a minute old and not ready",
      { metadata: { creationTimestamp: "2026-01-01T11:59:00Z" }, status: { readyReplicas: 0 } },
      "unhealthy",
      "running",
    ],
    [
      "scaled to nothing",
      { replicas: 0, status: { replicas: 0, readyReplicas: 0, updatedReplicas: 0 } },
      "healthy",
      "stopped",
    ],
  ])("%s", (_, given, health, lifecycle) => {
    expect(healthOf(deployment(given), NOW)).toEqual({ health, lifecycle });
  });
});

test("a StatefulSet counts the replicas of its current revision", () => {
  const spec = { replicas: 2, selector: { matchLabels: { app: "db" } }, template: { spec: { containers: [] } } };
  const status = { observedGeneration: 2, replicas: 2, currentReplicas: 1, readyReplicas: 2, updatedReplicas: 2 };
  expect(ofStatefulSet(statefulSetShape.fromJson({ ...base(), spec, status }, strings)).counts).toEqual({
    desired: 2,
    current: 1,
    ready: 2,
    available: 0,
    updated: 2,
  });
});

test("a DaemonSet counts nodes", () => {
  const spec = { selector: { matchLabels: { app: "log" } }, template: { spec: { containers: [] } } };
  const status = {
    observedGeneration: 2,
    desiredNumberScheduled: 5,
    currentNumberScheduled: 4,
    numberReady: 3,
    numberAvailable: 3,
    updatedNumberScheduled: 5,
    numberMisscheduled: 1,
  };
  const workload = ofDaemonSet(daemonSetShape.fromJson({ ...base(), spec, status }, strings));
  expect(workload.counts).toEqual({ desired: 5, current: 4, ready: 3, available: 3, updated: 5, misscheduled: 1 });
  expect(healthOf(workload, NOW)).toEqual({ health: "degraded", lifecycle: "scaling" });
});
