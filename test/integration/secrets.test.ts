import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../lab/cluster/ports.ts";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { until } from "../../src/base/testing/until.ts";
import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import type { Command } from "../../src/contract/operations/commands.ts";
import { objectName } from "../../src/crds/group.ts";
import { type AccessGrant, type AccessGrantSpec, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { managedDeployments } from "../../src/crds/kinds/managed-deployment.ts";
import { operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { type KubeObject, resources } from "../../src/kube/objects/resource.ts";
import { startWorld, type World } from "../faults/world.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { askToScale } from "../world/platform.ts";
import { signal } from "../world/wait.ts";
import { Canaries, ChattyKubelet } from "./secrets-canaries.ts";
import { chatter, leakyObjects } from "./secrets-workload.ts";

const stack = new AsyncDisposableStack();
const stop = new AbortController();
const canaries = new Canaries();
/** The error bodies of bad calls. */
const errors: string[] = [];
let world: World;
let platformMetrics = "";

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-secrets-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [metricsPort, debug] = [await freePort(), { SALLYPORT_LOG_LEVEL: "debug" }];
  platformMetrics = `http://127.0.0.1:${metricsPort}/metrics`;
  const platform = { ...debug, SALLYPORT_PLATFORM_METRICS_PORT: String(metricsPort) };
  world = await startWorld({ folder, env: { agent: debug, operator: debug, platform } }, stack, stop.signal);
  stack.defer(() => stop.abort(new Error("the test is over")));
  const kubelet = await ChattyKubelet.listen(world.cluster, chatter(canaries));
  stack.defer(() => kubelet.close());
  await world.cluster.apply([kubelet.node]);
  // Written by itself: an `apply` does not write an object's status.
  await world.cluster.request({
    method: "PATCH",
    path: "/api/v1/nodes/node-1/status",
    contentType: "application/merge-patch+json",
    body: { status: kubelet.node.status },
  });
  await world.cluster.apply(leakyObjects(canaries));
  await guardCredentials();
  const all = [world.processes.platform, world.processes.agent, world.processes.operator, world.processes.apiserver];
  for (const target of all) target.start(stop.signal);
  await Promise.all(all.map((target) => target.kept(signal())));
  const rules = ["get-pods", "describe", "logs", "events"].map((operation) => ({
    pattern: `kubernetes/${operation}`,
    decision: "auto" as const,
  }));
  await world.engineer.operations.putPolicy({ query: { project: world.project }, body: { rules } }, signal());
});

afterAll(() => stack.disposeAsync(), 60_000);

test("no secret is in any log, event, metric, resource, record or error of a story with all its failures", async () => {
  // Each of these reads a place that holds a canary.
  const logs = await automatic("logs", { namespace: SHOP, pod: "leaky" });
  expect(logs.state).toBe("SUCCEEDED");
  // The whole log was read, and only the secrets were removed.
  expect((logs.result as { log: string }).log).toContain("listening on port 8080");
  expect((logs.result as { log: string }).log.match(/\[redacted]/g)?.length).toBeGreaterThanOrEqual(8);
  for (const kind of ["pod", "deployment"])
    expect((await automatic("describe", { namespace: SHOP, kind, name: "leaky" })).state).toBe("SUCCEEDED");
  expect(JSON.stringify((await automatic("events", { namespace: SHOP })).result)).toContain("[redacted]");
  expect((await automatic("get-pods", { namespace: SHOP })).state).toBe("SUCCEEDED");
  // Operations that fail, each with a message.
  expect((await automatic("describe", { namespace: SHOP, kind: "pod", name: "absent" })).state).toBe("FAILED");
  expect((await automatic("logs", { namespace: SHOP, pod: "leaky", container: "absent" })).state).toBe("FAILED");
  expect((await automatic("get-pods", { namespace: SYSTEM })).error?.code).toBe("COMMAND_HELD");

  const [run, denied] = [await ask(2), await ask(3)];
  await decide(denied, { deniedReason: "not today" });
  await decide(run, { approvedForMinutes: 30 });
  await until(async () => (await request(run)).execution.state === "succeeded");
  await until(async () => (await request(denied)).status === "rejected");

  await badCalls();
  await wrongRuntimeKey();
  for (const name of ["operator", "platform", "agent", "apiserver"] as const) {
    await world.processes[name].kill();
    await sleep(systemClock, 300, signal());
    world.processes[name].start(stop.signal);
    await world.processes[name].kept(signal());
  }
  expect((await automatic("describe", { namespace: SHOP, kind: "deployment", name: "leaky" })).state).toBe("SUCCEEDED");

  const haystacks = await everythingWritten();
  for (const [where, text] of haystacks)
    expect(text.length, `${where} is empty: nothing was searched`).toBeGreaterThan(2);
  expect(canaries.foundIn(haystacks)).toEqual([]);
});

test("a param that looks like a secret is in the records that must have it, and nowhere else", async () => {
  const param = new Canaries();
  const value = param.plant("param");
  await automatic("get-pods", { namespace: SHOP, labelSelector: `token=${value}` });
  await automatic("get-pods", { namespace: SHOP, labelSelector: `token in (${value}` });
  const found = param.foundIn(await everythingWritten());
  expect(found.toSorted()).toEqual(["param in operationinvocations", "param in records of the platform"]);
});

test("the search finds what is there, also in disguise", async () => {
  const text = canaries.plant("a place of its own");
  const disguised = [text, encodeURIComponent(text), Buffer.from(`xy${text}z`).toString("base64")];
  for (const each of disguised)
    expect(canaries.foundIn(new Map([["a log", `before ${each} after`]]))).toEqual(["a place of its own in a log"]);
  const secretText = (await world.cluster.request({ path: `/api/v1/namespaces/${SHOP}/secrets/db` })).body;
  expect(canaries.foundIn(new Map([["the Secret", JSON.stringify(secretText)]]))).toContain("Secret in the Secret");
  const log = await world.admin.podLogs({ namespace: SHOP, name: "leaky" }, {}, signal());
  expect(canaries.foundIn(new Map([["the pod's log", log]])).length).toBeGreaterThan(5);
});

/** Also guards the keys and tokens of the test's own processes. */
async function guardCredentials(): Promise<void> {
  for (const name of ["engineer.key", "admin.key", "runtime-key/key"])
    canaries.guard(name, (await readFile(join(world.folder, name), "utf8")).trim());
  for (const name of ["agent", "operator"] as const) {
    const kubeconfig = await readFile(world.environments[name].SALLYPORT_KUBECONFIG ?? "", "utf8");
    const token = /\btoken: *"?([\w.-]+)/.exec(kubeconfig)?.[1] ?? /"token": *"([\w.-]+)"/.exec(kubeconfig)?.[1] ?? "";
    canaries.guard(`token of the ${name}`, token);
  }
}

/** Calls with an error in every place where a caller could put a secret by mistake. */
async function badCalls(): Promise<void> {
  const engineer = (await readFile(join(world.folder, "engineer.key"), "utf8")).trim();
  const key = `sp_w_${"k".repeat(8)}_${canaries.plant("a key that does not exist")}`;
  const call = async (path: string, authorization: string, body?: unknown): Promise<void> => {
    const answer = await fetch(`${world.platformUrl}${path}`, {
      headers: { authorization, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    expect(answer.status, path).toBeGreaterThanOrEqual(400);
    expect(answer.status, path).toBeLessThan(500);
    errors.push(await answer.text());
  };
  await call("/v1/whoami", `Bearer ${key}`);
  await call("/v1/whoami", `Basic ${canaries.plant("basic authorization")}`);
  await call(`/v1/access-requests?limit=${canaries.plant("query")}`, `Bearer ${engineer}`);
  await call(`/v1/access-requests/${canaries.plant("path")}`, `Bearer ${engineer}`);
  await call("/v1/access-requests", `Bearer ${engineer}`, { title: 1, password: canaries.plant("unknown field") });
  await call("/v1/access-requests", `Bearer ${engineer}`, `{"token": "${canaries.plant("broken JSON")}`);
}

/** In the middle of a failed rotation: the agent's file holds a key that the platform does not know. */
async function wrongRuntimeKey(): Promise<void> {
  const file = join(world.folder, "runtime-key", "key");
  const right = await readFile(file, "utf8");
  const seen = async (): Promise<number> => {
    const text = await world.processes.agent.metrics();
    return Number(/sallyport_controlplane_auth_failures_total\{reason="invalid"\} (\d+)/.exec(text)?.[1]);
  };
  const before = await seen();
  await writeFile(file, `sp_m_${"k".repeat(8)}_${canaries.plant("a runtime key that does not exist")}`);
  // The long-poll ends or the heartbeat is due: the first of them uses the new key.
  await automatic("get-pods", { namespace: SHOP });
  await until(async () => (await seen()) > before);
  await writeFile(file, right);
}

/** Everything that both sides wrote, by place. */
async function everythingWritten(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const name of ["agent", "operator", "platform"])
    found.set(`log of the ${name}`, await readFile(join(world.folder, "logs", `${name}.log`), "utf8"));
  for (const name of ["agent", "operator"] as const)
    found.set(`metrics of the ${name}`, await world.processes[name].metrics());
  found.set("metrics of the platform", await (await fetch(platformMetrics)).text());
  const kinds = [accessGrants, operationInvocations, managedDeployments, resources.serviceAccounts];
  for (const resource of [...kinds, resources.roleBindings, resources.leases, resources.events])
    found.set(resource.plural, JSON.stringify(await listed(resource)));
  found.set("errors of the platform", errors.join("\n"));
  found.set("records of the platform", await records());
  return found;
}

async function listed(resource: (typeof resources)[keyof typeof resources]): Promise<readonly KubeObject[]> {
  const all: KubeObject[] = [];
  for (const namespace of [GRANTS, SYSTEM])
    for await (const object of world.admin.list<KubeObject>(resource, { namespace }, signal())) all.push(object);
  return all;
}

/** All records as an engineer reads them, with every field. */
async function records(): Promise<string> {
  const { engineer, deploymentId } = world;
  const all = [
    await engineer.accessRequests.list({ query: { limit: 100 } }, signal()),
    await engineer.commands.list({ query: { limit: 100, include: ["payload"] } }, signal()),
    await engineer.events.list({ query: { limit: 100 } }, signal()),
    await engineer.deployments.get({ params: { id: deploymentId } }, signal()),
    await engineer.managers.list({ query: {} }, signal()),
  ];
  return all.map((each) => JSON.stringify(each)).join("\n");
}

async function automatic(operation: string, params: Readonly<Record<string, string>>): Promise<Command> {
  const body = { deploymentId: world.deploymentId, plugin: "kubernetes", operation, params };
  const { commandId = "" } = await world.engineer.operations.invoke(
    { query: { project: world.project }, body },
    signal(),
  );
  let command: Command | undefined;
  await until(async () => {
    const query = { include: ["payload" as const] };
    command = await world.engineer.commands.get({ params: { id: commandId }, query }, signal());
    return command.state !== "PENDING" && command.state !== "DISPATCHED";
  });
  if (command === undefined) throw new Error("no command");
  return command;
}

const ask = async (replicas: number): Promise<string> => (await askToScale(world, replicas, "leaky")).id;

/** Until the admission policies are loaded, up to 3 s after their installation, decisions are answered with 503. */
async function decide(requestId: string, spec: Partial<AccessGrantSpec>): Promise<void> {
  const key = { namespace: GRANTS, name: objectName(requestId) };
  await until(async () => (await world.admin.get<AccessGrant>(accessGrants, key, signal())) !== undefined);
  await until(() =>
    world.approver.patch(accessGrants, key, { type: "merge", body: { spec } }, {}, signal()).then(
      () => true,
      () => false,
    ),
  );
}

function request(id: string): Promise<AccessRequest> {
  return world.engineer.accessRequests.get({ params: { id } }, signal());
}
