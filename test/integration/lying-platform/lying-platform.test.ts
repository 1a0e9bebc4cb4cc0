import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../../../src/base/testing/until.ts";
import type { PendingRequest } from "../../../src/contract/access-requests/access-relay.ts";
import { objectName } from "../../../src/crds/group.ts";
import { type AccessGrant, accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../../src/crds/kinds/operation-invocation.ts";
import { planHash } from "../../../src/crds/plan.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { newId } from "../../../src/platform/kernel/ids.ts";
import { startWorld, type World } from "../../faults/world.ts";
import { workload } from "../../world/installation.ts";
import { eventReasons, metric } from "../../world/objects.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { type Running, startAgent, startOperator } from "../../world/processes.ts";
import { signal } from "../../world/wait.ts";
import { type End, HostilePlatform, type Wanted } from "./hostile-platform.ts";

const SCALE = "kubernetes/scale";
const stack = new AsyncDisposableStack();
const stop = new AbortController();
let running: Readonly<Record<"agent" | "operator", Running>>;
let world: World;
let platform: HostilePlatform;
/** Approved for two lines: to scale to two replicas, and to seven. */
let approved: PendingRequest;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-lying-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  platform = await HostilePlatform.listen();
  stack.defer(() => platform.close());
  world = await startWorld({ folder }, stack, stop.signal);
  await world.admin.create(resources.deployments, workload("web"), signal());
  const env = (kind: "agent" | "operator") => ({
    ...world.environments[kind],
    SALLYPORT_PLATFORM_URL: platform.url,
    SALLYPORT_DEPLOYMENTS: `${platform.deploymentId}=${SHOP}`,
    SALLYPORT_POLL_INTERVAL: "500ms",
  });
  running = { agent: startAgent(env("agent")), operator: startOperator(env("operator")) };
  stack.defer(async () => {
    stop.abort(new Error("the test is over"));
    await Promise.all([running.agent.stop(), running.operator.stop()]);
  });
  approved = request(2, 7);
  platform.list(approved);
  await approve(approved);
});

afterAll(() => stack.disposeAsync(), 60_000);

test("an approved line runs once: the replayed command gets the stored result, another command for it is held", async () => {
  const id = platform.send(scale(2, approved.id));
  expect(await ended(id)).toMatchObject({ state: "SUCCEEDED", result: { from: 1, to: 2 } });
  expect(await generation()).toBe(2);

  platform.send({ ...scale(2, approved.id), id });
  await until(async () => platform.ends.get(id)?.length === 2);
  const [first, second] = platform.ends.get(id) ?? [];
  expect([second?.state, second?.result, second?.completedAt]).toEqual([
    first?.state,
    first?.result,
    first?.completedAt,
  ]);

  await held(scale(2, approved.id), "LineUsed");
  expect(await generation()).toBe(2);
  expect(await ended(platform.send(scale(7, approved.id)))).toMatchObject({ state: "SUCCEEDED" });
  await until(async () => (await grant(approved))?.status?.state === "Completed");
  await held(scale(7, approved.id), "GrantClosed");
});

test("a used command's id with other params is held, and its invocation stays what it was", async () => {
  const plan = request(3);
  platform.list(plan);
  await approve(plan);
  const id = platform.send(scale(3, plan.id));
  expect(await ended(id)).toMatchObject({ state: "SUCCEEDED" });
  const before = await generation();
  platform.send({ ...scale(9, plan.id), id });
  await until(async () => platform.ends.get(id)?.length === 2);
  expect(platform.ends.get(id)?.[1]).toMatchObject({ state: "FAILED", error: { code: "COMMAND_HELD" } });
  expect((await invocation(id))?.spec.params).toMatchObject({ replicas: 3 });
  expect(await generation()).toBe(before);
});

test("a command for a request that nobody raised is held", async () => {
  await held(scale(9, newId("ar")), "NoGrant");
});

test("a command for a request without an approval is held, regardless of what the platform says of it", async () => {
  const plan = request(9);
  platform.list(plan);
  await until(async () => (await grant(plan)) !== undefined);
  // The request is not listed any more. To the agent it is approved, withdrawn or forgotten, and nothing may change.
  platform.list();
  await held(scale(9, plan.id), "GrantClosed");
  expect((await grant(plan))?.spec.approvedForMinutes).toBeUndefined();
});

test("a command that needs approval and names no request is held", async () => {
  await held(scale(9), "NoGrant");
});

test("an approved plan with other params, or another operation, is held", async () => {
  const plan = request(4);
  platform.list(plan);
  await approve(plan);
  await held(scale(9, plan.id), "ParamsMismatch");
  await held({ ...scale(4, plan.id), params: { ...scale(4).params, name: "other" } }, "ParamsMismatch");
  const restart = { namespace: SHOP, kind: "deployment", name: "web" };
  await held({ name: "kubernetes/rollout-restart", params: restart, accessRequestId: plan.id }, "ParamsMismatch");
});

test("another plan under the id of an approved one changes nothing, and is told in the cluster", async () => {
  const plan = request(5);
  platform.list(plan);
  await approve(plan);
  const before = (await grant(plan))?.spec;
  const mismatch = 'sallyport_requests_refused_total{reason="plan_mismatch"}';
  const counted = await metric(running.agent.registry, mismatch);
  platform.list({ ...request(9), ...{ id: plan.id, planHash: hashOf(plan.id, commandsOf(9)) } });
  await until(async () => (await metric(running.agent.registry, mismatch)) > counted);
  expect((await grant(plan))?.spec).toEqual(before);
  await until(async () => (await eventReasons(world.admin, objectName(plan.id))).includes("PlanMismatch"));
  await held(scale(9, plan.id), "ParamsMismatch");
});

test("a request whose plan is not what its hash says is not shown", async () => {
  const unfit = 'sallyport_requests_refused_total{reason="unfit"}';
  const counted = await metric(running.agent.registry, unfit);
  const plan = { ...request(9), planHash: hashOf("ar_other", commandsOf(9)) };
  platform.list(plan);
  await until(async () => platform.decisions.some(({ requestId }) => requestId === plan.id));
  const decision = platform.decisions.find(({ requestId }) => requestId === plan.id);
  expect(decision).toMatchObject({ outcome: "denied", decidedBy: "sallyport-agent", identity: "unknown" });
  expect(await grant(plan)).toBeUndefined();
  expect(await metric(running.agent.registry, unfit)).toBe(counted + 1);
  await until(async () =>
    (await eventReasons(world.admin, objectName(platform.deploymentId))).includes("RequestRefused"),
  );
});

/**
 * Expects the command to be held, with the reason in the condition, an event, the operator's metric and the report to
 * the platform.
 */
async function held(wanted: Wanted, reason: string): Promise<void> {
  const line = `sallyport_refused_total{reason="${reason}"}`;
  const [changes, counted] = [await generation(), await metric(running.operator.registry, line)];
  const id = platform.send(wanted);
  expect(await ended(id)).toMatchObject({ state: "FAILED", error: { code: "COMMAND_HELD" } });
  const { status } = (await invocation(id)) ?? {};
  const authorized = status?.conditions?.find(({ type }) => type === "Authorized");
  expect([status?.state, authorized?.status, authorized?.reason]).toEqual(["Held", "False", reason]);
  await until(async () => (await eventReasons(world.admin, objectName(id))).includes("OperationHeld"));
  expect(await metric(running.operator.registry, line)).toBe(counted + 1);
  expect(await generation()).toBe(changes);
}

function scale(replicas: number, accessRequestId?: string): Wanted {
  const params = { namespace: SHOP, kind: "deployment", name: "web", replicas };
  return { name: SCALE, params, ...(accessRequestId === undefined ? {} : { accessRequestId }) };
}

function commandsOf(...lines: readonly number[]) {
  return lines.map((replicas) => ({ command: SCALE, summary: `to ${replicas}`, params: scale(replicas).params }));
}

function hashOf(requestId: string, commands: ReturnType<typeof commandsOf>): string {
  return planHash({ requestId, deploymentId: platform.deploymentId, risk: "mutating", commands });
}

function request(...lines: readonly number[]): PendingRequest {
  const id = newId("ar");
  const commands = commandsOf(...lines);
  return {
    ...{ id, commands, risk: "mutating", planHash: hashOf(id, commands), maxMinutes: 60 },
    ...{ title: `to ${lines.join(", then ")}`, reason: null, debug: false, requestedBy: "mallory" },
    decideBefore: new Date(Date.now() + 3_600_000).toISOString(),
    createdAt: new Date().toISOString(),
  };
}

/**
 * Approves as the customer, who believes what `kubectl` shows. Until the API server has loaded the policies, it answers
 * 503.
 */
async function approve(plan: PendingRequest): Promise<void> {
  const key = { namespace: GRANTS, name: objectName(plan.id) };
  const patch = { type: "merge", body: { spec: { approvedForMinutes: 30 } } } as const;
  await until(async () => (await grant(plan)) !== undefined);
  await until(() =>
    world.approver.patch(accessGrants, key, patch, {}, signal()).then(
      () => true,
      () => false,
    ),
  );
  await until(async () => (await grant(plan))?.status?.state === "Approved");
}

async function ended(commandId: string): Promise<End> {
  await until(async () => platform.ends.has(commandId));
  const [end] = platform.ends.get(commandId) ?? [];
  if (end === undefined) throw new Error("no end");
  return end;
}

function grant({ id }: PendingRequest): Promise<AccessGrant | undefined> {
  return world.admin.get<AccessGrant>(accessGrants, { namespace: GRANTS, name: objectName(id) }, signal());
}

function invocation(commandId: string): Promise<OperationInvocation | undefined> {
  const key = { namespace: GRANTS, name: objectName(commandId) };
  return world.admin.get<OperationInvocation>(operationInvocations, key, signal());
}

/** The workload's generation: grows by one with each change. */
async function generation(): Promise<number | undefined> {
  const key = { namespace: SHOP, name: "web" };
  return (await world.admin.get<KubeObject>(resources.deployments, key, signal()))?.metadata.generation;
}
