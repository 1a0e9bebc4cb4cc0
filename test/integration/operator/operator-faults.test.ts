import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { sleep, systemClock } from "../../../src/base/clock.ts";
import { fullOnly } from "../../../src/base/testing/full.ts";
import { type AccessGrant, accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { type DynamicObject, type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { claimDigest } from "../../../src/operator/gate/gate.ts";
import type { OperatorConfig } from "../../../src/operator/kernel/config.ts";
import { condition, metric } from "../../world/objects.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { eventually, SHORT_LEASE, signal } from "../../world/wait.ts";
import { OperatorWorld, type RunningOperator, scaleTo } from "./operator-world.ts";

const cluster = useCluster({ controllers: true, isOwn: true });
const children = new Set<ChildProcess>();
const operators = new Set<RunningOperator>();
let world: OperatorWorld;

beforeAll(async () => {
  world = await OperatorWorld.create(cluster());
});

afterEach(async () => {
  for (const child of children) await killed(child);
  for (const operator of operators) await operator.stop();
  operators.clear();
});

afterAll(() => world.close());

function started(identity: string, config: Partial<OperatorConfig> = {}): RunningOperator {
  const operator = world.start(identity, config);
  operators.add(operator);
  return operator;
}

function spawned(identity: string): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, "operator-process.ts")], {
    env: { PATH: process.env.PATH, ...world.env, ...SHORT_LEASE, SALLYPORT_IDENTITY: identity },
    stdio: "ignore",
  });
  children.add(child);
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  children.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

const granted = (grant: AccessGrant): { grantName: string } => ({ grantName: grant.metadata.name });
const restart = { namespace: SHOP, kind: "deployment", name: "web" };

/**
 * Removes the operation's rights, so that the operator, refused by the API server, repeats a claimed operation for 2 s.
 */
async function withoutRights<T>(operation: string, during: () => Promise<T>): Promise<T> {
  const key = { name: `sallyport-op-kubernetes-${operation}` };
  const role = await world.admin.get<DynamicObject>(resources.clusterRoles, key, signal());
  const set = (rules: unknown): Promise<unknown> =>
    world.admin.patch(resources.clusterRoles, key, { type: "merge", body: { rules } }, {}, signal());
  await set([]);
  try {
    return await during();
  } finally {
    await set(role?.rules);
  }
}

test("of two operators one acts, and the other takes over", async () => {
  const first = started("one");
  const grant = await world.approved([scaleTo(2), scaleTo(3), scaleTo(4)]);
  const second = started("two");
  const run = async (replicas: number): Promise<string | undefined> =>
    (await world.ended(await world.invoke("kubernetes/scale", scaleTo(replicas).params, granted(grant)))).status?.state;
  const done = 'sallyport_operations_total{plugin="kubernetes",operation="scale",result="success"}';
  expect([await run(2), await run(3)]).toEqual(["Succeeded", "Succeeded"]);
  expect([await metric(first.registry, done), await metric(second.registry, done)]).toEqual([2, 0]);
  operators.delete(first);
  await first.stop();
  expect(await run(4)).toBe("Succeeded");
  expect([await metric(first.registry, done), await metric(second.registry, done)]).toEqual([2, 1]);
});

test("an operator killed between claim and result leaves Unknown, and nothing is run again", async () => {
  const before = await world.replicas();
  const first = spawned("to-be-killed");
  const grant = await world.approved([scaleTo(before + 5)]);
  const invocation = await withoutRights("scale", async () => {
    const claimed = await world.invoke("kubernetes/scale", scaleTo(before + 5).params, granted(grant));
    await world.invocation(claimed, ({ status }) => status?.state === "Running");
    await killed(first);
    return claimed;
  });
  const second = started("successor");
  const ended = await world.ended(invocation);
  expect(ended.status).toMatchObject({ state: "Unknown", error: { code: "OUTCOME_UNKNOWN" } });
  expect(await world.replicas()).toBe(before);
  const over = await world.grant(grant, ({ status }) => status?.state === "Completed");
  expect(over.status?.commands).toMatchObject([{ state: "Unknown", commandId: invocation.spec.commandId }]);
  expect(condition(over, "Succeeded")).toBe("Unknown/OutcomeUnknown");
  const unknown = 'sallyport_operations_total{plugin="kubernetes",operation="scale",result="unknown"}';
  expect(await metric(second.registry, unknown)).toBe(1);
});

test("a claimed line whose invocation expired before it started is no failure, and stays what it is", async () => {
  const first = started("claims");
  const grant = await world.approved([scaleTo(2), scaleTo(3)]);
  operators.delete(first);
  await first.stop();
  const deadline = new Date(Date.now() - 1_000).toISOString();
  const invocation = await world.invoke("kubernetes/scale", scaleTo(2).params, { ...granted(grant), deadline });
  const key = { namespace: GRANTS, name: grant.metadata.name };
  const write = async (line: object): Promise<AccessGrant> => {
    const second = { index: 1, state: "Planned" };
    const body = { status: { commands: [{ index: 0, commandId: invocation.spec.commandId, ...line }, second] } };
    return world.admin.patch(accessGrants, key, { type: "merge", body }, { subresource: "status" }, signal());
  };
  // The state that an operator killed between its two claims leaves.
  const digest = claimDigest(invocation.metadata.uid);
  await write({ state: "Starting", digest });
  const successor = started("finds-it-expired");
  expect((await world.ended(invocation)).status?.state).toBe("Expired");
  const told = await world.grant(grant, ({ status }) => status?.commands?.[0]?.state === "NotStarted");
  await world.decide(told, { revokedReason: "enough" });
  const over = await world.grant(grant, ({ status }) => status?.state === "Revoked");
  expect(over.status?.commands?.map(({ state }) => state)).toEqual(["NotStarted", "Skipped"]);
  expect(condition(over, "Succeeded")).toBe("False/NothingRan");
  operators.delete(successor);
  await successor.stop();
  await expect(write({ state: "Starting", digest })).rejects.toThrow("a finished command line is terminal");
});

fullOnly(
  "killed at any moment, an operation has run exactly once, or is Unknown and has run at most once",
  async () => {
    const generation = async (): Promise<number> => {
      const key = { namespace: SHOP, name: "web" };
      return (await world.admin.get<KubeObject>(resources.deployments, key, signal()))?.metadata.generation ?? 0;
    };
    const seen: string[] = [];
    for (const delayMs of [3, 10, 17, 30]) {
      const child = spawned(`killed-${delayMs}`);
      const grant = await world.approved([{ command: "kubernetes/rollout-restart", params: restart }]);
      const before = await generation();
      const invocation = await world.invoke("kubernetes/rollout-restart", restart, granted(grant));
      await sleep(systemClock, delayMs, signal());
      await killed(child);
      const rescuer = started(`rescuer-${delayMs}`);
      const { status } = await world.ended(invocation);
      await world.grant(grant, ({ status: over }) => over?.state === "Completed");
      operators.delete(rescuer);
      await rescuer.stop();
      const times = (await generation()) - before;
      seen.push(`${delayMs} ms: ${status?.state}, ${times} times`);
      if (status?.state === "Succeeded") expect(times, seen.join("; ")).toBe(1);
      else {
        expect(status?.state).toBe("Unknown");
        expect(times, seen.join("; ")).toBeLessThanOrEqual(1);
      }
    }
  },
);

test("a revocation stops what is running, and says that nothing was changed", async () => {
  started("revoked-under");
  const before = await world.replicas();
  const grant = await world.approved([scaleTo(before + 1)]);
  await withoutRights("scale", async () => {
    const invocation = await world.invoke("kubernetes/scale", scaleTo(before + 1).params, granted(grant));
    await world.invocation(invocation, ({ status }) => status?.state === "Running");
    await world.decide(grant, { revokedReason: "stop it" });
    const ended = await world.ended(invocation);
    expect(ended.status).toMatchObject({
      state: "Failed",
      error: { message: "stopped before anything was changed: revoked" },
    });
  });
  const over = await world.grant(grant, ({ status }) => status?.commands?.[0]?.state === "Failed");
  expect(over.status?.state).toBe("Revoked");
});

test("an operator that is told to stop finishes what it runs, then gives the lease back", async () => {
  const operator = started("polite");
  const before = await world.replicas();
  const grant = await world.approved([scaleTo(before + 1)]);
  const invocation = await withoutRights("scale", async () => {
    const claimed = await world.invoke("kubernetes/scale", scaleTo(before + 1).params, granted(grant));
    await world.invocation(claimed, ({ status }) => status?.state === "Running");
    return claimed;
  });
  operators.delete(operator);
  await operator.stop();
  expect((await world.ended(invocation)).status?.state).toBe("Succeeded");
  const key = { namespace: "sallyport-system", name: "sallyport-operator" };
  const lease = await world.admin.get<DynamicObject>(resources.leases, key, signal());
  expect(lease?.spec).not.toHaveProperty("holderIdentity", "polite");
});

test("the API server restarts while an operation waits for it: the operation still runs, once", async () => {
  started("patient");
  const before = await world.replicas();
  const grant = await world.approved([scaleTo(before + 1)]);
  await world.cluster.programs.apiserver.kill();
  await world.cluster.programs.apiserver.start(signal());
  const invocation = await eventually(
    () => world.invoke("kubernetes/scale", scaleTo(before + 1).params, granted(grant)).catch(() => undefined),
    () => true,
  );
  expect((await world.ended(invocation)).status?.state).toBe("Succeeded");
  expect(await world.replicas()).toBe(before + 1);
});

fullOnly(
  "without an API server the leader ends itself once, and the next one waits for as long as it takes",
  async () => {
    const ended = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;
    const leading = (identity: string) =>
      eventually(
        () => world.admin.get<DynamicObject>(resources.leases, LEASE, signal()).catch(() => undefined),
        ({ spec }) => (spec as { holderIdentity?: string }).holderIdentity === identity,
      );
    const first = spawned("alone");
    await leading("alone");
    await world.cluster.programs.apiserver.kill();
    await eventually(
      async () => ended(first),
      (isSo) => isSo,
    );
    // Started again, as the kubelet would.
    const second = spawned("after");
    await sleep(systemClock, 8_000, signal());
    expect(ended(second)).toBe(false);
    await world.cluster.programs.apiserver.start(signal());
    await leading("after");
    const before = await world.replicas();
    const grant = await world.approved([scaleTo(before + 1)]);
    const invocation = await world.invoke("kubernetes/scale", scaleTo(before + 1).params, granted(grant));
    expect((await world.ended(invocation)).status?.state).toBe("Succeeded");
    expect(first.exitCode).toBe(1);
  },
);

const LEASE = { namespace: "sallyport-system", name: "sallyport-operator" };
