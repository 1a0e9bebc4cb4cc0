import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Registry } from "prom-client";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { until } from "../../../src/base/testing/until.ts";
import { objectName } from "../../../src/crds/group.ts";
import { NAMESPACE_PLACEHOLDER } from "../../../src/crds/kinds/accepted-namespaces.ts";
import { accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { type OperationInvocation, operationInvocations } from "../../../src/crds/kinds/operation-invocation.ts";
import { openNamespace } from "../../../src/crds/manifests/installation.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { type DynamicObject, type KubeObject, type Resource, resources } from "../../../src/kube/objects/resource.ts";
import { newId } from "../../../src/platform/kernel/ids.ts";
import { startWorld, type World } from "../../faults/world.ts";
import { namespace, workload } from "../../world/installation.ts";
import { eventReasons, metric, ours } from "../../world/objects.ts";
import { GRANTS, People, SHOP } from "../../world/people.ts";
import { startAgent, startOperator } from "../../world/processes.ts";
import { signal } from "../../world/wait.ts";
import { getPods, JOBS, policyAdmins } from "./customers-objects.ts";
import { type Report, Swarm, tellsNothing } from "./swarm.ts";

const MOST = 20;
const stack = new AsyncDisposableStack();
const stop = new AbortController();
let registry: Registry;
let world: World;
let platform: Swarm;
/** A client with the credentials of a stolen agent. */
let agent: Client;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-acceptance-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  platform = await Swarm.listen([SHOP, JOBS]);
  stack.defer(() => platform.close());
  world = await startWorld({ folder }, stack, stop.signal);
  await world.cluster.apply([
    namespace(JOBS),
    ...openNamespace(JOBS),
    policyAdmins(),
    ours("OperationPolicy", "reading-is-free", { defaults: { "read-only": "auto" } }),
    workload("web"),
    workload("worker", { namespace: JOBS }),
  ]);
  agent = await stack.use(new People(world.cluster)).with(world.environments.agent.SALLYPORT_KUBECONFIG ?? "");
  const env = (kind: "agent" | "operator") => ({
    ...world.environments[kind],
    SALLYPORT_PLATFORM_URL: platform.url,
    SALLYPORT_NAMESPACES: `${SHOP},${JOBS}`,
    SALLYPORT_DEPLOYMENTS: "",
    SALLYPORT_MAX_WAITING_DEPLOYMENTS: String(MOST),
    SALLYPORT_POLL_INTERVAL: "500ms",
  });
  const running = [startAgent(env("agent")), startOperator(env("operator"))] as const;
  ({ registry } = running[0]);
  stack.defer(async () => {
    stop.abort(new Error("the test is over"));
    await Promise.all(running.map((each) => each.stop()));
  });
});
afterAll(() => stack.disposeAsync(), 60_000);
beforeEach(() => {
  platform.reports.length = 0;
});

test("two deployments wait until the customer accepts each, and neither learns anything of the other's namespace", async () => {
  const [one, two] = [newId("dep"), newId("dep")];
  platform.list(one, two);
  await until(async () => (await stateOf(one)) === "Waiting" && (await stateOf(two)) === "Waiting");
  await until(async () => reportsOf(one).length > 0 && reportsOf(two).length > 0);
  expect(platform.reports.every(tellsNothing)).toBe(true);
  expect([platform.leased, platform.dispatched, platform.materialized]).toEqual([[], [], []]);
  expect([await all(accessGrants), await all(operationInvocations)]).toEqual([[], []]);
  await until(async () => (await eventReasons(world.admin, objectName(one))).includes("AwaitingAcceptance"));

  await accept(one, SHOP);
  await until(async () => platform.ends.has(platform.commandOf(one, SHOP)));
  expect(platform.ends.get(platform.commandOf(one, SHOP))).toMatchObject({ state: "SUCCEEDED" });
  await until(async () => platform.ends.has(platform.commandOf(one, JOBS)));
  expect(await refusalOf(platform.commandOf(one, JOBS))).toBe("NamespaceNotOpen");
  await until(async () => platform.materialized.includes(platform.requestOf(one)));
  expect((await all<ManagedDeployment>(managedDeployments)).filter(isServing).map(idOf)).toEqual([one]);

  await accept(two, JOBS);
  await until(async () => platform.ends.has(platform.commandOf(two, JOBS)));
  await until(async () => inventoryOf(one).length > 0 && inventoryOf(two).length > 0);
  expect([new Set(inventoryOf(one)), new Set(inventoryOf(two))]).toEqual([new Set([SHOP]), new Set([JOBS])]);
  expect(JSON.stringify(reportsOf(one))).not.toMatch(/jobs|worker/);
  expect(JSON.stringify(reportsOf(two))).not.toMatch(/"shop"|web/);
});

test("taken back, nothing goes on: no report of workloads, no grant, no command, and the gate holds what a stolen agent makes", async () => {
  const id = newId("dep");
  platform.list(id);
  await until(async () => (await stateOf(id)) === "Waiting");
  await accept(id, SHOP);
  await until(async () => platform.ends.has(platform.commandOf(id, SHOP)));
  await answer(id, []);
  await until(async () => (await stateOf(id)) === "Waiting");
  platform.reports.length = 0;
  platform.askAgain(id);
  await polled();
  const commandId = newId("cmd");
  await agent.create(operationInvocations, ours("OperationInvocation", commandId, getPods(id, commandId)), signal());
  await until(async () => (await invocation(commandId))?.status?.state === "Held");
  expect(await refusalOf(commandId)).toBe("DeploymentNotAccepted");
  expect(platform.reports.every(tellsNothing)).toBe(true);
  expect(platform.dispatched).not.toContain(platform.commandOf(id, SHOP));
  const requestName = objectName(platform.requestOf(id));
  expect(await world.admin.get(accessGrants, { namespace: GRANTS, name: requestName }, signal())).toBeUndefined();
});

test("listed again, an accepted deployment goes on by its acceptance; one that the customer deleted waits anew", async () => {
  const id = newId("dep");
  platform.list(id);
  await until(async () => (await stateOf(id)) === "Waiting");
  await accept(id, SHOP);
  await until(async () => (await stateOf(id)) === "Serving");
  platform.list();
  await until(async () => (await stateOf(id)) === "Detached");
  platform.list(id);
  await until(async () => (await stateOf(id)) === "Serving");
  await world.approver.delete(managedDeployments, keyOf(id), {}, signal());
  await until(async () => (await stateOf(id)) === "Waiting");
  expect((await managed(id))?.spec).not.toHaveProperty("acceptedNamespaces");
});

test("a stolen agent cannot accept, nor delete what the customer answered, whatever role it is given", async () => {
  const [born, id] = [newId("dep"), newId("dep")];
  platform.list(id);
  await until(async () => (await stateOf(id)) === "Waiting");
  const make = (more: object, metadata: object = {}) => {
    const made = ours("ManagedDeployment", born, { deploymentId: born, name: "x", ...more });
    return agent.create(managedDeployments, { ...made, metadata: { ...made.metadata, ...metadata } }, signal());
  };
  await expect(make({ acceptedNamespaces: [SHOP] })).rejects.toThrow("cannot be created already accepted");
  await expect(make({ acceptedNamespaces: [] })).rejects.toThrow("cannot be created already accepted");
  await expect(make({}, { finalizers: ["example.com/stay"] })).rejects.toThrow("finalizers");
  const word = { type: "merge", body: { spec: { acceptedNamespaces: [SHOP] } } } as const;
  const patched = () => agent.patch(managedDeployments, keyOf(id), word, {}, signal());
  await expect(patched()).rejects.toThrow("cannot patch resource");
  const status = { type: "merge", body: { status: { state: "Serving", namespaces: [SHOP] } } } as const;
  await agent.patch(managedDeployments, keyOf(id), status, { subresource: "status" }, signal());

  await world.cluster.apply([
    policyAdmins({ kind: "ServiceAccount", name: "sallyport-agent", namespace: "sallyport-system" }),
  ]);
  await until(() =>
    patched().then(
      () => false,
      ({ message }) => message.includes("is the customer's word"),
    ),
  );
  expect((await managed(id))?.spec).not.toHaveProperty("acceptedNamespaces");
  await answer(id, []);
  await expect(agent.delete(managedDeployments, keyOf(id), {}, signal())).rejects.toThrow(
    "may not be deleted by a Sallyport account",
  );
  await make({});
  expect(await agent.delete(managedDeployments, keyOf(born), {}, signal())).toBe(true);
  await world.admin.delete(
    resources.roleBindings,
    { namespace: GRANTS, name: "policy-admins-ServiceAccount" },
    {},
    signal(),
  );
});

test("a thousand deployments, then a thousand others, become no more than waiting objects, and few of them", async () => {
  const count = async () => [(await all(accessGrants)).length, (await all(operationInvocations)).length];
  const before = await count();
  const many = () => Array.from({ length: 1_000 }, () => newId("dep"));
  for (const each of [many(), many()]) {
    platform.list(...each);
    await polled();
    // The agent reads 500 deployments at most.
    await until(async () => (await listed("waiting")) + (await listed("unshown")) === 500);
    await until(async () => (await unanswered()).length === MOST);
    await polled();
  }
  expect(await unanswered()).toHaveLength(MOST);
  expect(await listed("accepted")).toBe(0);
  expect(await count()).toEqual(before);
  expect(platform.reports.every(tellsNothing)).toBe(true);
});

const isServing = ({ status }: ManagedDeployment): boolean => status?.state === "Serving";
const idOf = ({ spec }: ManagedDeployment): string => spec.deploymentId;
const keyOf = (id: string) => ({ namespace: GRANTS, name: objectName(id) });
const reportsOf = (id: string): readonly Report[] => platform.reports.filter(({ deploymentId }) => deploymentId === id);

/** The namespaces that its reports named. */
function inventoryOf(id: string): readonly string[] {
  const batches = reportsOf(id).flatMap(({ observedInventoryBatches }) => observedInventoryBatches ?? []);
  return batches.flatMap(({ inventoryScope }) => inventoryScope.split(":").slice(-1));
}

/** Runs the line that the object itself shows, as a person with the right. */
async function accept(id: string, namespace: string): Promise<void> {
  const line = (await managed(id))?.status?.acceptanceLine ?? "";
  const [, name, patch = ""] = /^kubectl patch (\S+) .* -p '(.*)'$/.exec(line) ?? [];
  expect(name).toBe("manageddeployments.sallyport.dev");
  const body = JSON.parse(patch.replace(NAMESPACE_PLACEHOLDER, namespace));
  await expect(patchAs(world.approver, id, JSON.parse(patch))).rejects.toThrow("spec.acceptedNamespaces[0]");
  await patchAs(world.approver, id, body);
}

function answer(id: string, acceptedNamespaces: readonly string[]): Promise<unknown> {
  return patchAs(world.approver, id, { spec: { acceptedNamespaces } });
}

function patchAs(client: Client, id: string, body: object): Promise<unknown> {
  return client.patch(managedDeployments, keyOf(id), { type: "merge", body }, {}, signal());
}

function managed(id: string): Promise<ManagedDeployment | undefined> {
  return world.admin.get<ManagedDeployment>(managedDeployments, keyOf(id), signal());
}

async function stateOf(id: string): Promise<string | undefined> {
  return (await managed(id))?.status?.state;
}

/** Deployments that the customer has not answered and that were never served. */
async function unanswered(): Promise<readonly ManagedDeployment[]> {
  const found = await all<ManagedDeployment>(managedDeployments);
  return found.filter(
    ({ spec, status }) => spec.acceptedNamespaces === undefined && status?.lastReportedAt === undefined,
  );
}

function invocation(commandId: string): Promise<OperationInvocation | undefined> {
  return world.admin.get<OperationInvocation>(operationInvocations, keyOf(commandId), signal());
}

async function refusalOf(commandId: string): Promise<string | undefined> {
  return (await invocation(commandId))?.status?.conditions?.find(({ type }) => type === "Authorized")?.reason;
}

async function all<T extends KubeObject = DynamicObject>(resource: Resource): Promise<T[]> {
  const found: T[] = [];
  for await (const each of world.admin.list<T>(resource, { namespace: GRANTS }, signal())) found.push(each);
  return found;
}

function listed(answer: string): Promise<number> {
  return metric(registry, `sallyport_listed_deployments{answer="${answer}"}`);
}

/** Waits until the agent has read the list, and what follows from it, from the beginning. */
async function polled(): Promise<void> {
  const seen = platform.lists;
  await until(async () => platform.lists >= seen + 2);
}
