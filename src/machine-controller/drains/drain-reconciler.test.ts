import { expect, test } from "vitest";
import { approved, budget, drain, NODE, node, pod, requested, SYSTEM } from "../testing/drain-fixtures.ts";
import { DrainTwin } from "../testing/drain-twin.ts";

const evictions = ({ effects }: DrainTwin): readonly string[] => effects.filter((effect) => effect.startsWith("evict"));

test("a node is claimed, cordoned, emptied and said to be drained; the deleted drain gives it back", async () => {
  const twin = new DrainTwin({
    nodes: [node()],
    pods: [pod("a"), pod("b"), pod("d", { owner: ["DaemonSet", "logs"] })],
    drains: [drain("one")],
  });
  await twin.rounds(70);
  expect(twin.status("one")).toMatchObject({
    state: "Drained",
    cordonedByUs: true,
    startedAt: "2026-01-01T00:00:00Z",
    deadlineAt: "2026-01-01T01:00:00Z",
    counts: { total: 2, gone: 2, waiting: 0, blocked: 0, skipped: 1 },
    left: "0/2",
    summary: "",
  });
  expect(twin.node(NODE).spec.unschedulable).toBe(true);
  expect(twin.effects.slice(0, 2)).toEqual(["status Cordoning", `cordon ${NODE}`]);
  expect([...twin.pods.keys()]).toEqual(["shop/d"]);
  twin.drains.clear();
  await twin.round();
  expect([twin.node(NODE).spec.unschedulable, twin.node(NODE).metadata.annotations]).toEqual([false, {}]);
  expect(twin.news).toEqual([
    "undefined → Cordoning",
    "Cordoned",
    "Cordoning → Draining",
    "evict shop/a: accepted",
    "evict shop/b: accepted",
    "Draining → Drained",
    `Uncordoned ${NODE}`,
  ]);
});

test("conditions say what kubectl wait waits for", async () => {
  const twin = new DrainTwin({ nodes: [node()], pods: [pod("a")], drains: [drain("one")] });
  await twin.rounds(70);
  const said = twin.status("one").conditions?.map(({ type, status, reason }) => [type, status, reason]);
  expect(said).toEqual([
    ["Cordoned", "True", "CordonedByDrain"],
    ["Drained", "True", "Empty"],
    ["Progressing", "False", "Ended"],
    ["DeadlineExceeded", "False", "InTime"],
  ]);
});

test("a budget lets one pod at a time: each refusal is asked for once, the next goes when its budget has room", async () => {
  const pods = ["a", "b", "c"].map((name) => pod(name, { graceSeconds: 1 }));
  const twin = new DrainTwin({
    nodes: [node()],
    pods,
    budgets: [budget("api", { allowed: 1 })],
    drains: [drain("one")],
  });
  await twin.rounds(60);
  expect(twin.status("one").state).toBe("Drained");
  const answers = twin.news.filter((each) => each.startsWith("evict"));
  expect(answers.filter((each) => each.endsWith("accepted")).length).toBe(3);
  expect(answers.filter((each) => each.endsWith("budget")).length).toBeLessThanOrEqual(2);
});

test("a budget that never gives way is a blocker with what would help; raised, the drain goes on at once", async () => {
  const pods = ["a", "b", "c", "d"].map((name) => pod(name, { graceSeconds: 1 }));
  const twin = new DrainTwin({ nodes: [node()], pods, budgets: [budget("api")], drains: [drain("one")] });
  await twin.rounds(8);
  expect(twin.status("one")).toMatchObject({ state: "Blocked", summary: "pdb:4", left: "4/4" });
  expect(twin.status("one").blockers).toMatchObject([
    {
      reason: "pod-disruption-budget",
      workload: "shop/deployment/api",
      budget: "shop/api",
      pods: ["shop/a", "shop/b", "shop/c"],
      count: 4,
      message:
        "The disruption budget api needs 2 healthy pods and has 2 currently; raise maxUnavailable of pdb/api, or scale deployment/api to 3",
    },
  ]);
  const asked = evictions(twin).length;
  expect(asked).toBe(1);
  twin.allow("shop/api", 4);
  await twin.round(100);
  expect(evictions(twin).length).toBe(asked + 4);
  await twin.rounds(20);
  expect(twin.status("one").state).toBe("Drained");
});

test("drains of several nodes ask one budget once, and for no more pods than it has room for", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const pods = names.map((name) => pod(name, { node: `m-${name}`, graceSeconds: 1 }));
  const drains = names.map((name) => drain(name, { nodeName: `m-${name}` }));
  const nodes = names.map((name) => node(`m-${name}`));
  const twin = new DrainTwin({ nodes, pods, budgets: [budget("api")], drains, rules: { maxParallel: names.length } });
  for (let round = 0; round < 8; round += 1) await twin.round(500, "many");
  expect(evictions(twin)).toHaveLength(1);
  expect(names.map((name) => twin.status(name).summary)).toEqual(names.map(() => "pdb:1"));
  twin.allow("shop/api", 2);
  await twin.round(200, "many");
  expect(twin.news.filter((each) => each.endsWith("accepted"))).toHaveLength(2);
  expect(evictions(twin)).toHaveLength(3);
});

test("refusals come further and further apart", async () => {
  const twin = new DrainTwin({ nodes: [node()], pods: [pod("a")], budgets: [budget("api")], drains: [drain("one")] });
  await twin.rounds(600, 500);
  // Of 5 minutes: at 0, 5, 15, 35, 75, 135, 195, 255 s.
  expect(evictions(twin).length).toBe(8);
});

test("a hundred pods that leave one by one are few writes", async () => {
  const pods = Array.from({ length: 100 }, (_, index) => pod(`p${index}`, { graceSeconds: 2 }));
  const twin = new DrainTwin({ nodes: [node()], pods, drains: [drain("one")] });
  await twin.rounds(300, 100);
  expect(twin.status("one")).toMatchObject({ state: "Drained", left: "0/100" });
  expect(evictions(twin).length).toBe(100);
  expect(twin.effects.filter((effect) => effect.startsWith("status")).length).toBeLessThan(16);
});

test("two drains of one node: the older acts, the other inherits its cordon", async () => {
  const pods = [pod("a", { owner: null })];
  const twin = new DrainTwin({
    nodes: [node()],
    pods,
    drains: [drain("old"), drain("young", {}, { createdAt: "2026-01-01T00:00:01Z" })],
  });
  await twin.rounds(5);
  expect([twin.status("old").state, twin.status("young").state]).toEqual(["Blocked", "Waiting"]);
  expect(twin.status("young").conditions?.find(({ type }) => type === "Progressing")).toMatchObject({
    status: "False",
    reason: "Superseded",
    message: "drain old empties this node",
  });
  twin.drains.delete("sallyport-grants/old");
  await twin.rounds(5);
  expect(twin.node(NODE).metadata.annotations).toEqual({ "sallyport.dev/cordoned-by": "uid-of-young" });
  expect(twin.status("young")).toMatchObject({ state: "Blocked", cordonedByUs: true });
  expect(twin.effects.filter((effect) => effect.startsWith("uncordon"))).toEqual([]);
  twin.drains.clear();
  await twin.round();
  expect(twin.node(NODE).spec.unschedulable).toBe(false);
});

test("one drain of a pool at a time, the others in their order", async () => {
  const names = ["m-1", "m-2", "m-3"];
  const twin = new DrainTwin({
    nodes: names.map((name) => node(name)),
    pods: names.map((name) => pod(`on-${name}`, { node: name, graceSeconds: 1 })),
    drains: names.map((name, index) => drain(name, { nodeName: name }, { createdAt: `2026-01-01T00:00:0${index}Z` })),
    rules: { pool: "box" },
  });
  await twin.round(10);
  expect(names.map((name) => twin.status(name).state)).toEqual(["Cordoning", "Waiting", "Waiting"]);
  expect(twin.status("m-3").conditions?.find(({ type }) => type === "Progressing")?.message).toBe(
    "1 at a time of MachinePool box; drain m-1 is ahead",
  );
  await twin.rounds(40);
  expect(names.map((name) => twin.status(name).state)).toEqual(["Drained", "Drained", "Drained"]);
  const order = twin.effects.filter((effect) => effect.startsWith("cordon"));
  expect(order).toEqual(["cordon m-1", "cordon m-2", "cordon m-3"]);
});

test("a wish of the platform waits for the operator's word, and stops when it is withdrawn", async () => {
  const pods = ["a", "b"].map((name) => pod(name, { graceSeconds: 1, ...(name === "b" && { owner: null }) }));
  const twin = new DrainTwin({ nodes: [node()], pods, drains: [drain("one", requested())] });
  await twin.rounds(5);
  expect([twin.status("one").state, twin.node(NODE).spec.unschedulable]).toEqual(["Waiting", false]);
  twin.drains.set("sallyport-grants/one", { ...twin.drain("one"), status: { ...twin.status("one"), ...approved } });
  await twin.rounds(10);
  expect([twin.status("one").state, twin.pods.size]).toEqual(["Blocked", 1]);
  expect(twin.status("one").conditions?.[0]).toMatchObject({ type: "Approved", status: "True" });
  const [word, ...others] = twin.status("one").conditions ?? [];
  if (word === undefined) throw new Error("no word");
  const withdrawn = { ...twin.status("one"), conditions: [{ ...word, status: "False" as const }, ...others] };
  twin.drains.set("sallyport-grants/one", { ...twin.drain("one"), status: withdrawn });
  await twin.rounds(5);
  expect(twin.status("one").state).toBe("Waiting");
});

test("a node that a person cordoned stays cordoned when the drain is deleted", async () => {
  const twin = new DrainTwin({ nodes: [node(NODE, { cordoned: true })], pods: [pod("a")], drains: [drain("one")] });
  await twin.rounds(70);
  expect(twin.status("one")).toMatchObject({ state: "Drained", cordonedByUs: false });
  twin.drains.clear();
  await twin.rounds(2);
  expect(twin.node(NODE).spec.unschedulable).toBe(true);
  expect(twin.effects.filter((effect) => /cordon/.test(effect))).toEqual([]);
});

test("the node is deleted under the drain", async () => {
  const twin = new DrainTwin({ nodes: [node()], pods: [pod("a", { owner: null })], drains: [drain("one")] });
  await twin.rounds(5);
  twin.nodes.clear();
  await twin.rounds(2);
  expect(twin.status("one").state).toBe("Drained");
  expect(twin.status("one").conditions?.find(({ type }) => type === "Drained")?.reason).toBe("NodeGone");
});

test("at the deadline force deletes what its budget holds", async () => {
  const twin = new DrainTwin({
    nodes: [node()],
    pods: [pod("a"), pod("dns", { namespace: "kube-system", owner: ["ReplicaSet", "dns-1"] })],
    budgets: [budget("api")],
    drains: [drain("one", { force: true, deadlineAt: "2026-01-01T00:00:20Z" })],
    rules: { allowForce: true },
  });
  await twin.rounds(120);
  expect(twin.effects.filter((effect) => effect.startsWith("delete"))).toEqual(["delete shop/a 30s"]);
  expect(twin.status("one")).toMatchObject({ state: "Drained" });
  expect(twin.status("one").conditions?.find(({ type }) => type === "DeadlineExceeded")?.reason).toBe("Forced");
});

test("the last of ours is this process", async () => {
  const twin = new DrainTwin({
    nodes: [node()],
    pods: [
      pod("machines-0", { namespace: SYSTEM, graceSeconds: 1 }),
      pod("agent", { namespace: SYSTEM, graceSeconds: 1 }),
      pod("z", { graceSeconds: 1 }),
    ],
    drains: [drain("one")],
  });
  await twin.rounds(30);
  expect(evictions(twin)).toEqual(["evict shop/z", `evict ${SYSTEM}/agent`, `evict ${SYSTEM}/machines-0`]);
});
