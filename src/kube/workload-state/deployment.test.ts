import { expect, test } from "vitest";
import { Interner } from "../projection/interner.ts";
import { deploymentShape, podShape, replicaSetShape } from "../projection/shapes.ts";
import { deploymentState } from "./deployment.ts";

const strings = new Interner();
const revision = (number: string) => ({ "deployment.kubernetes.io/revision": number });
const replicaSet = (uid: string, number: string) =>
  replicaSetShape.fromJson(
    { metadata: { name: uid, uid, annotations: revision(number), ownerReferences: [{ uid: "web" }] } },
    strings,
  );
const crashing = (owner: string) =>
  podShape.fromJson(
    {
      metadata: { name: `${owner}-x`, uid: "x", ownerReferences: [{ uid: owner }] },
      status: {
        phase: "Running",
        containerStatuses: [{ name: "main", state: { waiting: { reason: "CrashLoopBackOff" } } }],
      },
    },
    strings,
  );
const deployment = deploymentShape.fromJson(
  {
    metadata: { name: "web", uid: "web", generation: 1, annotations: revision("2") },
    spec: { replicas: 1 },
    status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1 },
  },
  strings,
);
const now = new Date("2026-01-01T12:00:00Z");
const replicaSets = [replicaSet("web-old", "1"), replicaSet("web-new", "2")];

test.each([
  ["of the current template", "web-new", "degraded"],
  ["of a ReplicaSet that is scaled down", "web-old", "healthy"],
])("a Pod that crashes, %s", (_, owner, health) => {
  expect(deploymentState(deployment, { now, replicaSets, pods: [crashing(owner)] }).health).toBe(health);
});

test("a Pod that crashes counts while the ReplicaSets are not known", () => {
  expect(deploymentState(deployment, { now, pods: [crashing("web-old")] }).health).toBe("degraded");
});
