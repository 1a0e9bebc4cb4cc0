import { expect, test } from "vitest";
import { Interner } from "../../kube/projection/interner.ts";
import { daemonSetShape, statefulSetShape } from "../../kube/projection/shapes.ts";
import { ofDaemonSet, ofStatefulSet } from "./workload.ts";

const strings = new Interner();
const metadata = { name: "web", namespace: "shop", uid: "u", generation: 2 };

test("a StatefulSet counts all its replicas, not those of one revision", () => {
  const spec = { replicas: 2, selector: { matchLabels: { app: "db" } }, template: { spec: { containers: [] } } };
  const status = { observedGeneration: 2, replicas: 2, currentReplicas: 1, readyReplicas: 2, updatedReplicas: 2 };
  expect(ofStatefulSet(statefulSetShape.fromJson({ metadata, spec, status }, strings)).counts).toEqual({
    desired: 2,
    current: 2,
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
  const workload = ofDaemonSet(daemonSetShape.fromJson({ metadata, spec, status }, strings));
  expect(workload.counts).toEqual({ desired: 5, current: 4, ready: 3, available: 3, updated: 5, misscheduled: 1 });
});
