import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { createClient } from "../../../src/api-client/client.ts";
import { fullOnly } from "../../../src/base/testing/full.ts";
import type { Machine } from "../../../src/contract/machines/machine.ts";
import { MACHINE_LABEL } from "../../../src/crds/group.ts";
import type { KindResource } from "../../../src/crds/kinds/kind.ts";
import { type MachineDrain, machineDrains } from "../../../src/crds/kinds/machine-drain.ts";
import { type MachineJoin, machineJoins } from "../../../src/crds/kinds/machine-join.ts";
import type { Manifest } from "../../../src/crds/manifest.ts";
import { defaultPolicy } from "../../../src/crds/manifests/default-policy.ts";
import { openNamespace } from "../../../src/crds/manifests/installation.ts";
import { MACHINE_APPROVER } from "../../../src/crds/manifests/roles/machine-roles.ts";
import { machineRequest } from "../../../src/join/testing/join-world.ts";
import { judgeNodeRequest } from "../../../src/kube/objects/node-request.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { INSTALLED } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { APPROVER, bound, GRANTS, SHOP } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";
import { DrainWorld } from "./drain-world.ts";

// Real: platform, agent, operator, machine controller, the API server and its signer. By hand: what the join server does
// with a machine that asks (the platform's route, then the object), the customer's words, and the kubelet.

const cluster = useCluster({ controllers: true, kwok: { nodes: 1 }, holds: INSTALLED });
let world: AgentWorld;
let drains: DrainWorld;
let joinToken = "";
let manager: ReturnType<typeof createClient>;
let running: Running[] = [];
let agent: Running | undefined;

beforeAll(async () => {
  world = await createAgentWorld(cluster(), {
    install: async () => {
      drains = await DrainWorld.create(cluster());
      await cluster().apply([...openNamespace(SHOP)]);
    },
  });
  await cluster().apply([
    bound("machines", GRANTS, MACHINE_APPROVER, APPROVER, "Role"),
    ours("MachinePool", "workers", { deploymentId: world.deploymentId }),
  ]);
  running = [drains.start(), world.startOperator({ SALLYPORT_OPERATOR_MACHINES_ENABLED: "true" })];
  startAgent();
  manager = createClient({ baseUrl: world.platform.url, credential: world.runtimeKey });
  const body = { url: "https://join.example", pins: [`sha256//${"A".repeat(43)}=`] };
  const params = { id: world.deploymentId };
  await eventually(
    () => manager.machineRuntime.joinServer({ params, body }, signal()).catch(() => undefined),
    () => true,
  );
  joinToken = (await world.engineer.machines.createToken({ params, body: {} }, signal())).joinToken;
}, 600_000);
afterAll(async () => {
  await agent?.stop();
  for (const each of running) await each.stop();
  await manager?.close();
  await drains?.close();
  await world?.close();
});

function startAgent(): void {
  agent = world.startAgent("machines", { SALLYPORT_AGENT_MACHINES: "true" });
}
async function inventory(): Promise<readonly Machine[]> {
  return (await world.engineer.machines.inventory({ params: { id: world.deploymentId } }, signal())).machines;
}
/** As the platform shows it; it tells news of the cluster at most every five seconds. */
function shown(machineId: string, is: (machine: Machine) => boolean): Promise<Machine> {
  return eventually(async () => (await inventory()).find((each) => each.machineId === machineId), is);
}
function gone(machineId: string): Promise<unknown> {
  return eventually(inventory, (machines) => machines.every((each) => each.machineId !== machineId));
}
const said = ({ conditions }: Machine, type: string): string | undefined =>
  conditions.find((each) => each.type === type)?.reason ?? undefined;

async function all<T extends KubeObject>(kind: KindResource): Promise<T[]> {
  const found: T[] = [];
  for await (const each of world.admin.list<T>(kind, { namespace: GRANTS }, signal())) found.push(each);
  return found;
}
const drainsOf = async (node: string): Promise<MachineDrain[]> =>
  (await all<MachineDrain>(machineDrains)).filter(({ spec }) => spec.nodeName === node);
const ofMachine = (machineId: string) => ({ params: { id: world.deploymentId, machineId } });
const drain = (machineId: string) => world.engineer.machines.drain({ ...ofMachine(machineId), body: {} }, signal());
const cancel = (machineId: string) => world.engineer.machines.cancelDrain(ofMachine(machineId), signal());
const remove = (machineId: string) => world.engineer.machines.remove(ofMachine(machineId), signal());

async function policy(decision: "auto" | "manual"): Promise<void> {
  const rules = ["machines/drain", "machines/remove"].map((pattern) => ({ pattern, decision }));
  // Of several policies the strictest counts: the one that is there says it.
  const { spec, ...rest } = defaultPolicy() as Manifest & { readonly spec: object };
  await cluster().apply([{ ...rest, spec: { ...spec, rules } }]);
}

/** A node that kwok keeps alive, with the label that a joined kubelet gives it. */
async function registers(name: string): Promise<void> {
  const labels = { type: "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", [MACHINE_LABEL]: "true" };
  await cluster().apply([{ apiVersion: "v1", kind: "Node", metadata: { name, labels } }]);
}

/** With a new key. @returns the join's name; the platform's refusal as it is */
async function asks(nodeName: string): Promise<string> {
  const { request } = machineRequest(nodeName);
  const judged = judgeNodeRequest(Buffer.from(request, "base64"), nodeName);
  if ("refused" in judged) throw new Error(judged.refused);
  const { publicKey } = judged.request;
  const names = { machineId: nodeName, nodeName, publicKey };
  const { tokenId } = await manager.machineRuntime.join({ body: { joinToken, ...names } }, signal());
  const name = `workers-${publicKey.slice(0, 12)}`;
  const spec = { pool: "workers", ...names, request, facts: {}, tokenId };
  await cluster().apply([ours("MachineJoin", name, spec)]);
  return name;
}

async function word(join: string, spec: object): Promise<void> {
  const args = ["patch", "mjoin", join, "-n", GRANTS, "--type=merge", "-p", JSON.stringify({ spec })];
  const answer = await cluster().kubectl(args, { kubeconfig: cluster().kubeconfigFor({ user: APPROVER }) });
  expect(answer).toMatchObject({ code: 0 });
}

function became(join: string, state: string): Promise<unknown> {
  const key = { namespace: GRANTS, name: join };
  return eventually(
    () => world.admin.get<MachineJoin>(machineJoins, key, signal()),
    ({ status }) => status?.state === state,
  );
}

test("a drain that waits is seen with its reason, is cancelled, and empties nothing when it is allowed later", async () => {
  await policy("manual");
  await registers("m-1");
  await shown("m-1", ({ status }) => status === "ready");
  await drain("m-1");
  const waiting = await shown("m-1", (machine) => said(machine, "DrainProgressing") !== undefined);
  expect([waiting.status, said(waiting, "DrainApproved"), said(waiting, "DrainProgressing")]).toEqual([
    ...["draining", "NoGrant", "AwaitingApproval"],
  ]);
  expect(await cancel("m-1")).toMatchObject({ cancelled: true });
  await eventually(
    () => drainsOf("m-1"),
    (found) => found.length === 0,
  );
  await policy("auto");
  await shown("m-1", (machine) => machine.status === "ready" && said(machine, "DrainApproved") === undefined);
  expect(await drainsOf("m-1")).toEqual([]);
  expect((await drains.node("m-1"))?.spec.unschedulable).toBeUndefined();
});

async function deletes(drain: MachineDrain | undefined): Promise<void> {
  const name = drain?.metadata.name ?? "";
  await world.admin.delete(machineDrains, { namespace: GRANTS, name }, {}, signal());
}

fullOnly(
  "a drain that the customer deletes while no agent runs does not come back; the vendor sees it, and asks anew",
  async () => {
    await policy("manual");
    await registers("m-6");
    await shown("m-6", ({ status }) => status === "ready");
    await drain("m-6");
    await shown("m-6", (machine) => said(machine, "DrainApproved") === "NoGrant");
    await agent?.stop();
    const [first] = await drainsOf("m-6");
    await deletes(first);
    await policy("auto");
    startAgent();
    const ended = await shown("m-6", ({ customerCancelledAt }) => customerCancelledAt !== null);
    expect([ended.status, ended.drainRequestedAt]).toEqual(["ready", null]);
    expect(await drainsOf("m-6")).toEqual([]);
    expect((await drains.node("m-6"))?.spec.unschedulable).toBeUndefined();
    await drain("m-6");
    const drained = await shown("m-6", ({ status }) => status === "drained");
    expect(drained.customerCancelledAt).toBeNull();
    // Empty already: its deletion gives the machine its pods back.
    const [second] = await drainsOf("m-6");
    await deletes(second);
    await shown("m-6", ({ status, customerCancelledAt }) => status === "ready" && customerCancelledAt !== null);
  },
  300_000,
);

fullOnly(
  "a removal that the customer deletes ends, and the machine stays as empty as it was",
  async () => {
    await policy("auto");
    await registers("m-7");
    await shown("m-7", ({ status }) => status === "ready");
    await drain("m-7");
    await shown("m-7", ({ status }) => status === "drained");
    await policy("manual");
    await remove("m-7");
    await shown("m-7", (machine) => machine.status === "terminating" && said(machine, "DrainApproved") === "NoGrant");
    await deletes((await drainsOf("m-7")).find(({ spec }) => spec.requested?.remove));
    await shown("m-7", ({ status, customerCancelledAt }) => status === "drained" && customerCancelledAt !== null);
    await policy("auto");
    expect(await drainsOf("m-7")).toHaveLength(1);
    await remove("m-7");
    await gone("m-7");
  },
  300_000,
);

fullOnly(
  "a removal whose node a person uncordons says so on the platform, and ends with its object",
  async () => {
    await policy("auto");
    await registers("m-8");
    await shown("m-8", ({ status }) => status === "ready");
    await drain("m-8");
    await shown("m-8", ({ status }) => status === "drained");
    await policy("manual");
    await remove("m-8");
    await shown("m-8", (machine) => said(machine, "DrainApproved") === "NoGrant");
    const [removal] = (await drainsOf("m-8")).filter(({ spec }) => spec.requested?.remove);
    // Found to be empty, and not removed yet: what the controller does in between is held back.
    // Later than the node was made: a drain that began before it is of another node.
    const at = new Date(Date.now() + 1_000).toISOString();
    const body = { status: { state: "Drained", startedAt: at, drainedAt: at } };
    const key = { namespace: GRANTS, name: removal?.metadata.name ?? "" };
    await world.admin.patch(machineDrains, key, { type: "merge", body }, { subresource: "status" }, signal());
    await drains.cordon("m-8", null);
    await policy("auto");
    const waits = await shown("m-8", (machine) => said(machine, "DrainRemoved") === "Uncordoned");
    expect(waits.status).toBe("terminating");
    expect(await drains.node("m-8")).toBeDefined();
    for (const each of await drainsOf("m-8")) await deletes(each);
    await shown("m-8", ({ status, customerCancelledAt }) => status === "ready" && customerCancelledAt !== null);
  },
  300_000,
);

fullOnly(
  "a machine whose node is gone is not removed for the platform before the cluster refuses it",
  async () => {
    await policy("auto");
    const join = await asks("m-9");
    await word(join, { approved: true });
    await became(join, "Issued");
    await registers("m-9");
    await shown("m-9", ({ joinState }) => joinState === "joined");
    await drain("m-9");
    await shown("m-9", ({ status }) => status === "drained");
    await policy("manual");
    await remove("m-9");
    await world.admin.delete(resources.nodes, { name: "m-9" }, {}, signal());
    // The reports of it without a node.
    const waits = await shown("m-9", ({ conditions }) => conditions.every(({ type }) => type !== "Ready"));
    expect([waits.status, said(waits, "DrainApproved")]).toEqual(["terminating", "NoGrant"]);
    await policy("auto");
    await became(join, "Removed");
    await gone("m-9");
  },
  300_000,
);

fullOnly(
  "an empty machine that a person lets take pods again is cancelled, and drained anew",
  async () => {
    await policy("auto");
    await registers("m-2");
    await shown("m-2", ({ status }) => status === "ready");
    await drain("m-2");
    await shown("m-2", ({ status }) => status === "drained");
    const [first] = await drainsOf("m-2");
    await drains.cordon("m-2", null);
    expect(await cancel("m-2")).toMatchObject({ cancelled: true });
    await eventually(
      () => drainsOf("m-2"),
      (found) => found.length === 0,
    );
    await drain("m-2");
    await shown("m-2", ({ status }) => status === "drained");
    const [second] = await drainsOf("m-2");
    expect([second?.status?.state, second?.metadata.uid === first?.metadata.uid]).toEqual(["Drained", false]);
  },
  300_000,
);

test("a machine that waits, and is denied, says so on the platform, and another key may take its name", async () => {
  const join = await asks("m-3");
  const waiting = await shown("m-3", (machine) => said(machine, "JoinApproved") !== undefined);
  expect([waiting.status, waiting.joinState, said(waiting, "JoinApproved")]).toEqual([
    ...["joining", "waiting", "AwaitingApproval"],
  ]);
  expect(said(waiting, "PoolReady")).toBe("NoJoinServer");
  await expect(asks("m-3")).rejects.toThrow("belongs to another machine");
  await word(join, { deniedReason: "not our machine" });
  const denied = await shown("m-3", ({ joinState }) => joinState === "denied");
  expect([denied.status, said(denied, "JoinApproved")]).toEqual(["unreachable", "DeniedByPerson"]);
  const next = await asks("m-3");
  await shown("m-3", (machine) => machine.joinState === "waiting" && machine.status === "joining");
  await word(next, { approved: true });
  await became(next, "Issued");
  await registers("m-3");
  await shown("m-3", ({ status, joinState }) => status === "ready" && joinState === "joined");
});

test("a machine that was let in can be refused until it has joined, and not after", async () => {
  const join = await asks("m-4");
  await word(join, { approved: true });
  await became(join, "Issued");
  await word(join, { deniedReason: "the wrong box" });
  await became(join, "Expired");
  const refused = await shown("m-4", ({ joinState }) => joinState === "expired");
  expect(said(refused, "JoinNodeReady")).toBe("DeniedByPerson");
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "m-4" } };
  const kubeconfig = cluster().kubeconfigFor({ user: "system:node:m-4", groups: ["system:nodes", "system:masters"] });
  const create = ["create", "--dry-run=server", "-f", "-"];
  const { stderr } = await eventually(
    () => cluster().kubectl(create, { kubeconfig, stdin: JSON.stringify(node) }),
    ({ code }) => code !== 0,
  );
  expect(stderr).toContain("this machine was removed from the cluster");
  const joined = (await all<MachineJoin>(machineJoins)).find(({ status }) => status?.state === "Joined");
  const late = ["patch", "mjoin", joined?.metadata.name ?? "", "-n", GRANTS, "--type=merge", "-p"];
  const answer = await cluster().kubectl([...late, '{"spec":{"deniedReason":"too late"}}']);
  expect(answer.stderr).toContain("a machine that has joined cannot be denied any more");
});

test("a machine is removed, and another one of its name joins, is drained and removed", async () => {
  await policy("auto");
  const uids: (string | undefined)[] = [];
  for (const turn of [1, 2]) {
    const join = await asks("m-5");
    await word(join, { approved: true });
    await became(join, "Issued");
    await registers("m-5");
    uids.push((await drains.node("m-5"))?.metadata.uid);
    await shown("m-5", ({ status, joinState }) => status === "ready" && joinState === "joined");
    await drain("m-5");
    await shown("m-5", ({ status }) => status === "drained");
    expect((await drains.node("m-5"))?.spec.unschedulable).toBe(true);
    await remove("m-5");
    await gone("m-5");
    await became(join, "Removed");
    expect(await drains.node("m-5")).toBeUndefined();
    // What is left of the first is in no way of the second.
    expect((await drainsOf("m-5")).filter(({ spec }) => spec.requested?.remove === true)).toHaveLength(turn);
    await world.admin.delete(machineJoins, { namespace: GRANTS, name: join }, {}, signal());
  }
  expect(new Set(uids).size).toBe(2);
});
