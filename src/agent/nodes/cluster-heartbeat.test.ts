import Type from "typebox";
import { Errors } from "typebox/value";
import { expect, test } from "vitest";
import { KUBERNETES_DATA, ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { type Node, nodeShape } from "../../kube/projection/shapes.ts";
import type { ListState } from "../kernel/resource-metrics.ts";
import { clusterHeartbeat } from "./cluster-heartbeat.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const OLD = "2026-01-01T00:00:00Z";

interface Made {
  readonly ready?: string;
  readonly pressure?: string;
  readonly createdAt?: string;
  readonly version?: string;
  readonly cpu?: string | undefined;
}

function node(name: string, made: Made = {}): Node {
  const { ready = "True", pressure, createdAt = OLD, version = "v1.36.3" } = made;
  const conditions = [
    { type: "Ready", status: ready, message: "kubelet says PASSWORD=canary" },
    ...(pressure === undefined ? [] : [{ type: pressure, status: "True" }]),
  ];
  const cpu = "cpu" in made ? made.cpu : "3920m";
  return nodeShape.fromJson(
    {
      metadata: {
        ...{ name, uid: name, resourceVersion: "1", creationTimestamp: createdAt },
        labels: { "topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1", secret: "canary" },
      },
      spec: { providerID: "cloud:///canary", taints: [{ key: "canary", effect: "NoSchedule" }] },
      status: {
        allocatable: { ...(cpu !== undefined && { cpu }), memory: "16Gi", pods: "110" },
        ...{ conditions, addresses: [{ type: "InternalIP", address: "10.9.8.7" }] },
        nodeInfo: { kubeletVersion: version, architecture: "amd64", kernelVersion: "canary", operatingSystem: "linux" },
      },
    },
    new Interner(),
  );
}

const told = (nodes: readonly Node[], state: ListState = "read") =>
  // biome-ignore lint/suspicious/noExplicitAny: the contract's own check is another test.
  clusterHeartbeat({ nodes, state }, NOW).data.data as any;

test("what is told is what the contract takes, and nothing that names a machine's address or owner", () => {
  for (const state of ["read", "stale", "unreadable"] as const) {
    const heartbeat = clusterHeartbeat({ nodes: [node("a"), node("b", { ready: "False" })], state }, NOW);
    expect([...Errors(ResourceHeartbeat, heartbeat)]).toEqual([]);
    expect([...Errors(KUBERNETES_DATA["kubernetes-cluster"] ?? Type.Never(), heartbeat.data.data)]).toEqual([]);
    expect(JSON.stringify(heartbeat)).not.toMatch(/canary|10\.9\.8\.7/);
  }
  expect(told([node("a")])).toMatchObject({
    nodeCounts: { desired: 1, current: 1, ready: 1 },
    ...{ version: "v1.36.3", region: "r1" },
    cpu: { value: 3.92, unit: "cores" },
    memory: { value: 2 ** 34, unit: "bytes" },
    nodeStatuses: [{ name: "a", ready: true, problems: [], zone: "z1", cpu: 3.92, memory: 2 ** 34, pods: 110 }],
  });
});

test.each<readonly [string, readonly Node[], string, string | null]>([
  ["all ready", [node("a"), node("b")], "healthy", null],
  ["one not", [node("a"), node("b", { ready: "False" })], "degraded", "1 of 2 nodes ready; b: NotReady"],
  ["one away", [node("a"), node("b", { ready: "Unknown" })], "degraded", "1 of 2 nodes ready; b: Unreachable"],
  ["one just made", [node("a"), node("b", { ready: "False", createdAt: NOW.toISOString() })], "healthy", null],
  ["no disk", [node("a", { pressure: "DiskPressure" })], "degraded", "1 of 1 node ready; a: DiskPressure"],
  ["none ready", [node("a", { ready: "False" })], "unhealthy", "0 of 1 node ready; a: NotReady"],
  ["none yet", [node("a", { ready: "False", createdAt: NOW.toISOString() })], "unknown", "0 of 1 node ready"],
  ["no nodes", [], "unknown", "no nodes"],
])("%s", (_case, nodes, health, message) => {
  expect(told(nodes).status).toMatchObject({ health, message });
});

test("a name of a lying API server writes nothing to a terminal", () => {
  const [status] = told([node("a\u001b[31m\n", { ready: "False" })]).nodeStatuses;
  expect(status.name).toBe("a?[31m?");
  expect(told([node("a\u001b[31m", { ready: "False" })]).status.message).toContain("a??31m: NotReady");
});

test("nodes with trouble come first, and a hundred are told", () => {
  const nodes = Array.from({ length: 150 }, (_, index) => node(`n${1000 + index}`));
  const { nodeCounts, nodeStatuses } = told([...nodes, node("z", { ready: "False" })]);
  expect(nodeCounts).toMatchObject({ desired: 151, ready: 150 });
  expect([nodeStatuses.length, nodeStatuses[0].name]).toEqual([100, "z"]);
});

test("while an upgrade runs both versions are told; a room that one node does not say is not known", () => {
  const nodes = [node("a", { version: "v1.36.3" }), node("b", { version: "v1.9.1", cpu: undefined })];
  expect(told(nodes).version).toBe("v1.9.1 to v1.36.3");
  expect(told(nodes)).not.toHaveProperty("cpu");
  expect(told(nodes).memory.value).toBe(2 ** 35);
});

test("without the right its health is not known, and what is shown is said to be old", () => {
  expect(told([node("a")], "unreadable")).toMatchObject({
    status: { health: "unknown", stale: true, collectionIssues: [{ reason: "forbidden" }] },
    nodeCounts: { desired: 1 },
  });
});
