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

test.each([
  ["one new Pod", ["2026-01-01T11:59:30Z"], undefined, "unknown"],
  ["new Pods and an old one", ["2026-01-01T11:59:30Z", "2026-01-01T11:58:00Z"], undefined, "unhealthy"],
  ["no Pod, scaled up just now", [], "2026-01-01T11:59:30Z", "unknown"],
  ["no Pod, scaled up a minute ago", [], "2026-01-01T11:59:00Z", "unhealthy"],
  ["no Pod", [], undefined, "unhealthy"],
])("of last year, of which none is ready, with %s", (_, times, scaledUp, health) => {
  const metadata = { name: "web", uid: "web", generation: 1, creationTimestamp: "2025-01-01T00:00:00Z" };
  const status = { observedGeneration: 1, replicas: 3, updatedReplicas: 3 };
  const old = deploymentShape.fromJson({ metadata, spec: { replicas: 3 }, status }, strings);
  const pods = times.map((creationTimestamp) =>
    podShape.fromJson({ metadata: { name: "p", creationTimestamp } }, strings),
  );
  const view = { now, pods, ...(scaledUp !== undefined && { scaledUpAt: new Date(scaledUp) }) };
  expect(deploymentState(old, view).health).toBe(health);
});
