import { expect, test } from "vitest";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { endedJoins, membersOf, poolOf } from "./members.ts";

type Pool = Pick<MachinePool, "metadata" | "spec">;

const pool = (name: string, deploymentId: string, namePrefix?: string, minute = 0): Pool => ({
  metadata: {
    ...{ name, uid: name, resourceVersion: "1" },
    creationTimestamp: `2026-01-01T00:0${minute}:00Z`,
  },
  spec: { deploymentId, ...(namePrefix !== undefined && { namePrefix }) },
});
const join = (poolName: string, machineId: string, nodeName: string, state?: string): MachineJoin =>
  ({
    metadata: { name: `${poolName}-${machineId}`, uid: machineId, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { pool: poolName, machineId, nodeName },
    ...(state !== undefined && { status: { state } }),
  }) as unknown as MachineJoin;
const told = (deploymentId: string, pools: readonly Pool[], joins: readonly MachineJoin[], ...nodes: string[]) =>
  membersOf(deploymentId, { pools, joins }, nodes).map(({ machineId, nodeName }) => `${machineId}=${nodeName}`);

test.each<readonly [string, readonly Pool[], readonly MachineJoin[], readonly string[], readonly string[]]>([
  ["no pool", [], [], ["m-1"], []],
  ["the prefix", [pool("a", "dep_a")], [], ["m-1", "control-plane", "xm-1"], ["m-1=m-1"]],
  ["another deployment's pool", [pool("b", "dep_b")], [], ["m-1"], []],
  [
    "a joined machine with an id of its own",
    [pool("a", "dep_a")],
    [join("a", "box", "m-1", "Joined")],
    ["m-1"],
    ["box=m-1"],
  ],
  ["a machine that waits", [pool("a", "dep_a")], [join("a", "box", "m-1")], [], ["box=m-1"]],
  [
    "one that waits for a name that a node has",
    [pool("a", "dep_a")],
    [join("a", "box", "m-1")],
    ["m-1"],
    ["m-1=m-1", "box=m-1"],
  ],
  ["a denied one", [pool("a", "dep_a")], [join("a", "box", "m-1", "Denied")], [], []],
  ["a removed one", [pool("a", "dep_a")], [join("a", "box", "m-1", "Removed")], [], []],
  [
    "a removed one whose node is still to be deleted",
    [pool("a", "dep_a")],
    [join("a", "box", "m-1", "Removed")],
    ["m-1"],
    ["box=m-1"],
  ],
  [
    "a join of another pool, and our prefix",
    [pool("a", "dep_a"), pool("b", "dep_b", "x-")],
    [join("b", "box", "m-1", "Joined")],
    ["m-1"],
    [],
  ],
  [
    "a longer prefix of another pool",
    [pool("a", "dep_a"), pool("b", "dep_b", "m-gpu-")],
    [],
    ["m-gpu-1", "m-2"],
    ["m-2=m-2"],
  ],
  ["the same prefix, the other older", [pool("a", "dep_a", "m-", 1), pool("b", "dep_b", "m-", 0)], [], ["m-1"], []],
  [
    "a second pool, which does not act",
    [pool("a", "dep_a"), pool("c", "dep_a", "c-", 1)],
    [],
    ["m-1", "c-1"],
    ["m-1=m-1"],
  ],
])("machines of a deployment: %s", (_, pools, joins, nodes, expected) => {
  expect(told("dep_a", pools, joins, ...nodes)).toEqual(expected);
});

test("of joins that came to nothing the newest of each name is told, where no machine has that name", () => {
  const at = (minute: number, each: MachineJoin): MachineJoin =>
    ({ ...each, metadata: { ...each.metadata, creationTimestamp: `2026-01-01T00:0${minute}:00Z` } }) as MachineJoin;
  const joins = [
    at(2, join("a", "box", "m-1", "Denied")),
    at(1, join("a", "box", "m-1", "Expired")),
    at(1, join("a", "taken", "m-2", "Denied")),
    at(2, join("a", "taken", "m-2")),
    at(1, join("b", "foreign", "m-3", "Denied")),
    at(1, join("c", "old", "m-4", "Denied")),
    at(1, join("a", "gone", "m-5", "Removed")),
  ];
  const pools = [pool("a", "dep_a"), pool("b", "dep_b"), pool("c", "dep_a", "c-", 1)];
  const fleet = { pools, joins };
  const ended = endedJoins("dep_a", fleet, membersOf("dep_a", fleet, []));
  expect(ended.map(({ spec, status }) => `${spec.machineId} ${status?.state}`)).toEqual(["box Denied", "old Denied"]);
});

test("a node is a machine of at most one deployment", () => {
  const pools = [pool("a", "dep_a", "m-"), pool("b", "dep_b", "m-"), pool("c", "dep_c", "m-1")];
  const nodes = ["m-1", "m-2", "m-10"];
  const all = ["dep_a", "dep_b", "dep_c"].flatMap((id) => told(id, pools, [], ...nodes));
  expect(all.toSorted()).toEqual(["m-10=m-10", "m-1=m-1", "m-2=m-2"]);
});

test("the oldest pool of a deployment acts, then the first by name", () => {
  const pools = [pool("c", "dep_a", "c-", 1), pool("b", "dep_a", "b-"), pool("a", "dep_a", "a-")];
  expect(poolOf("dep_a", pools)?.metadata.name).toBe("a");
});
