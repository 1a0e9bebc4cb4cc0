import { expect, it, test } from "vitest";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import { approved, drain, NODE, node, pod, requested } from "../testing/drain-fixtures.ts";
import { DrainTwin } from "../testing/drain-twin.ts";

const join = {
  metadata: { name: "box-0123456789ab" },
  spec: { nodeName: NODE, pool: "box" },
  status: { state: "Joined" },
} as MachineJoin;

it.each([
  ["that the drain cordoned", false],
  ["that was cordoned before", true],
])("a node %s is removed once it is empty: first its machine is refused, then the node goes", async (_, cordoned) => {
  const twin = new DrainTwin({
    nodes: [node(NODE, { cordoned })],
    pods: [pod("a", { graceSeconds: 1 })],
    drains: [drain("one", requested({ remove: true }), { status: approved })],
  });
  twin.joins.set("box", join);
  twin.joins.delete("box");
  twin.joins.set(join.metadata.name, join);
  await twin.rounds(20);
  const drained = twin.effects.indexOf("status Drained");
  expect(twin.effects.slice(drained + 1)).toEqual([
    "status Drained",
    "label box-0123456789ab",
    "removed box-0123456789ab",
    ...(cordoned ? [`cordon ${NODE}`] : []),
    `delete node ${NODE}`,
    "status Drained",
  ]);
  expect(twin.status("one").conditions?.find(({ type }) => type === "Removed")?.status).toBe("True");
});

test("a node is deleted only when every API server had the time to hear that its machine is refused", async () => {
  const twin = new DrainTwin({
    nodes: [node(NODE)],
    drains: [drain("one", requested({ remove: true }), { status: approved })],
  });
  twin.joins.set(join.metadata.name, join);
  const isRefused = (): boolean => twin.joins.get(join.metadata.name)?.status?.state === "Removed";
  while (!isRefused()) await twin.round(100);
  // However often it is looked at.
  await twin.rounds(35, 100);
  expect([...twin.nodes.keys()]).toEqual([NODE]);
  await twin.rounds(20, 100);
  expect([...twin.nodes.keys()]).toEqual([]);
});

test("a machine that uncordons its own node, or makes it anew, is removed all the same", async () => {
  const twin = new DrainTwin({
    nodes: [node(NODE)],
    drains: [drain("one", requested({ remove: true }), { status: approved })],
  });
  twin.joins.set(join.metadata.name, join);
  while (twin.joins.get(join.metadata.name)?.status?.state !== "Removed") {
    await twin.round(100);
    if (twin.status("one").state === "Drained") twin.nodes.set(NODE, node(NODE));
  }
  await twin.rounds(60, 100);
  expect([...twin.nodes.keys()]).toEqual([]);
});

test("a node without the label of a machine stays, which admission would refuse, until a person labels it", async () => {
  const twin = new DrainTwin({
    nodes: [node(NODE, { foreign: true })],
    drains: [drain("one", requested({ remove: true }), { status: approved })],
  });
  twin.joins.set(join.metadata.name, join);
  await twin.rounds(20);
  const said = () => twin.status("one").conditions?.find(({ type }) => type === "Removed");
  expect(said()).toMatchObject({ status: "False", reason: "NotLabelled" });
  const written = twin.effects.length;
  await twin.rounds(20);
  expect(twin.effects.length).toBe(written);
  expect([...twin.nodes.keys()]).toEqual([NODE]);
  const { metadata, ...rest } = twin.node(NODE);
  twin.nodes.set(NODE, { ...rest, metadata: { ...metadata, labels: { "sallyport.dev/machine": "true" } } });
  await twin.rounds(20);
  expect([...twin.nodes.keys()]).toEqual([]);
  expect(said()).toMatchObject({ status: "True", reason: "NodeDeleted" });
});

test("a node that finalizers hold is not said to be deleted; it is deleted once, and its end is told when it is gone", async () => {
  const twin = new DrainTwin({
    nodes: [node(NODE)],
    drains: [drain("one", requested({ remove: true }), { status: approved })],
  });
  const { nodes } = twin;
  const gone = nodes.delete.bind(nodes);
  nodes.delete = (name) => {
    const held = twin.node(name);
    const metadata = { ...held.metadata, deletionTimestamp: held.metadata.creationTimestamp };
    return nodes.set(name, { ...held, metadata }) === nodes;
  };
  twin.joins.set(join.metadata.name, join);
  await twin.rounds(60);
  const said = () => twin.status("one").conditions?.find(({ type }) => type === "Removed");
  expect(said()).toMatchObject({ status: "False", reason: "NodeHeld" });
  expect(said()?.message).toContain("finalizers");
  expect(twin.effects.filter((effect) => effect.startsWith("delete node"))).toHaveLength(1);
  gone(NODE);
  await twin.rounds(20);
  expect(said()).toMatchObject({ status: "True", reason: "NodeDeleted" });
});

test("a drained node that a person uncordoned is not removed", async () => {
  const twin = new DrainTwin({
    nodes: [node()],
    drains: [
      drain("one", requested({ remove: true }), {
        status: { ...approved, state: "Drained", startedAt: "2026-01-01T00:00:00Z" },
      }),
    ],
  });
  await twin.rounds(3);
  expect([...twin.nodes.keys()]).toEqual([NODE]);
  const said = () => twin.status("one").conditions?.find(({ type }) => type === "Removed");
  expect(said()).toMatchObject({ status: "False", reason: "Uncordoned" });
  expect(said()?.message).toContain("delete this drain");
  // What ran there since is not known to have gone.
  twin.nodes.set(NODE, node(NODE, { cordoned: true }));
  await twin.rounds(20);
  expect([...twin.nodes.keys()]).toEqual([NODE]);
  expect(said()?.reason).toBe("Uncordoned");
});

test("a machine whose node is gone is refused and its removal ends; it cannot come back", async () => {
  const twin = new DrainTwin({ drains: [drain("one", requested({ remove: true }), { status: approved })] });
  twin.joins.set(join.metadata.name, join);
  await twin.rounds(20);
  expect(twin.joins.get(join.metadata.name)).toMatchObject({
    metadata: { labels: { "sallyport.dev/removed": "true" } },
    status: { state: "Removed" },
  });
  expect(twin.status("one").conditions?.find(({ type }) => type === "Removed")?.status).toBe("True");
});

test("a drain of a node that is not there fails", async () => {
  const twin = new DrainTwin({ drains: [drain("one", requested(), { status: approved })] });
  twin.joins.set(join.metadata.name, join);
  await twin.rounds(3);
  expect(twin.status("one").state).toBe("Failed");
  expect(twin.joins.get(join.metadata.name)?.status?.state).toBe("Joined");
});
