import { expect, it, test } from "vitest";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { drain, requested } from "../testing/drain-fixtures.ts";
import { isOfItsMachine, poolOf, rulesOf, STRICT_RULES } from "./rules.ts";
import { isApproved, type TurnFacts, turnOf } from "./turn.ts";

const at = (second: number): { createdAt: string } => ({ createdAt: `2026-01-01T00:00:0${second}Z` });
const on = (nodeName: string, second: number, more: Partial<MachineDrain["spec"]> = {}): MachineDrain =>
  drain(`${nodeName}-${second}`, { nodeName, ...more }, at(second));
const facts = (drains: readonly MachineDrain[], more: Partial<TurnFacts> = {}): TurnFacts => ({
  drains,
  isBegun: ({ status }) => status?.startedAt !== undefined,
  poolOf: () => undefined,
  isOfItsMachine: () => true,
  maxParallel: 1,
  ...more,
});
const word = (status: "True" | "False"): MachineDrain["status"] => ({
  conditions: [
    { type: "Approved", status, reason: "GrantMatched", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ],
});

it.each([
  ["a person's", drain("one"), true],
  ["the platform's", drain("one", requested()), false],
  ["the platform's, with the operator's word", drain("one", requested(), { status: word("True") }), true],
  ["the platform's, with the word taken back", drain("one", requested(), { status: word("False") }), false],
  [
    "the platform's, with another condition",
    drain("one", requested(), { status: { state: "Waiting", conditions: [] } }),
    false,
  ],
])("whether a drain is approved: %s", (_, object, expected) => {
  expect(isApproved(object)).toBe(expected);
});

test("of one node the older drain acts, or the one that has begun", () => {
  const [old, young] = [on("m-1", 1), on("m-1", 2)];
  expect(turnOf(old, facts([old, young])).is).toBe("go");
  expect(turnOf(young, facts([old, young]))).toEqual({ is: "Superseded", message: "drain m-1-1 empties this node" });
  const begun = { ...young, status: { startedAt: "2026-01-01T00:00:03Z" } };
  expect(turnOf(old, facts([old, begun])).is).toBe("Superseded");
  expect(turnOf(begun, facts([old, begun])).is).toBe("go");
});

test("a drain that is over, or not approved, takes no other one's turn", () => {
  const mine = on("m-1", 5);
  const over = { ...on("m-1", 1), status: { state: "Drained" as const, startedAt: "2026-01-01T00:00:01Z" } };
  const unapproved = on("m-1", 2, requested());
  const elsewhere = on("m-2", 3, requested());
  expect(turnOf(mine, facts([over, unapproved, elsewhere, mine])).is).toBe("go");
});

test("as many nodes of a pool as it says, other pools apart", () => {
  const all = [on("a-1", 1), on("b-1", 2), on("a-2", 3), on("a-3", 4)];
  const pool: TurnFacts["poolOf"] = ({ spec }) => spec.nodeName.slice(0, 1);
  const turns = (maxParallel: number): readonly string[] =>
    all.map((each) => turnOf(each, facts(all, { poolOf: pool, maxParallel })).is);
  expect(turns(1)).toEqual(["go", "go", "Queued", "Queued"]);
  expect(turns(2)).toEqual(["go", "go", "go", "Queued"]);
});

test("a pool that cannot be understood lets none begin, and stops none", () => {
  const problem = "no label selector";
  const begun = { ...on("m-1", 1), status: { startedAt: "2026-01-01T00:00:03Z" } };
  expect(turnOf(on("m-1", 1), facts([], { problem }))).toEqual({ is: "PoolInvalid", message: problem });
  expect(turnOf(begun, facts([], { problem })).is).toBe("go");
});

test("without a policy that narrows this process nothing begins, and nothing goes on", () => {
  const begun = { ...on("m-1", 1), status: { startedAt: "2026-01-01T00:00:03Z" } };
  expect(turnOf(begun, facts([], { obstacle: "gone" }))).toEqual({ is: "PolicyMissing", message: "gone" });
});

function pool(name: string, spec: Partial<MachinePool["spec"]> = {}, createdAt = "2026-01-01T00:00:00Z"): MachinePool {
  return { metadata: { name, creationTimestamp: createdAt }, spec: { deploymentId: "dep_1", ...spec } } as MachinePool;
}

test("what a pool leaves out is strict", () => {
  expect(rulesOf(pool("box"))).toEqual({ ...STRICT_RULES, pool: "box" });
  expect(rulesOf(pool("box", { drain: { defaultDeadlineMinutes: 0 } })).defaultDeadlineMs).toBe(0);
  expect(rulesOf(pool("box", { drain: { skip: ["a b"] } })).problem).toBe(
    "spec.drain.skip of MachinePool box has what is no label selector: a b",
  );
});

test("a node is of its join's pool, else of the one with the longest prefix of its name", () => {
  const pools = [
    pool("short", { namePrefix: "m-" }),
    pool("long", { namePrefix: "m-gpu-" }),
    pool("older", { namePrefix: "m-" }, "2025-01-01T00:00:00Z"),
  ];
  const join = (state: string) => [
    { spec: { pool: "short", nodeName: "m-gpu-1", machineId: "box" }, status: { state } },
  ];
  expect(poolOf("m-gpu-1", [], pools)?.metadata.name).toBe("long");
  expect(poolOf("m-gpu-1", join("Joined"), pools)?.metadata.name).toBe("short");
  expect(poolOf("m-gpu-1", join("Waiting"), pools)?.metadata.name).toBe("long");
  expect(poolOf("m-1", [], pools)?.metadata.name).toBe("older");
  expect(poolOf("control-plane", [], pools)).toBeUndefined();
});

const approved = word("True") ?? {};

test("a wish for one machine empties no other node, and stands in no one's way", () => {
  const wish = { ...on("control-plane", 1, requested({ remove: true })), status: approved };
  const persons = on("control-plane", 2);
  const stray: Partial<TurnFacts> = { isOfItsMachine: ({ spec }) => spec.requested === undefined };
  expect(turnOf(wish, facts([wish, persons], stray))).toEqual({
    is: "OtherMachine",
    message: "node control-plane is not machine m-3 of deployment dpl_1",
  });
  expect(turnOf(persons, facts([wish, persons], stray)).is).toBe("go");
  // What has begun was judged then: its join may have changed since.
  const begun = { ...wish, status: { ...approved, startedAt: "2026-01-01T00:00:03Z" } };
  expect(turnOf(begun, facts([begun], stray)).is).toBe("go");
});

test.each<readonly [string, nodeName: string, machineId: string, deploymentId: string, expected: boolean]>([
  ["by its join", "m-1", "box-7", "dep_1", true],
  ["by its join, named as the node", "m-1", "m-1", "dep_1", false],
  ["another machine's", "m-2", "box-7", "dep_1", false],
  ["another deployment's", "m-1", "box-7", "dep_2", false],
  ["by its prefix", "m-9", "m-9", "dep_1", true],
  ["by its prefix, of another deployment's pool", "gpu-9", "gpu-9", "dep_1", false],
  ["one that still waits", "m-3", "box-9", "dep_1", false],
  ["one that was removed", "m-4", "m-4", "dep_1", true],
  ["a control plane", "control-plane", "box-7", "dep_1", false],
  ["a control plane under its own name", "control-plane", "control-plane", "dep_1", false],
])("whether a node is that of the machine which is asked for: %s", (_, nodeName, machineId, deploymentId, expected) => {
  const pools = [pool("box", { namePrefix: "m-" }), pool("gpu", { namePrefix: "gpu-", deploymentId: "dep_2" })];
  const joins = [
    { spec: { pool: "box", nodeName: "m-1", machineId: "box-7" }, status: { state: "Joined" } },
    { spec: { pool: "box", nodeName: "m-2", machineId: "box-8" }, status: { state: "Issued" } },
    { spec: { pool: "box", nodeName: "m-3", machineId: "box-9" }, status: { state: "Waiting" } },
    { spec: { pool: "box", nodeName: "m-4", machineId: "m-4" }, status: { state: "Removed" } },
  ];
  const spec = { nodeName, requested: { deploymentId, machineId, revision: 1 } };
  expect(isOfItsMachine(spec, joins, pools)).toBe(expected);
  expect(isOfItsMachine({ nodeName }, joins, pools)).toBe(true);
});
