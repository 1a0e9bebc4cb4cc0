import { expect, test } from "vitest";
import { Interner } from "../../../../kube/projection/interner.ts";
import { type Pod, podShape } from "../../../../kube/projection/shapes.ts";
import { nodeNeed } from "./node-need.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const before = (seconds: number): string => new Date(NOW.getTime() - seconds * 1_000).toISOString();

interface Refused {
  readonly name?: string;
  readonly reason?: string;
  readonly forSeconds?: number;
}

function pod(message: string, { name = "api-1", reason = "Unschedulable", forSeconds = 5 }: Refused = {}): Pod {
  const condition = { type: "PodScheduled", status: "False", reason, message, lastTransitionTime: before(forSeconds) };
  const object = {
    metadata: { name, uid: name, creationTimestamp: before(60) },
    status: { phase: "Pending", conditions: [condition] },
  };
  return podShape.fromJson(object, new Interner(4));
}

const FULL = "0/3 nodes are available: 3 Insufficient cpu";

test.each([
  ["0/3 nodes are available: 3 Insufficient cpu.", FULL],
  [`${FULL}. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful.`, FULL],
  ["0/1 nodes are available: 1 Too many pods. preemption: not eligible", "0/1 nodes are available: 1 Too many pods"],
  ["no nodes available to schedule pods", "no nodes available to schedule pods"],
  ["0/1 nodes are available: 1 node(s) were unschedulable.", "0/1 nodes are available: 1 node(s) were unschedulable"],
  ["0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found", undefined],
  ['0/1 nodes are available: persistentvolumeclaim "data" not found. not found', undefined],
  ["0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had volume node affinity conflict.", undefined],
  ["0/1 nodes are available: cannot allocate all claims. still not schedulable", undefined],
  ["waits for its turn: 0/1 nodes are available", undefined],
  ["", undefined],
])("%s", (message, why) => {
  expect(nodeNeed("Deployment.apps", [pod(message)], NOW)).toBe(why && `api-1: ${why}`);
});

test.each<[string, string, readonly Pod[]]>([
  ["a DaemonSet's pod belongs to a node that is there", "DaemonSet.apps", [pod(FULL)]],
  ["a pod that has just been refused may be placed", "Deployment.apps", [pod(FULL, { forSeconds: 4 })]],
  ["a pod that waits for a gate of its own", "Deployment.apps", [pod(FULL, { reason: "SchedulingGated" })]],
  ["there are no pods", "Deployment.apps", []],
])("no node is wanted: %s", (_, kind, pods) => {
  expect(nodeNeed(kind, pods, NOW)).toBeUndefined();
});

test("of several pods the same one is named, in any order", () => {
  const pods = [pod(FULL, { name: "api-2" }), pod(FULL, { name: "api-1" })];
  expect(nodeNeed("StatefulSet.apps", pods, NOW)).toBe(`api-1: ${FULL}`);
  expect(nodeNeed("StatefulSet.apps", pods.toReversed(), NOW)).toBe(`api-1: ${FULL}`);
});
