import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { fullOnly } from "../../src/base/testing/full.ts";
import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import { objectName } from "../../src/crds/group.ts";
import { type AccessGrant, type AccessGrantSpec, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { type DynamicObject, resources } from "../../src/kube/objects/resource.ts";
import { readPlatformConfig } from "../../src/platform/platform-config.ts";
import { startPlatform } from "../../src/platform/server.ts";
import { startWorld, type World } from "../faults/world.ts";
import { workload } from "../world/installation.ts";
import { metric } from "../world/objects.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { askToScale } from "../world/platform.ts";
import { type Running, startAgent, startOperator } from "../world/processes.ts";
import { signal } from "../world/wait.ts";
import { PushedClock } from "./platform-away-clock.ts";

const HOUR_MS = 3_600_000;
const STEP_MS = 4_000;
/**
 * Ten steps of the clock fit into the renew deadline. That is enough for a leader that learns late of its renewal,
 * which the API server already shows, and for a process that stands still for some seconds: in both cases the process
 * sees time without a renewal.
 */
const LEASES = { SALLYPORT_LEASE_DURATION: "60s", SALLYPORT_RENEW_DEADLINE: "40s" };

const stack = new AsyncDisposableStack();
const over = new AbortController();
const clock = new PushedClock();
const running = new Map<"agent" | "operator", Running>();
let world: World;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-away-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  world = await startWorld({ folder }, stack, over.signal);
  await world.admin.create(resources.deployments, workload("web"), signal());
});

afterAll(async () => {
  for (const name of running.keys()) await stop(name);
  over.abort(new Error("the test is over"));
  await stack.disposeAsync();
});

fullOnly(
  "while the platform is away for an hour, what was granted is approved and run, and all of it is told afterwards",
  async () => {
    let platform = await serve();
    start("agent");
    start("operator");
    const [{ id: granted }, { id: undecided }, { id: refused }] = [
      await askToScale(world, 2),
      await askToScale(world, 3),
      await askToScale(world, 4),
    ];
    await eventually(async () => (await grant(undecided)) && (await grant(refused)));

    // A command that is in the cluster and has not run: the agent sees the approval while the operator is away.
    await stop("agent");
    await decide(granted, { approvedForMinutes: 300 });
    await eventually(async () => (await grant(granted))?.status?.state === "Approved");
    await stop("operator");
    start("agent");
    const command = await eventually(
      async () => (await request(granted)).execution.commands[0]?.commandId ?? undefined,
    );
    await eventually(() => invocation(command));

    const leftAt = clock.wallNow();
    await platform.close();
    start("operator");
    await decide(undecided, { approvedForMinutes: 300 });
    await decide(refused, { deniedReason: "not today" });
    await hours(1);

    // The customer's side went on without the platform.
    const ran = await invocation(command);
    expect(ran?.status?.state).toBe("Succeeded");
    expect(minutesAfter(leftAt, ran?.status?.finishedAt)).toBeLessThan(2);
    expect((await grant(undecided))?.status?.state).toBe("Approved");
    expect((await grant(refused))?.status?.state).toBe("Denied");
    const scale = await world.admin.getScale(resources.deployments, { namespace: SHOP, name: "web" }, signal());
    expect(scale?.spec.replicas).toBe(2);
    expect(await metricOf("agent", 'sallyport_controlplane_connected{channel="sync"}')).toBe(0);

    platform = await serve();
    stack.defer(() => platform.close());
    const backAt = clock.wallNow();
    await pass(6 * 60_000, async () => (await request(undecided)).execution.state === "succeeded");
    // The longest back-off is five minutes.
    expect(minutesAfter(backAt, clock.wallNow())).toBeLessThan(6);
    const [first, second, third] = [await request(granted), await request(undecided), await request(refused)];
    expect([first.execution.state, second.status, third.status]).toEqual([
      "succeeded",
      "customer-approved",
      "rejected",
    ]);
    // The time at which it ran, not the time of the report.
    expect(minutesAfter(leftAt, first.execution.commands[0]?.completedAt)).toBeLessThan(2);
    expect(minutesAfter(leftAt, second.decision?.at)).toBeLessThan(2);
    expect(minutesAfter(leftAt, third.decision?.at)).toBeLessThan(2);
    expect(third.decision).toMatchObject({ outcome: "denied", reason: "not today" });
    expect(minutesAfter(backAt, second.execution.commands[0]?.completedAt)).toBeGreaterThanOrEqual(0);
    const commands = await world.engineer.commands.list({ query: {} }, signal());
    expect(commands.items.map(({ state }) => state)).toEqual(["SUCCEEDED", "SUCCEEDED"]);
  },
  300_000,
);

fullOnly("an agent that starts while the platform is away takes nothing for gone", async () => {
  const managed = async (): Promise<unknown> => {
    const key = { namespace: GRANTS, name: objectName(world.deploymentId) };
    const found = await world.admin.get<DynamicObject>({ ...MANAGED }, key, signal());
    return (found?.status as { state?: string } | undefined)?.state;
  };
  await eventually(async () => (await managed()) === "Serving");
  await stop("agent");
  start("agent", { SALLYPORT_PLATFORM_URL: "http://127.0.0.1:9/" });
  await eventually(
    async () =>
      (await metricOf("agent", 'sallyport_controlplane_connections_total{channel="sync",result="failed"}')) > 0,
  );
  await pass(120_000, async () => false);
  expect(await managed()).toBe("Serving");
});

const MANAGED = {
  group: "sallyport.dev",
  version: "v1alpha1",
  kind: "ManagedDeployment",
  plural: "manageddeployments",
  namespaced: true,
} as const;

function serve() {
  return startPlatform({ ...readPlatformConfig(world.environments.platform), clock });
}

function start(name: "agent" | "operator", more: Readonly<Record<string, string>> = {}): void {
  const env = { ...world.environments[name], ...LEASES, SALLYPORT_IDENTITY: `${name}-0`, ...more };
  running.set(name, name === "agent" ? startAgent(env, { clock }) : startOperator(env, { clock }));
}

async function stop(name: "agent" | "operator"): Promise<void> {
  const each = running.get(name);
  running.delete(name);
  await each?.stop();
}

async function hours(count: number): Promise<void> {
  await pass(count * HOUR_MS, async () => false);
}

/** Lets `ms` pass, or less when `isEnough`, in steps, so that the leases are renewed as in real time. */
async function pass(ms: number, isEnough: () => Promise<boolean>): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    if (await isEnough()) return;
    clock.push(STEP_MS);
    for (const name of running.keys()) await renewed(name);
  }
}

/** Fails the test when one of them ended: an absent platform is no reason to end. */
async function renewed(name: "agent" | "operator"): Promise<void> {
  const since = clock.wallNow().getTime() - STEP_MS / 2;
  const ended = running.get(name)?.ended.then(() => Promise.reject(new Error(`the ${name} ended`)));
  const looked = eventually(async () => {
    const key = { namespace: SYSTEM, name: `sallyport-${name}` };
    const lease = await world.admin.get<DynamicObject>(resources.leases, key, signal());
    return Date.parse((lease?.spec as { renewTime?: string } | undefined)?.renewTime ?? "") >= since;
  }, 5);
  await Promise.race([looked, ended]);
}

/** Until the admission policies are loaded, up to 3 s after their installation, decisions are answered with 503. */
async function decide(requestId: string, spec: Partial<AccessGrantSpec>): Promise<void> {
  const key = { namespace: GRANTS, name: objectName(requestId) };
  await eventually(() => world.approver.patch(accessGrants, key, { type: "merge", body: { spec } }, {}, signal()));
}

function request(id: string): Promise<AccessRequest> {
  return world.engineer.accessRequests.get({ params: { id } }, signal());
}

function grant(requestId: string): Promise<AccessGrant | undefined> {
  return world.admin.get<AccessGrant>(accessGrants, { namespace: GRANTS, name: objectName(requestId) }, signal());
}

function invocation(commandId: string): Promise<OperationInvocation | undefined> {
  const key = { namespace: GRANTS, name: objectName(commandId) };
  return world.admin.get<OperationInvocation>(operationInvocations, key, signal());
}

async function metricOf(name: "agent" | "operator", line: string): Promise<number> {
  const registry = running.get(name)?.registry;
  return registry === undefined ? Number.NaN : metric(registry, line);
}

function minutesAfter(from: Date, to: Date | string | null | undefined): number {
  return (new Date(to ?? Number.NaN).getTime() - from.getTime()) / 60_000;
}

/** Polls in real time, because other processes act. */
async function eventually<T>(
  read: () => Promise<T>,
  everyMs = 25,
): Promise<NonNullable<T> & (T extends false ? never : T)> {
  const limit = AbortSignal.timeout(120_000);
  for (;;) {
    const found = await read().catch(() => undefined);
    if (found) return found as NonNullable<T> & (T extends false ? never : T);
    await sleep(systemClock, everyMs, limit);
  }
}
