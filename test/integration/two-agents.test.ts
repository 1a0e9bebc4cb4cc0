import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { fullOnly } from "../../src/base/testing/full.ts";
import { until } from "../../src/base/testing/until.ts";
import { objectName } from "../../src/crds/group.ts";
import { type AccessGrant, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { type DynamicObject, type KubeObject, resources } from "../../src/kube/objects/resource.ts";
import { changesIn } from "../faults/audit.ts";
import type { TestProcess } from "../faults/test-process.ts";
import { startWorld, type World } from "../faults/world.ts";
import { workload } from "../world/installation.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { signal } from "../world/wait.ts";

const WORKLOAD = "web";
const stack = new AsyncDisposableStack();
const stop = new AbortController();
let world: World;
let agents: readonly TestProcess[];
let operators: readonly TestProcess[];

// Like the pods of one Deployment each: same credentials, same lease, different names.
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-two-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  world = await startWorld({ folder }, stack, stop.signal);
  stack.defer(() => stop.abort(new Error("the test is over")));
  const pair = (kind: "agent" | "operator"): Promise<TestProcess[]> =>
    Promise.all(["a", "b"].map((each) => world.another(kind, `${kind}-${each}`, { SALLYPORT_IDENTITY: each })));
  [agents, operators] = await Promise.all([pair("agent"), pair("operator")]);
  await world.admin.create(resources.deployments, workload(WORKLOAD), signal());
  const all = [world.processes.platform, ...agents, ...operators];
  for (const target of all) target.start(stop.signal);
  await Promise.all(all.map((target) => target.kept(signal())));
});

afterAll(() => stack.disposeAsync(), 60_000);

fullOnly("of two agents and two operators one each acts, and the others take over when it is killed", async () => {
  for (const replicas of [2, 3, 4]) await approvedScale(replicas);
  const [agent, operator] = [await leader("agent", agents), await leader("operator", operators)];
  const before = await figures();
  expect(before).toEqual({
    "dispatched by agent-a": agent.name === "agent-a" ? 3 : 0,
    "dispatched by agent-b": agent.name === "agent-b" ? 3 : 0,
    "lost dispatches": 0,
    "duplicate reports": 0,
    "run by operator-a": operator.name === "operator-a" ? 3 : 0,
    "run by operator-b": operator.name === "operator-b" ? 3 : 0,
  });

  await Promise.all([agent.kill(), operator.kill()]);
  await approvedScale(5);
  const [nextAgent, nextOperator] = [other(agents, agent), other(operators, operator)];
  expect(await count(nextAgent, 'sallyport_command_dispatches_total{result="won"}')).toBe(1);
  expect(await count(nextOperator, SUCCESS)).toBe(1);

  // The killed processes come back as followers of the new leaders, and change nothing.
  for (const target of [agent, operator]) target.start(stop.signal);
  await Promise.all([agent.kept(signal()), operator.kept(signal())]);
  await approvedScale(6);
  expect(await count(nextOperator, SUCCESS)).toBe(2);
  expect(await count(operator, SUCCESS)).toBe(0);

  const commands = await world.engineer.commands.list({ query: { limit: 100 } }, signal());
  const invocations: string[] = [];
  for await (const each of world.admin.list<OperationInvocation>(operationInvocations, { namespace: GRANTS }, signal()))
    invocations.push(each.spec.commandId);
  expect(invocations.toSorted()).toEqual(commands.items.map(({ id }) => id).toSorted());
  const changes = (await changesIn(world.auditLog)).map(({ what }) => what);
  expect(changes).toEqual([2, 3, 4, 5, 6].map((replicas) => `scale ${WORKLOAD} ${replicas}`));
  const scaled = await world.admin.get<KubeObject>(
    resources.deployments,
    { namespace: SHOP, name: WORKLOAD },
    signal(),
  );
  expect(scaled?.metadata.generation).toBe(6);
});

const SUCCESS = 'sallyport_operations_total{plugin="kubernetes",operation="scale",result="success"}';

async function figures(): Promise<Readonly<Record<string, number>>> {
  const total = async (line: string): Promise<number> =>
    (await Promise.all(agents.map((agent) => count(agent, line)))).reduce((sum, each) => sum + each, 0);
  const [agentA, agentB, operatorA, operatorB] = [...agents, ...operators];
  return {
    "dispatched by agent-a": await count(agentA, 'sallyport_command_dispatches_total{result="won"}'),
    "dispatched by agent-b": await count(agentB, 'sallyport_command_dispatches_total{result="won"}'),
    "lost dispatches": await total('sallyport_command_dispatches_total{result="lost"}'),
    "duplicate reports":
      (await total('sallyport_grant_reports_total{kind="reportApproval",outcome="duplicate"}')) +
      (await total('sallyport_grant_reports_total{kind="reportMaterialized",outcome="duplicate"}')),
    "run by operator-a": await count(operatorA, SUCCESS),
    "run by operator-b": await count(operatorB, SUCCESS),
  };
}

async function count(target: TestProcess | undefined, line: string): Promise<number> {
  const found = (await target?.metrics())?.split("\n").find((each) => each.startsWith(`${line} `));
  if (found === undefined) throw new Error(`${target?.name} has no metric ${line}`);
  return Number(found.slice(line.length + 1));
}

/** The holder of the lease, by the name in it. */
async function leader(kind: "agent" | "operator", pair: readonly TestProcess[]): Promise<TestProcess> {
  const key = { namespace: SYSTEM, name: `sallyport-${kind}` };
  const lease = await world.admin.get<DynamicObject>(resources.leases, key, signal());
  const holder = (lease?.spec as { holderIdentity?: string } | undefined)?.holderIdentity;
  const found = pair.find(({ name }) => name === `${kind}-${holder}`);
  if (found === undefined) throw new Error(`nobody of ours holds the lease: ${holder}`);
  return found;
}

function other(pair: readonly TestProcess[], one: TestProcess): TestProcess {
  const found = pair.find((each) => each !== one);
  if (found === undefined) throw new Error("a pair has two");
  return found;
}

/** A whole story: asked, queued, approved, run and recorded. */
async function approvedScale(replicas: number): Promise<void> {
  const { engineer, deploymentId, approver } = world;
  const params = { namespace: SHOP, kind: "deployment", name: WORKLOAD, replicas };
  const commands = [{ command: "kubernetes/scale", summary: `to ${replicas}`, params }];
  const body = { deploymentId, remediationPlanId: `to-${replicas}`, title: "Scale", commands, maxMinutes: 60 };
  const { id } = await engineer.accessRequests.create({ body }, signal());
  await engineer.accessRequests.queue({ params: { id } }, signal());
  const key = { namespace: GRANTS, name: objectName(id) };
  await until(async () => (await world.admin.get<AccessGrant>(accessGrants, key, signal())) !== undefined);
  await approver.patch(accessGrants, key, { type: "merge", body: { spec: { approvedForMinutes: 5 } } }, {}, signal());
  await until(async () => {
    const { execution } = await engineer.accessRequests.get({ params: { id } }, signal());
    expect(["idle", "running", "succeeded"]).toContain(execution.state);
    return execution.state === "succeeded";
  });
  await until(
    async () => (await world.admin.get<AccessGrant>(accessGrants, key, signal()))?.status?.state === "Completed",
  );
}
