import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { grantAccount } from "../../../src/crds/group.ts";
import { type AccessGrant, accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../../src/crds/kinds/operation-invocation.ts";
import { operationPolicies } from "../../../src/crds/kinds/operation-policy.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { INSTALLED } from "../../world/installation.ts";
import { condition, metric, ours } from "../../world/objects.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { OperatorWorld, type RunningOperator, scaleTo } from "./operator-world.ts";

const cluster = useCluster({ controllers: true, holds: INSTALLED });
let world: OperatorWorld;
let operator: RunningOperator;
let late: AccessGrant;

beforeAll(async () => {
  world = await OperatorWorld.create(cluster());
  // Approved in time, but seen too late: no operator ran when decideBefore passed.
  late = await world.ask([scaleTo(9)], "mutating", { decideBefore: new Date(Date.now() - 1_000).toISOString() });
  await world.decide(late, { approvedForMinutes: 30 });
  operator = world.start();
});

afterAll(async () => {
  await operator.stop();
  await world.close();
});

const granted = (grant: AccessGrant): { grantName: string } => ({ grantName: grant.metadata.name });

/** Expects the command to be held, with the reason in the condition, an event and the metric, and that nothing ran. */
async function refused(invocation: OperationInvocation, reason: string, before: number): Promise<void> {
  const ended = await world.ended(invocation);
  expect([ended.status?.state, condition(ended, "Authorized")]).toEqual(["Held", `False/${reason}`]);
  expect(ended.status?.startedAt).toBeUndefined();
  await eventually(
    () => world.eventReasons(invocation.metadata.name),
    (reasons) => reasons.includes("OperationHeld"),
  );
  expect(await metric(operator.registry, `sallyport_refused_total{reason="${reason}"}`)).toBeGreaterThan(before);
}

function refusals(reason: string): Promise<number> {
  return metric(operator.registry, `sallyport_refused_total{reason="${reason}"}`);
}

test("an approved line runs once, with the grant's own account, and leaves no access behind", async () => {
  const grant = await world.approved([scaleTo(3)]);
  expect(condition(grant, "Active")).toBe("True/WindowOpen");
  expect(condition(grant, "IdentityVerified")).toBe("True/StampedByAdmission");
  const invocation = await world.invoke("kubernetes/scale", scaleTo(3).params, granted(grant));
  const ended = await world.ended(invocation);
  expect(ended.status).toMatchObject({ state: "Succeeded", result: { from: 1, to: 3 } });
  expect(await world.replicas()).toBe(3);
  const over = await world.grant(grant, ({ status }) => status?.state === "Completed");
  expect(over.status?.commands).toMatchObject([{ index: 0, state: "Succeeded", commandId: invocation.spec.commandId }]);
  expect(condition(over, "Succeeded")).toBe("True/AllSucceeded");
  const account = { namespace: GRANTS, name: grantAccount(grant.metadata.uid) };
  expect(await world.admin.get(resources.serviceAccounts, account, signal())).toBeUndefined();
  expect(await bindings()).toEqual([]);
});

async function bindings(): Promise<readonly string[]> {
  const names: string[] = [];
  const options = { namespace: SHOP, labelSelector: "sallyport.dev/grant-uid" };
  for await (const { metadata } of world.admin.list(resources.roleBindings, options, signal()))
    names.push(metadata.name);
  return names;
}

test("a read-only operation runs by the customer's policy, and no secret comes out of it", async () => {
  const params = { namespace: SHOP, kind: "deployment", name: "web" };
  const ended = await world.ended(await world.invoke("kubernetes/describe", params, { tier: "read-only" }));
  expect([ended.status?.state, condition(ended, "Authorized")]).toEqual(["Succeeded", "True/PolicyAuto"]);
  expect(JSON.stringify(ended)).toContain("DB_PASSWORD");
  expect(JSON.stringify(ended)).not.toContain("canary-7c1f");
  expect(await eventually(bindings, (names) => names.length === 0)).toEqual([]);
});

test("a workload is restarted by annotation, once", async () => {
  const params = { namespace: SHOP, kind: "deployment", name: "web" };
  const grant = await world.approved([{ command: "kubernetes/rollout-restart", params }]);
  const ended = await world.ended(await world.invoke("kubernetes/rollout-restart", params, granted(grant)));
  expect(ended.status).toMatchObject({ state: "Succeeded" });
  const read = await world.invoke("kubernetes/rollout-status", params, { tier: "read-only" });
  expect((await world.ended(read)).status?.state).toBe("Succeeded");
});

test("a pod is restarted when a controller replaces it", async () => {
  const listed = await world.ended(
    await world.invoke("kubernetes/get-pods", { namespace: SHOP }, { tier: "read-only" }),
  );
  const pods = listed.status?.result?.pods as readonly { name: string }[];
  const params = { namespace: SHOP, pod: pods[0]?.name ?? "" };
  const grant = await world.approved([{ command: "kubernetes/restart-pod", params }]);
  const ended = await world.ended(await world.invoke("kubernetes/restart-pod", params, granted(grant)));
  expect(ended.status).toMatchObject({ state: "Succeeded", result: { pod: params.pod } });
});

test("a destructive line runs when its approver has cited the plan's hash", async () => {
  const listed = await world.ended(
    await world.invoke("kubernetes/get-pods", { namespace: SHOP }, { tier: "read-only" }),
  );
  const pods = listed.status?.result?.pods as readonly { name: string }[];
  const line = {
    command: "kubernetes/delete-pod",
    params: { namespace: SHOP, pod: pods[0]?.name, gracePeriodSeconds: 0 },
  };
  const grant = await world.ask([line], "destructive");
  await world.grant(grant, ({ status }) => status?.state === "Pending");
  await expect(world.decide(grant, { approvedForMinutes: 5 })).rejects.toThrow("approvedPlanHash");
  await world.decide(grant, { approvedForMinutes: 5, approvedPlanHash: grant.spec.planHash });
  await world.grant(grant, ({ status }) => status?.state === "Approved");
  const tier = { ...granted(grant), tier: "destructive" } as const;
  const ended = await world.ended(await world.invoke(line.command, line.params, tier));
  expect(ended.status).toMatchObject({ state: "Succeeded", result: { pod: line.params.pod } });
  const key = { namespace: SHOP, name: line.params.pod ?? "" };
  expect(await world.admin.get(resources.pods, key, signal())).toBeUndefined();
});

test("lines of one plan that are asked for at once run once each, and no two commands share one", async () => {
  const lines = [7, 7, 8, 9, 10].map((replicas) => scaleTo(replicas));
  const grant = await world.approved(lines);
  const asked = [...lines, scaleTo(7), scaleTo(8)];
  const invocations = await Promise.all(
    asked.map(({ params }) => world.invoke("kubernetes/scale", params, granted(grant))),
  );
  const ended = await Promise.all(invocations.map((each) => world.ended(each)));
  const count = (state: string): number => ended.filter(({ status }) => status?.state === state).length;
  expect([count("Succeeded") + count("Failed"), count("Held")]).toEqual([5, 2]);
  const over = await world.grant(grant, ({ status }) => status?.state === "Completed");
  expect(new Set(over.status?.commands?.map(({ commandId }) => commandId)).size).toBe(5);
  expect(await world.ended(await setTo(3))).toMatchObject({ status: { state: "Succeeded" } });
});

async function setTo(replicas: number): Promise<OperationInvocation> {
  const grant = await world.approved([scaleTo(replicas)]);
  return world.invoke("kubernetes/scale", scaleTo(replicas).params, granted(grant));
}

test("a mutating operation without a grant is refused", async () => {
  const before = await refusals("NoGrant");
  await refused(await world.invoke("kubernetes/scale", scaleTo(8).params), "NoGrant", before);
});

test("other params than the approved ones are refused, and so is another command", async () => {
  const grant = await world.approved([scaleTo(2)]);
  const before = await refusals("ParamsMismatch");
  await refused(await world.invoke("kubernetes/scale", scaleTo(7).params, granted(grant)), "ParamsMismatch", before);
  const restart = { namespace: SHOP, kind: "deployment", name: "web" };
  await refused(await world.invoke("kubernetes/rollout-restart", restart, granted(grant)), "ParamsMismatch", before);
  expect(await world.replicas()).toBe(3);
});

test("an unapproved grant runs nothing, whatever the platform believes", async () => {
  const grant = await world.ask([scaleTo(6)], "mutating");
  const before = await refusals("GrantClosed");
  await refused(await world.invoke("kubernetes/scale", scaleTo(6).params, granted(grant)), "GrantClosed", before);
});

test("a used line is used: a second command finds nothing left", async () => {
  const grant = await world.approved([scaleTo(4), scaleTo(5, "none")]);
  const first = await world.ended(await world.invoke("kubernetes/scale", scaleTo(4).params, granted(grant)));
  expect(first.status?.state).toBe("Succeeded");
  const before = await refusals("LineUsed");
  await refused(await world.invoke("kubernetes/scale", scaleTo(4).params, granted(grant)), "LineUsed", before);
});

test("an invocation that was deleted and written again under its old name finds its line used", async () => {
  const grant = await world.approved([scaleTo(3), scaleTo(5, "none")]);
  const commandId = world.id("cmd");
  const first = await world.invoke("kubernetes/scale", scaleTo(3).params, { ...granted(grant), commandId });
  expect((await world.ended(first)).status?.state).toBe("Succeeded");
  const key = { namespace: GRANTS, name: first.metadata.name };
  await world.admin.delete(operationInvocations, key, {}, signal());
  const before = await refusals("LineUsed");
  await refused(
    await world.invoke("kubernetes/scale", scaleTo(3).params, { ...granted(grant), commandId }),
    "LineUsed",
    before,
  );
});

test("a plan whose hash is not its own lapses before anybody can approve it", async () => {
  const grant = await world.ask([scaleTo(9)], "mutating", { planHash: `sha256:${"0".repeat(64)}` });
  const lapsed = await world.grant(grant, ({ status }) => status?.state === "Lapsed");
  expect(condition(lapsed, "Approved")).toBe("False/PlanHashMismatch");
  await expect(world.decide(grant, { approvedForMinutes: 5 })).rejects.toThrow("lapsed");
  await eventually(
    () => world.eventReasons(grant.metadata.name),
    (reasons) => reasons.includes("GrantLapsed"),
  );
  const before = await refusals("GrantClosed");
  await refused(await world.invoke("kubernetes/scale", scaleTo(9).params, granted(grant)), "GrantClosed", before);
});

test("a plan that understates its risk lapses", async () => {
  const grant = await world.ask(
    [{ command: "kubernetes/delete-pod", params: { namespace: SHOP, pod: "x" } }],
    "mutating",
  );
  const lapsed = await world.grant(grant, ({ status }) => status?.state === "Lapsed");
  expect(condition(lapsed, "Approved")).toBe("False/RiskUnderstated");
});

test("an approval that is seen after decideBefore opens nothing", async () => {
  const lapsed = await world.grant(late, ({ status }) => status?.state === "Lapsed");
  expect(condition(lapsed, "Approved")).toBe("False/DecisionTooLate");
  expect(lapsed.status?.approvedUntil).toBeUndefined();
  const before = await refusals("GrantClosed");
  await refused(await world.invoke("kubernetes/scale", scaleTo(9).params, granted(late)), "GrantClosed", before);
});

test("a grant revoked in the middle of its plan runs no further line", async () => {
  const grant = await world.approved([scaleTo(2), scaleTo(6)]);
  expect(
    (await world.ended(await world.invoke("kubernetes/scale", scaleTo(2).params, granted(grant)))).status?.state,
  ).toBe("Succeeded");
  await world.decide(grant, { revokedReason: "enough" });
  const before = await refusals("GrantClosed");
  await refused(await world.invoke("kubernetes/scale", scaleTo(6).params, granted(grant)), "GrantClosed", before);
  const over = await world.grant(grant, ({ status }) => status?.state === "Revoked");
  expect(condition(over, "Active")).toBe("False/Revoked");
  expect(over.status?.commands?.map(({ state }) => state)).toEqual(["Succeeded", "Skipped"]);
});

test("a denied request runs nothing", async () => {
  const grant = await world.ask([scaleTo(6)], "mutating");
  await world.decide(grant, { deniedReason: "outside change window" });
  const denied = await world.grant(grant, ({ status }) => status?.state === "Denied");
  expect(condition(denied, "Approved")).toBe("False/DeniedByCustomer");
  const before = await refusals("GrantClosed");
  await refused(await world.invoke("kubernetes/scale", scaleTo(6).params, granted(grant)), "GrantClosed", before);
});

test("a grant that was deleted and written again is another one, and not approved", async () => {
  const grant = await world.approved([scaleTo(6)]);
  await world.admin.delete(accessGrants, { namespace: GRANTS, name: grant.metadata.name }, {}, signal());
  const again = await world.ask([scaleTo(6)], "mutating", { requestId: grant.spec.requestId });
  expect(again.metadata.uid).not.toBe(grant.metadata.uid);
  const before = await refusals("GrantClosed");
  await refused(await world.invoke("kubernetes/scale", scaleTo(6).params, granted(again)), "GrantClosed", before);
});

test("a forged status approves nothing", async () => {
  const grant = await world.ask([scaleTo(6)], "mutating");
  const waiting = await world.grant(grant, ({ status }) => status?.state === "Pending");
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const forged = { status: { ...waiting.status, approvedAt: new Date().toISOString() } };
  const key = { namespace: GRANTS, name: grant.metadata.name };
  const patch = (body: object): Promise<unknown> =>
    world.admin.patch(accessGrants, key, { type: "merge", body }, { subresource: "status" }, signal());
  await patch(forged);
  // The API server itself refuses the two most important writes.
  await expect(patch({ status: { state: "Approved" } })).rejects.toThrow("does not hold");
  await expect(patch({ status: { approvedUntil: until } })).rejects.toThrow("window");
  const before = await refusals("GrantClosed");
  await refused(await world.invoke("kubernetes/scale", scaleTo(6).params, granted(grant)), "GrantClosed", before);
});

test("a policy that denies holds even what was approved", async () => {
  const name = "no-scaling";
  const policy = ours("OperationPolicy", name, { rules: [{ pattern: "kubernetes/scale", decision: "deny" }] });
  const grant = await world.approved([scaleTo(6)]);
  await world.admin.create(operationPolicies, policy, signal());
  await world.grant(grant, ({ status }) => status?.commands?.[0]?.state === "Held");
  const before = await refusals("PolicyDenied");
  await refused(await world.invoke("kubernetes/scale", scaleTo(6).params, granted(grant)), "PolicyDenied", before);
  await world.admin.delete(operationPolicies, { namespace: GRANTS, name }, {}, signal());
  await world.grant(grant, ({ status }) => status?.commands?.[0]?.state === "Planned");
});

test("a namespace that the deployment does not have is refused, and so is another deployment", async () => {
  const elsewhere = { namespace: "kube-system" };
  const before = await refusals("NamespaceNotOpen");
  await refused(
    await world.invoke("kubernetes/get-pods", elsewhere, { tier: "read-only" }),
    "NamespaceNotOpen",
    before,
  );
  const other = { tier: "read-only", deploymentId: "dpl_other" } as const;
  await refused(
    await world.invoke("kubernetes/get-pods", { namespace: SHOP }, other),
    "DeploymentNotServed",
    await refusals("DeploymentNotServed"),
  );
});

test("a command past its deadline expires unrun", async () => {
  const deadline = new Date(Date.now() - 1_000).toISOString();
  const invocation = await world.invoke("kubernetes/get-pods", { namespace: SHOP }, { tier: "read-only", deadline });
  const ended = await world.ended(invocation);
  expect([ended.status?.state, condition(ended, "Authorized")]).toEqual(["Expired", "False/DeadlinePassed"]);
});

test("a missing admission policy shows on open grants, and its return does not whitewash the decision", async () => {
  const grant = await world.approved([scaleTo(6)]);
  const [policy] = (
    await world.cluster.kubectl(["get", "validatingadmissionpolicy", "sallyport-grant-decisions", "-o", "json"])
  ).stdout.split("\u0000");
  await world.cluster.kubectl(["delete", "validatingadmissionpolicy", "sallyport-grant-decisions"]);
  await world.grant(grant, (each) => condition(each, "IdentityVerified") === "False/NotEnforced");
  expect(await metric(operator.registry, 'sallyport_policies_present{policy="sallyport-grant-decisions"}')).toBe(0);
  const { metadata, ...rest } = JSON.parse(policy ?? "{}") as { metadata: { name: string }; status?: unknown };
  await world.cluster.apply([{ ...rest, status: undefined, metadata: { name: metadata.name } }]);
  await eventually(
    () => metric(operator.registry, 'sallyport_policies_present{policy="sallyport-grant-decisions"}'),
    (value) => value === 1,
  );
  const still = await world.grant(grant, () => true);
  expect(condition(still, "IdentityVerified")).toBe("False/NotEnforced");
});

test("a window that is over runs nothing", async () => {
  const grant = await world.approved([scaleTo(6)]);
  const before = await refusals("GrantClosed");
  operator.clock.shiftMs = 31 * 60_000;
  try {
    await refused(await world.invoke("kubernetes/scale", scaleTo(6).params, granted(grant)), "GrantClosed", before);
  } finally {
    operator.clock.shiftMs = 0;
  }
  expect(await world.replicas()).toBe(2);
});

test("access that a crash has left behind is swept away", async () => {
  const uid = "11111111-2222-4333-8444-555555555555";
  const labels = { "sallyport.dev/grant-uid": uid };
  await world.cluster.apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: grantAccount(uid), namespace: GRANTS, labels } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "left-over", namespace: SHOP, labels },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "sallyport-op-kubernetes-scale" },
      subjects: [{ kind: "ServiceAccount", name: grantAccount(uid), namespace: GRANTS }],
    },
  ]);
  await eventually(bindings, (names) => !names.includes("left-over"));
  const account = { namespace: GRANTS, name: grantAccount(uid) };
  await eventually(
    async () => (await world.admin.get(resources.serviceAccounts, account, signal())) ?? "gone",
    (found) => found === "gone",
  );
});

test("no token, and no secret of the workload, is in any log line, metric, status or event", async () => {
  const written = [...operator.lines, await operator.registry.metrics()];
  for (const resource of [accessGrants, operationInvocations, resources.events]) {
    for await (const each of world.admin.list(resource, { namespace: GRANTS }, signal()))
      written.push(JSON.stringify(each));
  }
  expect(operator.lines.length).toBeGreaterThan(50);
  expect(written.length).toBeGreaterThan(100);
  // Bound tokens are JWTs; the canary is the workload's password.
  expect(written.filter((text) => /eyJ[\w-]{10}|canary-7c1f/.test(text))).toEqual([]);
});
