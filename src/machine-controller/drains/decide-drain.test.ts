import { expect, it, test } from "vitest";
import type { MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import { budget, drain, NODE, node, type PodWish, pod, SYSTEM } from "../testing/drain-fixtures.ts";
import { Attempts, BudgetGates } from "./attempts.ts";
import { type DrainDecision, type DrainFacts, decideDrain } from "./decide-drain.ts";
import { STRICT_RULES } from "./rules.ts";
import type { Budget, DrainPod } from "./shapes.ts";

const NOW = new Date("2026-01-01T01:00:00Z");
const BEGUN: MachineDrainStatus = {
  state: "Draining",
  startedAt: "2026-01-01T00:30:00Z",
  deadlineAt: "2026-01-01T01:30:00Z",
  cordonedByUs: true,
};
const middle = (): number => 0.5;

interface Scene extends Partial<DrainFacts> {
  readonly budgets?: readonly Budget[];
}

function facts({ budgets = [], ...more }: Scene = {}): DrainFacts {
  return {
    drain: drain("one", {}, { status: BEGUN }),
    node: node(NODE, { cordoned: true, mark: "uid-of-one" }),
    pods: [],
    budgetsOf: () => budgets,
    rules: STRICT_RULES,
    turn: { is: "go" },
    attempts: new Attempts(0, middle),
    gates: new BudgetGates(middle),
    own: { namespace: SYSTEM, name: "machines-0" },
    keptNamespaces: ["kube-system", SYSTEM],
    movedMs: 0,
    now: NOW,
    nowMs: 0,
    ...more,
  };
}

const decide = (scene?: Scene): DrainDecision => decideDrain(facts(scene));
const acts = (decision: DrainDecision): readonly string[] =>
  decision.acts.map((act) =>
    act.do === "cordon"
      ? "cordon"
      : `${act.do} ${act.pod.metadata.name}${act.do === "delete" ? ` ${act.graceSeconds}s` : ""}`,
  );
const reasons = ({ blocked }: DrainDecision): readonly string[] => blocked.map(({ reason }) => reason);
const forced = (force = true): Scene => ({
  drain: drain("one", { force, deadlineAt: "2026-01-01T00:59:59Z" }, { status: BEGUN }),
  rules: { ...STRICT_RULES, pool: "pool", allowForce: true },
});

test("the claim stands before anything is done under it", () => {
  const decision = decide({ drain: drain("one"), node: node() });
  expect(decision).toMatchObject({ state: "Cordoning", acts: [], startedAt: "2026-01-01T01:00:00Z" });
  expect(decision.deadlineAt).toBe("2026-01-01T02:00:00Z");
});

test("a node that takes pods is cordoned first, also when a person has uncordoned it meanwhile", () => {
  expect(acts(decide({ node: node(), pods: [pod("a")] }))).toEqual(["cordon"]);
});

it.each([
  ["this drain's mark", node(NODE, { cordoned: true, mark: "uid-of-one" }), true],
  ["an older drain's mark", node(NODE, { cordoned: true, mark: "uid-of-other" }), true],
  ["the mark of a drain that found it cordoned", node(NODE, { cordoned: true, mark: "uid-of-other/found" }), false],
  ["a person's cordon", node(NODE, { cordoned: true }), false],
])("whose cordon it is, by %s", (_, found, expected) => {
  const { cordonedByUs, ...status } = BEGUN;
  expect(cordonedByUs).toBe(true);
  expect(decide({ drain: drain("one", {}, { status }), node: found }).cordonedByUs).toBe(expected);
});

test("whose cordon it is was said once", () => {
  const status = { ...BEGUN, cordonedByUs: false };
  expect(decide({ drain: drain("one", {}, { status }) }).cordonedByUs).toBe(false);
});

const POD_TABLE: readonly (readonly [string, PodWish, readonly string[], readonly string[]])[] = [
  ["a Deployment's", {}, ["evict p"], []],
  ["a mirror of the kubelet's own", { isMirror: true }, [], []],
  ["a DaemonSet's", { owner: ["DaemonSet", "logs"] }, [], []],
  ["one that ended", { phase: "Succeeded" }, [], []],
  ["one that failed, of no owner", { phase: "Failed", owner: null }, [], []],
  ["one of no controller", { owner: null }, [], ["unmanaged-pod"]],
  ["one with an emptyDir", { emptyDir: true }, ["evict p"], []],
  ["one that is ending", { deletionTimestamp: "2026-01-01T01:00:20Z" }, [], []],
  ["one that should have ended", { deletionTimestamp: "2026-01-01T00:58:00Z" }, [], ["terminating"]],
  ["a StatefulSet's", { owner: ["StatefulSet", "db"] }, ["evict p"], []],
  ["a mirror that is ending", { isMirror: true, deletionTimestamp: "2026-01-01T00:58:00Z" }, [], []],
];
it.each(POD_TABLE)("%s pod", (_, wish, expected, blocked) => {
  const decision = decide({ pods: [pod("p", wish), pod("other")] });
  expect(acts(decision).filter((act) => act !== "evict other")).toEqual(expected);
  expect(reasons(decision)).toEqual(blocked);
});

test("a pod with an emptyDir is held where the pool says so", () => {
  const decision = decide({
    pods: [pod("p", { emptyDir: true })],
    rules: { ...STRICT_RULES, pool: "box", deleteEmptyDir: false },
  });
  expect([acts(decision), reasons(decision)]).toEqual([[], ["local-storage"]]);
  expect(decision.blocked[0]?.message).toContain("MachinePool box says deleteEmptyDir: false");
});

test("a pod that the pool's selectors name stays, and holds nothing up", () => {
  const skip = [[{ key: "app", operator: "In", values: ["api"] }]];
  const decision = decide({ pods: [pod("p")], rules: { ...STRICT_RULES, skip } });
  expect(decision).toMatchObject({ state: "Drained", end: "Empty" });
  expect(decision.skipped.map(({ pod: name, reason }) => [name, reason])).toEqual([["shop/p", "daemon"]]);
});

test("unmanaged pods go with force, only where the pool allows it", () => {
  const asks = drain("one", { force: true }, { status: BEGUN });
  const pods = [pod("p", { owner: null })];
  expect(acts(decide({ drain: asks, pods, rules: { ...STRICT_RULES, allowForce: true } }))).toEqual(["evict p"]);
  const refused = decide({ drain: asks, pods });
  expect(acts(refused)).toEqual([]);
  expect(refused.blocked[0]?.message).toContain(
    "force was asked for, but no MachinePool that allows force has this node",
  );
});

test("the order: by priority, then grace; what is critical later, ours last", () => {
  const pods: readonly DrainPod[] = [
    pod("machines-0", { namespace: SYSTEM }),
    pod("agent-0", { namespace: SYSTEM }),
    pod("dns", { priority: 2_000_000_000 }),
    pod("slow", { graceSeconds: 300 }),
    pod("important", { priority: 1_000 }),
    pod("quick", { graceSeconds: 5 }),
  ];
  expect(acts(decide({ pods }))).toEqual(["evict quick", "evict slow", "evict important", "evict dns"]);
});

test("ours go one at a time once no other pod is left, this process at the very end", () => {
  const ours = [
    pod("machines-0", { namespace: SYSTEM }),
    pod("agent-0", { namespace: SYSTEM }),
    pod("agent-1", { namespace: SYSTEM }),
  ];
  expect(acts(decide({ pods: ours }))).toEqual(["evict agent-0"]);
  expect(acts(decide({ pods: [...ours, pod("stuck", { owner: null })] }))).toEqual([]);
  const ending = pod("agent-0", { namespace: SYSTEM, deletionTimestamp: "2026-01-01T01:00:20Z" });
  expect(acts(decide({ pods: [ending, ...ours.slice(2)] }))).toEqual([]);
  expect(acts(decide({ pods: ours.slice(0, 1) }))).toEqual(["evict machines-0"]);
});

test("a drain is blocked when nothing but ours could go, and ours wait for what is blocked", () => {
  const pods = [pod("machines-0", { namespace: SYSTEM }), pod("agent-0", { namespace: SYSTEM })];
  const stuck = pod("stuck", { owner: null });
  expect(decide({ pods: [...pods, stuck] })).toMatchObject({ state: "Blocked", progress: "Blocked", left: 3 });
  expect(decide({ pods: [...pods, stuck, pod("free")] })).toMatchObject({ state: "Draining", left: 4 });
  expect(decide({ pods })).toMatchObject({ state: "Draining", left: 2 });
});

test("no more than ten are asked for at once, then five a second", () => {
  const pods = Array.from({ length: 30 }, (_, index) => pod(`p${index}`));
  const attempts = new Attempts(0, middle);
  const first = decide({ pods, attempts });
  expect(first.acts.length).toBe(10);
  for (const act of first.acts) {
    attempts.asked(0);
    if (act.do === "evict") attempts.answered(act.pod, "evict", { is: "accepted" }, 0);
  }
  const second = decide({ pods, attempts });
  expect([second.acts.length, second.againMs]).toEqual([0, 200]);
  expect(decide({ pods, attempts, nowMs: 1_000 }).acts.length).toBe(5);
});

test("an accepted pod is waited for until the cache shows its end, and asked for again when it never does", () => {
  const attempts = new Attempts(0, middle);
  attempts.answered(pod("p"), "evict", { is: "accepted" }, 0);
  expect(acts(decide({ pods: [pod("p")], attempts, nowMs: 59_000 }))).toEqual([]);
  expect(acts(decide({ pods: [pod("p")], attempts, nowMs: 60_000 }))).toEqual(["evict p"]);
});

test("a pod of the same name with another uid is another pod", () => {
  const attempts = new Attempts(0, middle);
  attempts.answered(pod("p", { uid: "old" }), "evict", { is: "error", message: "no" }, 0);
  expect(acts(decide({ pods: [pod("p", { uid: "new" })], attempts }))).toEqual(["evict p"]);
});

test("of a budget's pods as many are asked for as it allows, and one where the cache says none", () => {
  const pods = [pod("a"), pod("b"), pod("c")];
  expect(acts(decide({ pods, budgets: [budget("api", { allowed: 2 })] }))).toEqual(["evict a", "evict b"]);
  expect(acts(decide({ pods, budgets: [budget("api", { allowed: 0 })] }))).toEqual(["evict a"]);
});

test("one refusal holds all pods of the budget until its time or its change", () => {
  const pods = [pod("a"), pod("b")];
  const attempts = new Attempts(0, middle);
  const gates = new BudgetGates(middle);
  const before = budget("api", { allowed: 0 });
  gates.asked(before);
  gates.answered(before, { is: "budget", message: "needs 2" }, 0);
  attempts.answered(pods[0] as DrainPod, "evict", { is: "budget", message: "needs 2" }, 0);
  const held = decide({ pods, attempts, gates, budgets: [before], nowMs: 4_000 });
  expect([acts(held), held.state, held.againMs]).toEqual([[], "Blocked", 1_000]);
  expect(held.blocked.map(({ reason, budget: of }) => [reason, of])).toEqual([
    ["pod-disruption-budget", "shop/api"],
    ["pod-disruption-budget", "shop/api"],
  ]);
  expect(acts(decide({ pods, attempts, gates, budgets: [before], nowMs: 5_000 }))).toEqual(["evict a"]);
  const after = { ...budget("api", { allowed: 1 }), metadata: { ...before.metadata, resourceVersion: "2" } };
  expect(acts(decide({ pods, attempts, gates, budgets: [after], nowMs: 10 }))).toEqual(["evict a"]);
  // The cache still shows a version that allows one: it was refused by that very version.
  const stale = { ...after, metadata: before.metadata };
  expect(acts(decide({ pods, attempts, gates, budgets: [stale], nowMs: 10 }))).toEqual([]);
});

test("a pod that is not ready is asked for although its budget has no room", () => {
  const gates = new BudgetGates(middle);
  const refused = budget("api");
  gates.answered(refused, { is: "budget", message: "needs 2" }, 0);
  const pods = [pod("ready"), pod("unready", { isReady: false })];
  expect(acts(decide({ pods, gates, budgets: [refused], nowMs: 1 }))).toEqual(["evict unready"]);
});

test("two budgets of one pod: said once, tried again in five minutes or when there is one", () => {
  const attempts = new Attempts(0, middle);
  const budgets = [budget("one", { allowed: 1 }), budget("two", { allowed: 1 })];
  expect(acts(decide({ pods: [pod("p")], budgets }))).toEqual(["evict p"]);
  attempts.answered(pod("p"), "evict", { is: "misconfigured" }, 0);
  const held = decide({ pods: [pod("p")], attempts, budgets, nowMs: 299_000 });
  expect([acts(held), reasons(held)]).toEqual([[], ["misconfigured-budget"]]);
  expect(held.blocked[0]?.message).toContain("pdb/one and pdb/two select this pod");
  expect(acts(decide({ pods: [pod("p")], attempts, budgets: budgets.slice(1), nowMs: 1 }))).toEqual(["evict p"]);
  expect(acts(decide({ pods: [pod("p")], attempts, budgets, nowMs: 300_000 }))).toEqual(["evict p"]);
});

it.each([
  ["an error waits longer each time", { is: "error", message: "webhook said no" } as const, ["eviction-error"], 1_000],
  ["a busy server says how long", { is: "busy", afterMs: 7_000, message: "too many" } as const, [], 7_000],
  ["a namespace that is deleted takes it along", { is: "ending" } as const, ["terminating"], 60_000],
])("%s", (_, answer, blocked, againMs) => {
  const attempts = new Attempts(0, middle);
  attempts.answered(pod("p"), "evict", answer, 0);
  const decision = decide({ pods: [pod("p")], attempts });
  expect([acts(decision), reasons(decision), decision.againMs]).toEqual([[], blocked, againMs]);
});

test("a deadline that has passed without force: Blocked, and it goes on trying", () => {
  const decision = decide({
    drain: drain("one", { deadlineAt: "2026-01-01T00:59:59Z" }, { status: BEGUN }),
    pods: [pod("p")],
  });
  expect(decision).toMatchObject({ state: "Blocked", deadline: "GoesOn", deadlineAt: "2026-01-01T00:59:59Z" });
  expect(acts(decision)).toEqual(["evict p"]);
});

test("force that the pool does not allow is said, and deletes nothing", () => {
  const decision = decide({ ...forced(), rules: STRICT_RULES, pods: [pod("p")] });
  expect(decision).toMatchObject({ state: "Blocked", deadline: "ForceNotAllowed" });
  expect(acts(decision)).toEqual(["evict p"]);
});

test("force at the deadline deletes what is left with a grace of 30 s at most and 1 s at least", () => {
  const pods = [
    pod("long", { graceSeconds: 600 }),
    pod("none", { graceSeconds: 0 }),
    pod("alone", { owner: null, graceSeconds: 10 }),
    pod("ending", {
      deletionTimestamp: "2026-01-01T01:50:00Z",
      deletionGracePeriodSeconds: 3_600,
      graceSeconds: 3_600,
    }),
    pod("quick", { deletionTimestamp: "2026-01-01T01:00:20Z", deletionGracePeriodSeconds: 30 }),
    pod("daemon", { owner: ["DaemonSet", "logs"] }),
    pod("dns", { namespace: "kube-system" }),
    pod("machines-0", { namespace: SYSTEM }),
  ];
  const decision = decide({ ...forced(), pods });
  expect(acts(decision)).toEqual([
    "delete ending 30s",
    "delete none 1s",
    "delete alone 10s",
    "evict dns",
    "delete long 30s",
  ]);
  expect(decision).toMatchObject({ state: "Draining", deadline: "Forced" });
});

test("force never deletes what the pool's deleteEmptyDir keeps", () => {
  const scene = forced();
  const rules = { ...STRICT_RULES, allowForce: true, deleteEmptyDir: false };
  const decision = decide({ ...scene, rules, pods: [pod("p", { emptyDir: true })] });
  expect([acts(decision), reasons(decision)]).toEqual([[], ["local-storage"]]);
});

test("what eviction was refused force deletes at once", () => {
  const attempts = new Attempts(0, middle);
  attempts.answered(pod("p"), "evict", { is: "misconfigured" }, 0);
  expect(acts(decide({ ...forced(), attempts, pods: [pod("p")] }))).toEqual(["delete p 30s"]);
  attempts.answered(pod("p"), "delete", { is: "accepted" }, 0);
  expect(acts(decide({ ...forced(), attempts, pods: [pod("p")] }))).toEqual([]);
});

it.each([
  ["the pool's default", {}, "2026-01-01T01:30:00Z"],
  ["0 of the pool is now", { pool: 0 }, "2026-01-01T00:30:00Z"],
  ["an earlier one", { spec: "2026-01-01T01:10:00Z" }, "2026-01-01T01:10:00Z"],
  ["a later one than was said", { spec: "2026-01-01T03:10:00Z" }, "2026-01-01T01:30:00Z"],
  ["a later one, said at the start", { spec: "2026-01-01T03:10:00Z", said: undefined }, "2026-01-01T03:10:00Z"],
  ["in another zone", { spec: "2026-01-01T02:10:00+01:00" }, "2026-01-01T01:10:00Z"],
] as const)("the deadline: %s", (_, wish: { pool?: number; spec?: string; said?: undefined }, expected) => {
  const { deadlineAt, ...unsaid } = BEGUN;
  const status = "said" in wish || "pool" in wish ? unsaid : { ...unsaid, deadlineAt: deadlineAt ?? "" };
  const rules = { ...STRICT_RULES, defaultDeadlineMs: (wish.pool ?? 60) * 60_000 };
  const spec = wish.spec === undefined ? {} : { deadlineAt: wish.spec };
  expect(decide({ drain: drain("one", spec, { status }), rules }).deadlineAt).toBe(expected);
});

test("nothing left is Drained", () => {
  expect(decide({ pods: [pod("d", { owner: ["DaemonSet", "logs"] })] })).toMatchObject({
    state: "Drained",
    end: "Empty",
  });
});

test("a node that is gone under the drain is drained; one that never was fails it", () => {
  expect(decide({ node: undefined })).toMatchObject({ state: "Drained", end: "NodeGone" });
  expect(decide({ drain: drain("one"), node: undefined })).toMatchObject({ state: "Failed", end: "NodeNotFound" });
});

test("on a node that is silent for more than 5 minutes the ends of pods are not waited for", () => {
  const pods = [pod("p", { deletionTimestamp: "2026-01-01T00:50:00Z" })];
  const dead = node(NODE, { cordoned: true, mark: "uid-of-one", ready: "Unknown", since: "2026-01-01T00:54:00Z" });
  const silent = node(NODE, { cordoned: true, mark: "uid-of-one", ready: "Unknown", since: "2026-01-01T00:56:00Z" });
  expect(decide({ pods, node: dead })).toMatchObject({ state: "Drained", end: "NodeUnreachable" });
  expect(decide({ pods, node: silent })).toMatchObject({ state: "Blocked", left: 1 });
});

test("nothing leaves for ten minutes: Stalled, and it goes on trying", () => {
  const pods = [pod("p", { owner: null })];
  expect(decide({ pods, nowMs: 599_999 })).toMatchObject({ progress: "Blocked", againMs: 1 });
  expect(decide({ pods: [pod("p")], nowMs: 600_000 })).toMatchObject({ progress: "Stalled", acts: [{ do: "evict" }] });
});

it.each(["AwaitingApproval", "Superseded", "Queued", "PoolInvalid"] as const)(
  "without its turn (%s) it does nothing",
  (is) => {
    const turn = { is, message: "wait" };
    const waiting = { state: "Waiting", progress: is, acts: [] };
    expect(decide({ turn, drain: drain("one"), node: node() })).toMatchObject(waiting);
    expect(decide({ turn, pods: [pod("p")] })).toMatchObject(waiting);
  },
);

it.each(["Drained", "Failed"] as const)("what is %s stays so", (state) => {
  const decision = decide({ drain: drain("one", {}, { status: { ...BEGUN, state } }), node: node(), pods: [pod("p")] });
  expect(decision).toMatchObject({ state, acts: [] });
});

test("a node of the same name that came after the drain began is another one: it is neither cordoned nor emptied", () => {
  const node2 = node(NODE, { createdAt: "2026-01-01T00:45:00Z" });
  const decision = decide({ node: node2, pods: [pod("a")] });
  expect(decision).toMatchObject({ state: "Drained", end: "NodeGone", acts: [] });
  expect(decision.message).toContain("another one has its name");
});

test("an eviction that is put off again and again, as by a webhook that moves the pod itself, is shown with its words", () => {
  const attempts = new Attempts(0, middle);
  const web = pod("a");
  const busy = { is: "busy", afterMs: 5_000, message: "Eviction triggered evacuation of VMI shop/a" } as const;
  for (const nowMs of [0, 5_000]) attempts.answered(web, "evict", busy, nowMs);
  expect(reasons(decide({ pods: [web], attempts, nowMs: 6_000 }))).toEqual([]);
  attempts.answered(web, "evict", busy, 10_000);
  const held = decide({ pods: [web], attempts, nowMs: 11_000 });
  expect(held).toMatchObject({ state: "Blocked", acts: [] });
  expect(held.blocked).toMatchObject([
    { reason: "eviction-error", message: "put off: Eviction triggered evacuation of VMI shop/a" },
  ]);
  expect(acts(decide({ pods: [web], attempts, nowMs: 15_001 }))).toEqual(["evict a"]);
});

test("a pod that comes back to the cordoned node is shown with what would help, and evicted once a minute", () => {
  const young = pod("a", { createdAt: "2026-01-01T00:59:30Z" });
  const decision = decide({ pods: [young] });
  expect(acts(decision)).toEqual([]);
  expect(decision).toMatchObject({ state: "Blocked", blocked: [{ reason: "eviction-error" }], againMs: 30_000 });
  expect(decision.blocked[0]?.message).toContain("node.kubernetes.io/unschedulable");
  const old = pod("a", { createdAt: "2026-01-01T00:58:59Z" });
  expect(acts(decide({ pods: [old] }))).toEqual(["evict a"]);
});
