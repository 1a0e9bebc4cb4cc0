import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { MachineReport } from "../../contract/machines/machine.ts";
import { misfit } from "../../contract/wire/misfit.ts";
import type { MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import { MACHINE_JOIN, type MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { Node } from "../../kube/projection/shapes.ts";
import { context, DEPLOYMENT, NOW } from "../testing/sample.ts";
import { endedReport, type MachineFacts, machineReport } from "./inventory.ts";
import { readLoads } from "./loads.ts";
import { MachineInventory, partsOf } from "./machine-inventory.ts";

interface NodeChanges {
  readonly unschedulable?: boolean;
  readonly ready?: string;
  readonly labels?: Record<string, string>;
  readonly createdAt?: string;
}
const node = (changes: NodeChanges = {}): Node =>
  ({
    metadata: {
      name: "m-1",
      labels: changes.labels ?? {},
      creationTimestamp: changes.createdAt ?? "2026-01-01T10:00:00Z",
    },
    spec: { unschedulable: changes.unschedulable ?? false, taints: [] },
    status: {
      capacity: { cpu: "4", memory: "8Gi", "ephemeral-storage": "100Gi" },
      allocatable: { cpu: "3800m", memory: "7Gi", "ephemeral-storage": "90Gi" },
      conditions: [
        { type: "Ready", status: changes.ready ?? "True", reason: "KubeletReady" },
        { type: "NetworkUnavailable", status: "False", reason: "bad reason!" },
        { type: "Foreign", status: "True" },
      ],
      addresses: [
        { type: "InternalIP", address: "10.0.0.7" },
        { type: "ExternalIP", address: "203.0.113.7" },
      ],
      nodeInfo: { kubeletVersion: "v1.36.3", containerRuntimeVersion: "containerd://2.1.4" },
    },
  }) as unknown as Node;
const join = (state?: string): MachineJoin =>
  ({
    metadata: { name: "pool-0123456789ab", creationTimestamp: "2026-01-01T10:00:00Z" },
    spec: { pool: "pool", machineId: "box", nodeName: "m-1", facts: { kubelet: "v1.36.1", zone: "b" } },
    ...(state !== undefined && { status: { state } }),
  }) as unknown as MachineJoin;
const because = (type: string, reason: string, status: "True" | "False" | "Unknown" = "False") => ({
  ...{ type, status, reason, message: "", lastTransitionTime: "2026-01-01T11:00:00Z" },
});
/** What the platform asked for. */
const asked = (revision: number, status: MachineDrainStatus, remove = false): MachineDrain =>
  ({
    metadata: { name: `m-1-${revision}`, creationTimestamp: "2026-01-01T11:00:00Z" },
    spec: {
      nodeName: "m-1",
      requested: { deploymentId: DEPLOYMENT, machineId: "box", revision, ...(remove && { remove }) },
    },
    status,
  }) as unknown as MachineDrain;
const drain = (status: MachineDrainStatus, remove = false, name = "m-1-3"): MachineDrain =>
  ({
    metadata: { name, creationTimestamp: "2026-01-01T11:00:00Z" },
    spec: { nodeName: "m-1", ...(remove && { requested: { remove } }) },
    status,
  }) as unknown as MachineDrain;
const facts = (changes: Partial<MachineFacts> & { state?: string } = {}): MachineFacts => ({
  deploymentId: DEPLOYMENT,
  pool: undefined,
  answer: undefined,
  member: { machineId: "box", nodeName: "m-1", join: "state" in changes ? join(changes.state) : undefined },
  ...{ node: node(), renewedAt: "2026-01-01T11:59:58.123456Z", drains: [], load: [1500, 2 ** 30, 0, 12] },
  ...{ isTold: () => true, ...changes },
});
const told = (changes: Partial<MachineFacts> & { state?: string } = {}) => machineReport(facts(changes), NOW);

test("a node is told as the platform takes it", () => {
  const report = told();
  expect(misfit(MachineReport, report, Object.keys(MachineReport.properties) as never[])).toBeUndefined();
  expect(report).toEqual({
    ...{ machineId: "box", status: "ready", capacityGroup: "default", zone: "unknown" },
    cpu: { total: 4, systemReserve: 0.2, allocated: 1.5 },
    memory: { total: 8 * 2 ** 30, systemReserve: 2 ** 30, allocated: 2 ** 30 },
    storage: { total: 100 * 2 ** 30, systemReserve: 10 * 2 ** 30, allocated: 0 },
    ...{ drainBlockers: [], localOverrides: [], publicIp: "203.0.113.7", overlayIp: "10.0.0.7" },
    ...{ lastHeartbeat: "2026-01-01T11:59:58.123Z", runtimeDaemonVersion: "v1.36.3 containerd://2.1.4" },
    ...{ networkHealth: "healthy", replicaCount: 12 },
    conditions: [
      { type: "Ready", status: "True", reason: "KubeletReady" },
      { type: "NetworkUnavailable", status: "False" },
    ],
  });
});

const cordoned = node({ unschedulable: true });
test.each<readonly [string, Partial<MachineFacts> & { state?: string }, string | undefined]>([
  ["ready", {}, "ready"],
  ["not ready", { node: node({ ready: "False" }) }, "not-ready"],
  ["silent", { node: node({ ready: "Unknown" }) }, "unreachable"],
  ["cordoned by a person", { node: cordoned }, "ready"],
  ["being drained", { node: cordoned, drains: [drain({ state: "Draining" })] }, "draining"],
  ["held up", { node: cordoned, drains: [drain({ state: "Blocked" })] }, "draining"],
  ["to be drained, not begun", { drains: [drain({ state: "Waiting" })] }, "ready"],
  ["to be drained, failed", { drains: [drain({ state: "Failed" })] }, "ready"],
  ["empty", { node: cordoned, drains: [drain({ state: "Drained" })] }, "drained"],
  ["empty once, and taking pods again", { drains: [drain({ state: "Drained" })] }, "ready"],
  [
    "empty, to be removed",
    { node: cordoned, drains: [drain({ state: "Drained" }), drain({ state: "Drained" }, true)] },
    "terminating",
  ],
  [
    "empty, its removal at work",
    { node: cordoned, drains: [drain({ state: "Drained" }), drain({ state: "Cordoning" }, true)] },
    "drained",
  ],
  ["joined", { state: "Joined" }, "ready"],
  ["its certificate just there", { state: "Issued", node: node({ ready: "False" }) }, "joining"],
  [
    "of a name that was drained, and removed, before it came",
    {
      node: node({ unschedulable: true, createdAt: "2026-01-01T11:30:00Z" }),
      drains: [drain({ state: "Drained" }, true)],
    },
    "ready",
  ],
  ["waiting for a person", { state: undefined as never, node: undefined }, "joining"],
  ["with a certificate, no node yet", { state: "Issued", node: undefined }, "joining"],
  ["joined, its node deleted", { state: "Joined", node: undefined }, "unreachable"],
  ["no node and no join", { node: undefined }, undefined],
])("status of a machine that is %s", (_, changes, status) => {
  expect(told(changes)?.status).toBe(status);
});

const NO_GRANT = [because("Approved", "NoGrant"), because("Progressing", "AwaitingApproval")];
const QUEUED = [because("Approved", "PolicyAuto", "True"), because("Progressing", "Queued")];
const GONE = [because("Progressing", "Ended"), because("Drained", "NodeNotFound")];
const removed = [because("Removed", "NodeDeleted", "True")];
test.each<readonly [string, Partial<MachineFacts> & { state?: string }, readonly string[], boolean]>([
  [
    "that waits for an approval",
    { drains: [asked(3, { state: "Waiting", conditions: NO_GRANT })] },
    ["DrainApproved=False NoGrant", "DrainProgressing=False AwaitingApproval"],
    true,
  ],
  ["that is not looked at yet", { drains: [asked(3, {})] }, [], true],
  [
    "that waits while a person's drain goes on",
    {
      drains: [
        drain({ state: "Blocked", conditions: [because("Progressing", "Blocked")] }),
        asked(3, { state: "Waiting", conditions: QUEUED }),
      ],
    },
    ["DrainApproved=True PolicyAuto", "DrainProgressing=False Queued"],
    true,
  ],
  [
    "to remove what is empty",
    {
      node: node({ unschedulable: true }),
      drains: [asked(3, { state: "Drained" }), asked(4, { state: "Waiting", conditions: NO_GRANT }, true)],
    },
    ["DrainApproved=False NoGrant", "DrainProgressing=False AwaitingApproval"],
    true,
  ],
  [
    "that failed",
    { drains: [asked(3, { state: "Failed", conditions: GONE })] },
    ["DrainProgressing=False Ended", "DrainDrained=False NodeNotFound"],
    true,
  ],
  [
    "of a machine whose node was deleted",
    { state: "Joined", node: undefined, drains: [asked(3, { state: "Failed", conditions: GONE })] },
    ["DrainProgressing=False Ended", "DrainDrained=False NodeNotFound"],
    true,
  ],
  ["of a node that takes pods again", { drains: [asked(3, { state: "Drained" })] }, [], true],
  [
    "of another deployment",
    {
      drains: [
        {
          ...asked(3, {}),
          spec: { nodeName: "m-1", requested: { deploymentId: "dep_x", machineId: "box", revision: 3 } },
        },
      ],
    },
    [],
    false,
  ],
  [
    "with which the machine itself asked to leave",
    {
      drains: [
        {
          ...asked(0, { state: "Waiting", conditions: QUEUED }),
          spec: {
            nodeName: "m-1",
            requested: { deploymentId: DEPLOYMENT, machineId: "box", revision: 0, leaving: true },
          },
        },
      ],
    },
    [],
    false,
  ],
  ["that a person made and that waits", { drains: [drain({ state: "Waiting", conditions: QUEUED })] }, [], false],
  [
    "of an earlier machine of this name",
    {
      node: node({ createdAt: "2026-01-01T11:30:00Z" }),
      drains: [asked(3, { state: "Drained" }), asked(4, { state: "Drained", conditions: removed }, true)],
    },
    [],
    false,
  ],
])("a drain %s is told as far as it is the platform's", (_, changes, conditions, isRequested) => {
  const report = told({ node: node(), ...changes });
  const ofDrain = report?.conditions?.filter(({ type }) => type.startsWith("Drain")) ?? [];
  expect(ofDrain.map(({ type, status, reason }) => `${type}=${status} ${reason}`)).toEqual(conditions);
  expect(report?.drainRequestedAt).toBe(isRequested ? "2026-01-01T11:00:00.000Z" : undefined);
});

test("a wish that no drain stands for is told with the reason", () => {
  expect(
    told({ answer: { refusal: "DeletedByCustomer", wish: { revision: 3, state: "deleted" } } })?.conditions?.[0],
  ).toEqual({
    ...{ type: "DrainPassedOn", status: "False", reason: "DeletedByCustomer" },
  });
});

const WAITS = [because("Approved", "AwaitingApproval", "Unknown")];
const joinThat = (state: string, conditions: readonly object[]): MachineJoin =>
  ({ ...join(), status: { state, conditions } }) as unknown as MachineJoin;
const comes = (state: string, conditions: readonly object[]): Partial<MachineFacts> => ({
  node: undefined,
  member: { machineId: "box", nodeName: "m-1", join: joinThat(state, conditions) },
});

test("a machine that comes is told with what it waits for, also where its pool does not act", () => {
  expect(told(comes("Waiting", WAITS))).toMatchObject({
    ...{ status: "joining", joinState: "waiting" },
    conditions: [{ type: "JoinApproved", status: "Unknown", reason: "AwaitingApproval" }],
  });
  const pool = {
    status: { conditions: [because("Ready", "PolicyMissing"), because("SignerWorks", "Signed", "True")] },
  };
  expect(told({ ...comes("Waiting", []), pool })?.conditions).toEqual([
    { type: "PoolReady", status: "False", reason: "PolicyMissing" },
  ]);
  const joined = { ...comes("Joined", WAITS), pool, node: node() };
  expect(told(joined)?.conditions?.map(({ type }) => type)).toEqual(["Ready", "NetworkUnavailable"]);
});

test("a machine whose node is gone is not told as removed, nor left out, until its join is", () => {
  const wish = { revision: 4, state: "passed-on" as const };
  const gone = { ...comes("Joined", []), renewedAt: undefined, answer: { wish } };
  expect(told(gone)).toMatchObject({ status: "unreachable", joinState: "joined", wish });
});

test("a removal that waits, as its node takes pods again, says so", () => {
  const waits = asked(4, { state: "Drained", conditions: [because("Removed", "Uncordoned")] }, true);
  expect(told({ node: node(), drains: [waits] })?.conditions?.[0]).toEqual({
    ...{ type: "DrainRemoved", status: "False", reason: "Uncordoned" },
  });
});

test("a join that came to nothing is told as gone, with the reason", () => {
  const denied = endedReport(joinThat("Denied", [because("Approved", "DeniedByPerson")]), NOW);
  expect(misfit(MachineReport, denied, Object.keys(MachineReport.properties) as never[])).toBeUndefined();
  expect(denied).toMatchObject({
    ...{ machineId: "box", status: "removed", joinState: "denied" },
    conditions: [{ type: "JoinApproved", status: "False", reason: "DeniedByPerson" }],
  });
});

test("more conditions than the platform takes are cut, those of the node first", () => {
  const join = joinThat("Issued", [because("Approved", "A"), because("Signed", "B"), because("NodeReady", "C")]);
  const conditions = ["Approved", "Progressing", "DeadlineExceeded", "Drained"].map((type) => because(type, "X"));
  const types = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
  const full = node();
  const report = told({
    ...{ member: { machineId: "box", nodeName: "m-1", join }, drains: [asked(3, { state: "Waiting", conditions })] },
    node: { ...full, status: { ...full.status, conditions: types.map((type) => because(type, "Y")) } } as Node,
  });
  expect(report?.conditions?.map(({ type }) => type)).toEqual([
    ...["JoinApproved", "JoinSigned", "JoinNodeReady"],
    ...["DrainApproved", "DrainProgressing", "DrainDeadlineExceeded", "DrainDrained"],
    ...["Ready", "MemoryPressure", "DiskPressure"],
  ]);
});

test("labels say group and zone", () => {
  const instance = { "node.kubernetes.io/instance-type": "c5.large", "topology.kubernetes.io/zone": "a" };
  expect(told({ node: node({ labels: instance }) })).toMatchObject({ capacityGroup: "c5.large", zone: "a" });
  const own = { ...instance, "sallyport.dev/capacity-group": "gpu" };
  expect(told({ node: node({ labels: own }) })?.capacityGroup).toBe("gpu");
});

const blocked = (count: number, pods: readonly string[], workload = "shop/deployment/api"): MachineDrain =>
  drain({
    state: "Blocked",
    blockers: [
      {
        ...{
          reason: "pod-disruption-budget",
          workload,
          pods: [...pods],
          count,
          message: "budget shop/api allows no eviction",
        },
        since: "2026-01-01T11:30:00Z",
      },
    ],
  });

test("what holds a drain up is a row a pod, those without a name too", () => {
  const rows = told({ drains: [blocked(4, ["shop/api-1", "shop/api-2", "shop/api-3"])] })?.drainBlockers;
  expect(rows?.map(({ replicaId }) => replicaId)).toEqual(["shop/api-1", "shop/api-2", "shop/api-3", undefined]);
  expect(rows?.[0]).toEqual({
    ...{ reason: "pod-disruption-budget", state: "blocked", workloadId: "shop/deployment/api", workloadName: "api" },
    ...{ schedulingMode: "replicated", replicaId: "shop/api-1", since: "2026-01-01T11:30:00.000Z" },
    message: "budget shop/api allows no eviction",
  });
});

test("of a namespace that is kept back only its name is told", () => {
  const drains = [blocked(2, ["bank/vault-0"], "bank/statefulset/vault")];
  const report = told({ drains, isTold: (namespace) => namespace === "shop" });
  expect(report?.drainBlockers).toHaveLength(2);
  expect(report?.drainBlockers[0]).toEqual({
    ...{ reason: "pod-disruption-budget", state: "blocked", workloadName: "namespace bank pods" },
    since: "2026-01-01T11:30:00.000Z",
  });
  expect(JSON.stringify(report)).not.toContain("vault");
});

test("a thousand blocked pods stay within what the platform takes", () => {
  const report = told({ drains: [blocked(1_000, ["shop/api-1"])] });
  expect(report?.drainBlockers.length).toBeGreaterThan(40);
  expect(report?.drainBlockers.length).toBeLessThanOrEqual(500);
  expect(Buffer.byteLength(JSON.stringify(report))).toBeLessThan(16_384);
});

test("the platform has a word for each state of a join", () => {
  const { properties } = MACHINE_JOIN.status as unknown as { properties: { state: { enum: readonly string[] } } };
  for (const state of properties.state.enum) {
    expect(misfit(MachineReport, { joinState: told({ state })?.joinState }, ["joinState"])).toBeUndefined();
    expect(told({ state })?.joinState).toBe(state.toLowerCase());
  }
});

test.each([
  ['{"m-1":[1500,1,0,12]}', [["m-1", [1500, 1, 0, 12]]]],
  ['{"m-1":[1500,1,0],"m-2":[1,1,1,1.5],"m-3":[-1,0,0,0],"m-4":"x"}', []],
  ["[", []],
  ["null", []],
])("loads %s", (text, loads) => {
  expect(readLoads(text)).toEqual(loads);
});

function reporting() {
  const clock = new FakeClock("2026-01-01T12:00:00Z");
  const sent: { complete: boolean; part?: unknown; machines: readonly MachineReport[] }[] = [];
  const world = { machines: [told()] as (MachineReport | undefined)[], accepted: true };
  const inventory = new MachineInventory({
    clock,
    ports: {
      accepts: () => world.accepted,
      machines: () => world.machines as MachineReport[],
      platform: {
        report: async ({ body }) => {
          sent.push(body);
          return { accepted: 1, ignored: 0 };
        },
      },
    },
  });
  return { clock, sent, world, look: () => inventory.reconcile(DEPLOYMENT, context) };
}

test("it is told when it changes, at most each 5 s, and each 60 s though only kubelets renewed their leases", async () => {
  const { clock, sent, world, look } = reporting();
  await look();
  world.machines = [told({ node: cordoned, drains: [drain({ state: "Draining" })] })];
  expect(await look()).toEqual({ requeueAfterMs: 5_000 });
  await clock.advance(5_000);
  await look();
  expect(sent.map(({ machines }) => machines[0]?.status)).toEqual(["ready", "draining"]);
  world.machines = [
    told({ node: cordoned, drains: [drain({ state: "Draining" })], renewedAt: "2026-01-01T12:00:09Z" }),
  ];
  await clock.advance(10_000);
  expect(await look()).toEqual({ requeueAfterMs: 50_000 });
  await clock.advance(50_000);
  await look();
  expect(sent).toHaveLength(3);
});

test("nothing is told of a deployment that is not accepted", async () => {
  const { sent, world, look } = reporting();
  world.accepted = false;
  await look();
  expect(sent).toEqual([]);
});

test("more than 500 machines are one list in parts, none at all is a list too", async () => {
  const { sent, world, look } = reporting();
  world.machines = Array.from({ length: 1_001 }, () => told());
  await look();
  expect(sent.map(({ complete, machines }) => [complete, machines.length])).toEqual([
    [true, 500],
    [true, 500],
    [true, 1],
  ]);
  expect(sent.map(({ part }) => part)).toEqual(
    [0, 1, 2].map((index) => ({ index, of: 3, id: "inventory-1767268800000" })),
  );
  expect(partsOf([])).toEqual([[]]);
});
