import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { debugAccount } from "../../../src/crds/group.ts";
import { type AccessGrant, accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { type DebugSession, type DebugSessionSpec, debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { operationPolicies } from "../../../src/crds/kinds/operation-policy.ts";
import { openDebugSessions, openNamespaceToDebug } from "../../../src/crds/manifests/installation.ts";
import { BUILT_IN } from "../../../src/crds/operations/catalog.ts";
import { DEBUG_MODES, type DebugMode } from "../../../src/crds/operations/debug.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { WITH_DEBUG } from "../../world/installation.ts";
import { accept, condition, metric } from "../../world/objects.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { DEPLOYMENT_ID, type OperatorWorld, type RunningOperator } from "../operator/operator-world.ts";
import { askSession, CLIENT_KEY, DEBUG_NAMESPACE, debugWorld, session, setStatus } from "./debug-world.ts";

const cluster = useCluster({ holds: WITH_DEBUG });
let world: OperatorWorld;
let operator: RunningOperator;
const SETTINGS = { debugEnabled: true, debugModes: DEBUG_MODES, debugMaxConcurrent: 2 };

beforeAll(async () => {
  world = await debugWorld(cluster());
});
afterAll(() => world?.close());
beforeEach(() => {
  operator = world.start("debug-operator", SETTINGS);
});
afterEach(async () => {
  await operator.stop();
  await world.admin.patch(
    operationPolicies,
    { namespace: GRANTS, name: "default" },
    { type: "merge", body: { spec: { rules: null } } },
    {},
    signal(),
  );
});

const line = (mode: DebugMode, more: object = {}) => ({
  command: `debug/${mode}`,
  params: { namespace: SHOP, mode, clientKey: CLIENT_KEY, ...more },
});

async function approvedFor(mode: DebugMode, more: object = {}): Promise<AccessGrant> {
  const command = line(mode, more);
  const grant = await world.ask([command], BUILT_IN.tierOf(command.command));
  await world.grant(grant, ({ status }) => status?.state === "Pending");
  await world.decide(grant, { approvedForMinutes: 30, approvedPlanHash: grant.spec.planHash });
  return world.grant(grant, ({ status }) => status?.state === "Approved");
}

async function openSession(mode: DebugMode = "exec", spec: Partial<DebugSessionSpec> = {}) {
  const grant = await approvedFor(mode);
  const asked = await askSession(world, { mode, grantName: grant.metadata.name, ...spec });
  return { grant, asked, opened: await inState(asked, "Open") };
}

const inState = (asked: DebugSession, state: string): Promise<DebugSession> =>
  session(world, asked, ({ status }) => status?.state === state);

async function listed(resource: typeof resources.roleBindings, namespace: string): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = [];
  for await (const object of world.admin.list(resource, { namespace }, signal())) found.push(object);
  return found.filter(({ metadata }) => metadata.name.startsWith("debug-"));
}
const left = async (): Promise<readonly string[]> =>
  [...(await listed(resources.roleBindings, SHOP)), ...(await listed(resources.serviceAccounts, DEBUG_NAMESPACE))].map(
    ({ kind, metadata }) => `${kind} ${metadata.name}`,
  );

const policyRules = (rules: readonly object[]): Promise<unknown> =>
  world.admin.patch(
    operationPolicies,
    { namespace: GRANTS, name: "default" },
    { type: "merge", body: { spec: { rules } } },
    {},
    signal(),
  );
const patchSession = ({ metadata }: DebugSession, spec: object): Promise<unknown> =>
  world.admin.patch(debugSessions, metadata, { type: "merge", body: { spec } }, {}, signal());

test("an approved session is opened with one account and one binding, and closed without a trace", async () => {
  const { grant, asked, opened } = await openSession("exec");
  const account = debugAccount(asked.metadata.uid);
  expect(opened.status).toMatchObject({ account, state: "Open" });
  expect(condition(opened, "Authorized")).toBe("True/GrantMatched");
  expect(condition(opened, "AccessReady")).toBe("True/Ready");
  expect(condition(opened, "Attached")).toBe("False/NeverAttached");
  const window = await world.grant(grant, ({ status }) => status?.commands?.[0]?.state === "Running");
  expect(window.status?.commands?.[0]).toMatchObject({ commandId: asked.spec.sessionId });
  expect(Date.parse(opened.status?.until ?? "")).toBeLessThanOrEqual(Date.parse(window.status?.approvedUntil ?? ""));
  const may = async (verb: string, what: string, namespace = SHOP) => {
    const as = `system:serviceaccount:${DEBUG_NAMESPACE}:${account}`;
    const [resource = "", subresource = ""] = what.split("/");
    const on = subresource === "" ? [resource] : [resource, `--subresource=${subresource}`];
    return (await cluster().kubectl(["auth", "can-i", verb, ...on, "-n", namespace, "--as", as])).stdout.trim();
  };
  expect(await may("create", "pods/exec")).toBe("yes");
  expect(await may("get", "pods/log")).toBe("yes");
  expect([await may("get", "secrets"), await may("create", "pods"), await may("create", "pods/attach")]).toEqual([
    "no",
    "no",
    "no",
  ]);
  expect(await may("get", "pods", "default")).toBe("no");
  expect(await metric(operator.registry, 'sallyport_debug_opened_total{mode="exec"}')).toBe(1);

  await patchSession(asked, { endedReason: "enough" });
  const closed = await inState(asked, "Closed");
  expect(closed.status).toMatchObject({ closeReason: "revoked" });
  expect(condition(closed, "AccessReady")).toBe("False/TornDown");
  expect(await left()).toEqual([]);
  expect(await metric(operator.registry, 'sallyport_debug_closed_total{reason="revoked"}')).toBe(1);
  const done = await world.grant(grant, ({ status }) => status?.state === "Completed");
  expect(done.status?.commands?.[0]).toMatchObject({ state: "Succeeded" });
  await eventually(
    () => world.eventReasons(asked.metadata.name),
    (reasons) => ["Opened", "Ended"].every((each) => reasons.includes(each)),
  );
});

describe("each lever ends an open session", () => {
  test.each<readonly [string, string, (opened: { grant: AccessGrant; asked: DebugSession }) => Promise<unknown>]>([
    ["the grant is revoked", "revoked", ({ grant }) => world.decide(grant, { revokedReason: "enough" })],
    ["the grant is deleted", "revoked", ({ grant }) => world.admin.delete(accessGrants, grant.metadata, {}, signal())],
    ["the policy denies", "revoked", () => policyRules([{ pattern: "debug/*", decision: "deny" }])],
    [
      "the tunnel closed it",
      "idle",
      ({ asked }) =>
        setStatus(world, asked, {
          tunnel: { instance: "t-1", closed: { reason: "idle", at: new Date().toISOString() } },
        }),
    ],
  ])("%s", async (_, reason, pull) => {
    const opened = await openSession("logs");
    await pull(opened);
    const closed = await inState(opened.asked, "Closed");
    expect(closed.status?.closeReason).toBe(reason);
    expect(await left()).toEqual([]);
  });

  test("the namespace is closed to the deployment", async () => {
    const { asked } = await openSession("logs");
    await accept(world.admin, DEPLOYMENT_ID, "elsewhere");
    try {
      expect((await inState(asked, "Closed")).status?.closeReason).toBe("revoked");
      expect(await left()).toEqual([]);
    } finally {
      await accept(world.admin, DEPLOYMENT_ID, SHOP);
    }
  });

  test("its time is over", async () => {
    const grantName = (await approvedFor("logs")).metadata.name;
    // Real time: the operator goes by the API server's clock, which no test can shift.
    const expiresAt = new Date(Date.now() + 10_000).toISOString();
    const asked = await askSession(world, { mode: "logs", grantName, expiresAt });
    await inState(asked, "Open");
    expect((await inState(asked, "Closed")).status?.closeReason).toBe("expired");
    expect(await left()).toEqual([]);
  });

  test("it is deleted: nothing of it is left", async () => {
    const { asked } = await openSession("logs");
    await world.admin.delete(debugSessions, asked.metadata, {}, signal());
    await eventually(left, (names) => names.length === 0);
  });
});

describe("refused", () => {
  test.each<readonly [string, string, () => Promise<Partial<DebugSessionSpec>>]>([
    ["no grant", "NoGrant", async () => ({ mode: "logs" })],
    ["a grant that is not there", "NoGrant", async () => ({ mode: "logs", grantName: "ar-none" })],
    [
      "another client's key",
      "ModeMismatch",
      async () => ({ mode: "logs", grantName: (await approvedFor("logs")).metadata.name, clientKey: "x".repeat(43) }),
    ],
    [
      "another mode",
      "ModeMismatch",
      async () => ({ mode: "exec", grantName: (await approvedFor("logs")).metadata.name }),
    ],
    [
      "other pods",
      "ModeMismatch",
      async () => ({ mode: "logs", selector: "app=api", grantName: (await approvedFor("logs")).metadata.name }),
    ],
    ["another deployment", "DeploymentNotServed", async () => ({ mode: "logs", deploymentId: "dpl_other" })],
    ["another namespace", "NamespaceNotOpen", async () => ({ mode: "logs", namespace: "kube-system" })],
    [
      "a grant that is not approved",
      "GrantClosed",
      async () => ({ mode: "logs", grantName: (await world.ask([line("logs")], "read-only")).metadata.name }),
    ],
  ])("%s: %s", async (_, reason, spec) => {
    const asked = await askSession(world, await spec());
    const refused = await inState(asked, "Refused");
    expect(condition(refused, "Authorized")).toBe(`False/${reason}`);
    expect(refused.status).toMatchObject({ closeReason: "refused" });
    expect(await left()).toEqual([]);
  });

  test("a line that another session has used, and one session too many", async () => {
    const { grant, asked } = await openSession("logs");
    const again = await askSession(world, { mode: "logs", grantName: grant.metadata.name });
    expect(condition(await inState(again, "Refused"), "Authorized")).toBe("False/LineUsed");
    const second = await openSession("logs");
    const third = await askSession(world, { mode: "logs", grantName: (await approvedFor("logs")).metadata.name });
    expect(condition(await inState(third, "Refused"), "Authorized")).toBe("False/TooMany");
    for (const each of [asked, second.asked]) await patchSession(each, { endedReason: "enough" });
    for (const each of [asked, second.asked]) await inState(each, "Closed");
  });
});

test("a policy that names debug/logs lets it run without a grant, and debug/exec never", async () => {
  await policyRules([
    { pattern: "debug/logs", decision: "auto" },
    { pattern: "*", decision: "auto" },
  ]);
  const logs = await askSession(world, { mode: "logs" });
  expect(condition(await inState(logs, "Open"), "Authorized")).toBe("True/PolicyAuto");
  const exec = await askSession(world, { mode: "exec" });
  expect(condition(await inState(exec, "Refused"), "Authorized")).toBe("False/NoGrant");
  await patchSession(logs, { endedReason: "enough" });
  await inState(logs, "Closed");
});

test.each<readonly [string, Parameters<OperatorWorld["start"]>[1], string]>([
  ["approvers lend", { lendingMode: "approver" }, "LendingByApprovers"],
  ["the mode is off", { debugModes: ["logs"] }, "ModeDisabled"],
])("where %s, the session says so", async (_case, settings, reason) => {
  await operator.stop();
  operator = world.start("debug-operator", { ...SETTINGS, ...settings });
  const exec = await askSession(world, { mode: "exec" });
  expect(condition(await inState(exec, "Refused"), "Authorized")).toBe(`False/${reason}`);
});

test("while a policy of debug sessions is missing, none is opened", async () => {
  await cluster().kubectl(["delete", "validatingadmissionpolicybinding", "sallyport-tunnel-status"]);
  await eventually(
    async () => operator.lines.join(),
    (lines) => lines.includes("policies of what is switched on are missing"),
  );
  const grant = await approvedFor("logs");
  const asked = await askSession(world, { mode: "logs", grantName: grant.metadata.name });
  const waits = await session(world, asked, ({ status }) => status?.state === "Pending");
  expect(waits.status?.conditions?.[0]?.message).toContain("sallyport-tunnel-status");
  await cluster().apply(openDebugSessions().filter(({ metadata }) => metadata.name === "sallyport-tunnel-status"));
  await inState(asked, "Open");
  await patchSession(asked, { endedReason: "enough" });
  await inState(asked, "Closed");
});

test("while the operator may not lend the mode's role, the session says which right is missing and uses up no line", async () => {
  await operator.stop();
  await cluster().kubectl(["delete", "rolebinding", "sallyport-operator-debug-target", "-n", SHOP]);
  operator = world.start("debug-operator", { ...SETTINGS, accessCheckIntervalMs: 1_000 });
  await eventually(
    async () => operator.lines.join(),
    (lines) => lines.includes("sallyport-op-debug-logs"),
  );
  const grant = await approvedFor("logs");
  const asked = await askSession(world, { mode: "logs", grantName: grant.metadata.name });
  const waits = await session(world, asked, (seen) => condition(seen, "Permitted") === "False/RuleMissing");
  expect(waits.status?.conditions?.find(({ type }) => type === "Permitted")?.message).toContain(
    "sallyport-op-debug-logs",
  );
  const { status } = await world.grant(grant, () => true);
  expect(status?.commands?.[0]?.commandId).toBeUndefined();
  await cluster().apply(openNamespaceToDebug(SHOP));
  await inState(asked, "Open");
  await patchSession(asked, { endedReason: "enough" });
  await inState(asked, "Closed");
});

test("an operator that is killed between two steps is resumed by the next", async () => {
  const grant = await approvedFor("logs");
  await operator.stop();
  const asked = await askSession(world, { mode: "logs", grantName: grant.metadata.name });
  // As a predecessor left it: the state is Opening, and nothing of it stands.
  const at = new Date().toISOString();
  const conditions = [
    { type: "Authorized", status: "True", reason: "GrantMatched", message: "", lastTransitionTime: at },
  ];
  await setStatus(world, asked, { state: "Opening", conditions });
  operator = world.start("debug-operator-2", SETTINGS);
  await inState(asked, "Open");
  await operator.stop();
  await patchSession(asked, { endedReason: "enough" });
  operator = world.start("debug-operator-3", SETTINGS);
  await inState(asked, "Closed");
  expect(await left()).toEqual([]);
});

test("a session that was deleted while no operator ran leaves nothing", async () => {
  const { asked } = await openSession("logs");
  await operator.stop();
  await world.admin.delete(debugSessions, asked.metadata, {}, signal());
  expect(await left()).toHaveLength(2);
  operator = world.start("debug-operator-2", SETTINGS);
  await eventually(left, (names) => names.length === 0);
});

test("twenty sessions one after the other leave no account and no binding", async () => {
  await policyRules([{ pattern: "debug/logs", decision: "auto" }]);
  for (let count = 0; count < 20; count += 1) {
    const asked = await askSession(world, { mode: "logs" });
    await inState(asked, "Open");
    await patchSession(asked, { endedReason: "enough" });
    await inState(asked, "Closed");
  }
  expect(await left()).toEqual([]);
});
