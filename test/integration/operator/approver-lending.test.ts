import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { AUTO_ACCOUNT, DEFAULT_NAMES, grantAccount } from "../../../src/crds/group.ts";
import type { AccessGrant } from "../../../src/crds/kinds/access-grant.ts";
import { operationPolicies } from "../../../src/crds/kinds/operation-policy.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { condition, metric, ours } from "../../world/objects.ts";
import { APPROVER, bound, GRANTS, SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { lender, policyAdmin } from "./lenders.ts";
import { OperatorWorld, type RunningOperator, scaleTo } from "./operator-world.ts";

// The chart's `lending.mode=approver`: people lend with their own credentials, and the operator waits for them.

const cluster = useCluster({ controllers: true });
let world: OperatorWorld;
let operator: RunningOperator;
let alice: string;
let bob: string;

beforeAll(async () => {
  world = await OperatorWorld.create(cluster(), { ...DEFAULT_NAMES, lendingMode: "approver" });
  await cluster().apply([lender(APPROVER), lender("bob"), policyAdmin("bob")]);
  const defaults = { "read-only": "auto", mutating: "manual", destructive: "manual" };
  const policy = ours("OperationPolicy", "reading-runs-by-itself", { defaults });
  await world.admin.create(operationPolicies, policy, signal());
  alice = cluster().kubeconfigFor({ user: APPROVER });
  bob = cluster().kubeconfigFor({ user: "bob" });
  operator = world.start();
});

afterAll(async () => {
  await operator?.stop();
  await world?.close();
});

/** Runs a line exactly as a person pastes it. */
async function paste(line: string, kubeconfig: string): Promise<string> {
  const { code, stdout, stderr } = await cluster().kubectl(line.split(" ").slice(1), { kubeconfig });
  expect(code, stderr).toBe(0);
  return stdout;
}

async function lent(namespace = SHOP): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { metadata } of world.admin.list(resources.roleBindings, { namespace }, signal())) {
    if (/^(grant-|sallyport-auto)/.test(metadata.name)) names.push(metadata.name);
  }
  return names;
}

const granted = (grant: AccessGrant): { grantName: string } => ({ grantName: grant.metadata.name });
const linesOf = (grant: AccessGrant): readonly string[] => grant.status?.bindings ?? [];

test("two plain kubectl lines approve: the grant shows the second, and what was asked runs once it is there", async () => {
  const asked = await world.ask([scaleTo(3)], "mutating");
  const shown = await world.grant(asked, (grant) => linesOf(grant).length > 0);
  const account = grantAccount(asked.metadata.uid);
  const line = `kubectl create rolebinding ${account}-kubernetes-scale -n shop --clusterrole=sallyport-op-kubernetes-scale --serviceaccount=sallyport-grants:${account}`;
  expect(linesOf(shown)).toEqual([line]);
  expect(condition(shown, "Lent")).toBe("False/AwaitingBinding");
  expect(await paste(`kubectl get ag ${asked.metadata.name} -n ${GRANTS} -o wide`, alice)).toContain(line);

  const patch = JSON.stringify({ spec: { approvedForMinutes: 30 } });
  await paste(`kubectl patch ag ${asked.metadata.name} -n ${GRANTS} --type=merge -p ${patch}`, alice);
  const invocation = await world.invoke("kubernetes/scale", scaleTo(3).params, granted(asked));
  const waiting = await world.invocation(
    invocation,
    (each) => condition(each, "Authorized") === "Unknown/AwaitingBinding",
  );
  expect(waiting.status?.conditions?.find(({ type }) => type === "Authorized")?.message).toContain(
    "status.bindings of the grant has its line",
  );
  expect(await world.replicas()).toBe(1);

  await paste(line, alice);
  expect((await world.ended(invocation)).status).toMatchObject({ state: "Succeeded", result: { from: 1, to: 3 } });
  const over = await world.grant(asked, ({ status }) => status?.state === "Completed");
  expect(condition(over, "Succeeded")).toBe("True/AllSucceeded");
  expect(await eventually(lent, (names) => names.length === 0)).toEqual([]);
  const key = { namespace: GRANTS, name: account };
  expect(await world.admin.get(resources.serviceAccounts, key, signal())).toBeUndefined();
});

test("sallyport approve does both, with the approver's own kubeconfig", async () => {
  const asked = await world.ask([scaleTo(4), scaleTo(5)], "mutating");
  await world.grant(asked, (grant) => linesOf(grant).length > 0);
  const args = ["approve", asked.metadata.name, "--minutes", "30", "--kubeconfig", alice];
  expect((await sallyport(args)).stderr).toContain("--yes");
  const { code, stdout, stderr } = await sallyport([...args, "--yes"]);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain("kubernetes/scale");
  const grant = await world.grant(asked, (each) => condition(each, "Lent") === "True/BindingsSeen");
  expect(grant.spec).toMatchObject({
    approvedForMinutes: 30,
    decidedBy: APPROVER,
    approvedPlanHash: asked.spec.planHash,
  });
  const [name = ""] = await lent();
  const binding = await world.admin.get(resources.roleBindings, { namespace: SHOP, name }, signal());
  expect(binding?.metadata).toMatchObject({
    labels: { "sallyport.dev/grant-uid": asked.metadata.uid },
    annotations: { "sallyport.dev/expires-at": expect.stringMatching(/^\d{4}-.*Z$/) },
  });
  for (const replicas of [4, 5]) {
    const invocation = await world.invoke("kubernetes/scale", scaleTo(replicas).params, granted(asked));
    expect((await world.ended(invocation)).status?.state).toBe("Succeeded");
  }
  await world.grant(asked, ({ status }) => status?.state === "Completed");
  expect((await sallyport([...args, "--yes"])).code).toBe(6);
  expect((await sallyport(["approve", "no-such", "--kubeconfig", alice, "--yes"])).code).toBe(5);
});

test("an approver who may not lend there is told before anything is decided", async () => {
  await cluster().apply([bound("approver-carol", GRANTS, "sallyport-approver", "carol")]);
  const asked = await world.ask([scaleTo(4)], "mutating");
  await world.grant(asked, (grant) => linesOf(grant).length > 0);
  const kubeconfig = cluster().kubeconfigFor({ user: "carol" });
  const { code, stderr } = await sallyport(["approve", asked.metadata.name, "--kubeconfig", kubeconfig, "--yes"]);
  expect([code, stderr]).toEqual([4, expect.stringContaining("sallyport-lender")]);
  const still = await world.grant(asked, () => true);
  expect(still.spec.approvedForMinutes).toBeUndefined();
});

test("what runs by itself waits for a policy admin's binding, and keeps it", async () => {
  const invocation = await world.invoke("kubernetes/get-pods", { namespace: SHOP }, { tier: "read-only" });
  const waiting = await world.invocation(
    invocation,
    (each) => condition(each, "Authorized") === "Unknown/AwaitingBinding",
  );
  const message = waiting.status?.conditions?.find(({ type }) => type === "Authorized")?.message ?? "";
  expect(message).toBe(
    `waits for a binding of sallyport-op-kubernetes-get-pods to account ${AUTO_ACCOUNT} in shop, which a policy admin makes`,
  );
  await paste(
    `kubectl create rolebinding ${AUTO_ACCOUNT}-kubernetes-get-pods -n shop --clusterrole=sallyport-op-kubernetes-get-pods --serviceaccount=sallyport-grants:${AUTO_ACCOUNT}`,
    bob,
  );
  expect((await world.ended(invocation)).status?.state).toBe("Succeeded");
  await swept();
  expect(await lent()).toContain(`${AUTO_ACCOUNT}-kubernetes-get-pods`);
  const account = { namespace: GRANTS, name: AUTO_ACCOUNT };
  expect(await world.admin.get(resources.serviceAccounts, account, signal())).toBeDefined();
});

test("a revocation takes back what was lent, and a binding that comes afterwards", async () => {
  const grant = await world.approved([scaleTo(2), scaleTo(6)]);
  const [line = ""] = linesOf(grant);
  await paste(line, alice);
  await world.grant(grant, (each) => condition(each, "Lent") === "True/BindingsSeen");
  const first = await world.invoke("kubernetes/scale", scaleTo(2).params, granted(grant));
  expect((await world.ended(first)).status?.state).toBe("Succeeded");
  const name = `${grantAccount(grant.metadata.uid)}-kubernetes-scale`;
  await world.decide(grant, { revokedReason: "enough" });
  await eventually(lent, (names) => !names.includes(name));
  await paste(line, alice);
  await eventually(lent, (names) => !names.includes(name));
  const late = await world.invoke("kubernetes/scale", scaleTo(6).params, granted(grant));
  expect((await world.ended(late)).status?.state).toBe("Held");
  expect(await world.replicas()).toBe(2);
});

/** Waits for two more sweeps over everything. */
async function swept(): Promise<void> {
  const count = (): Promise<number> => metric(operator.registry, 'sallyport_access_sweeps_total{result="ok"}');
  const before = await count();
  await eventually(count, (now) => now >= before + 2);
}

function sallyport(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const main = join(import.meta.dirname, "../../../bin/sallyport.mjs");
  return new Promise((done) => {
    const child = execFile(process.execPath, [main, ...args], (_error, stdout, stderr) => {
      done({ code: child.exitCode ?? -1, stdout, stderr });
    });
    child.stdin?.end();
  });
}
