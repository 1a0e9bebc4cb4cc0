import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import type { syncRoutes } from "../../src/contract/deployments/sync.ts";
import type { BodyOf } from "../../src/contract/wire/route.ts";
import { objectName } from "../../src/crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../src/crds/kinds/managed-deployment.ts";
import { type AgentWorld, createAgentWorld, GRANTS, type Running, SHOP } from "./agent/agent-world.ts";
import { eventually, signal } from "./wait.ts";

// What the vendor and the customer see of workloads: a real API server, the platform, and the agent between them. No
// controller runs, so the test alone writes the status of workloads.
type Report = BodyOf<(typeof syncRoutes)["reconcile"]>;

const cluster = useCluster();
const reports: Report[] = [];
let world: AgentWorld;
let agent: Running;

beforeAll(async () => {
  world = await createAgentWorld(cluster());
  world.gate.onHeard = ({ target, body }) => {
    if (target === "/v1/sync/reconcile") reports.push(JSON.parse(body));
  };
  for (const name of ["api", "web"]) {
    await cluster().apply([workload(name)]);
    await ready(name, 2);
  }
  agent = world.startAgent("agent-1", { SALLYPORT_ACCESS_CHECK_INTERVAL: "2s" });
});
afterAll(async () => {
  await agent?.stop();
  await world?.close();
});

function workload(name: string): Record<string, unknown> {
  const labels = { app: name };
  const containers = [{ name: "app", image: "registry.example/app:1" }];
  const spec = {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers } },
  };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace: SHOP, labels }, spec };
}

async function ready(name: string, count: number): Promise<void> {
  const status = {
    observedGeneration: 1,
    replicas: 2,
    updatedReplicas: 2,
    readyReplicas: count,
    availableReplicas: count,
  };
  const contentType = "application/merge-patch+json";
  const path = `/apis/apps/v1/namespaces/${SHOP}/deployments/${name}/status`;
  await cluster().request({ method: "PATCH", path, contentType, body: { status } });
}

/** By name: what the vendor reads. */
async function seen(): Promise<Readonly<Record<string, string>>> {
  const { resources } = await world.engineer.resources.list({ query: { project: world.projectId } }, signal());
  return Object.fromEntries(resources.map(({ name, health, readyCount }) => [name, `${health} ${readyCount}`]));
}

/** What the customer reads. */
async function shown(): Promise<ManagedDeployment["status"]> {
  const key = { namespace: GRANTS, name: objectName(world.deploymentId) };
  return (await world.admin.get<ManagedDeployment>(managedDeployments, key, signal()))?.status;
}

const condition = (status: ManagedDeployment["status"], type: string) =>
  status?.conditions?.find((each) => each.type === type);
const rowsOf = ({ observedInventoryBatches = [] }: Report): number =>
  observedInventoryBatches.reduce((sum, { resources }) => sum + resources.length, 0);

test("both sides see that all is well", async () => {
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.web === "healthy 2");
  const status = await eventually(shown, (each) => each?.workloads?.summary === "2/2");
  expect(condition(status, "WorkloadsHealthy")).toMatchObject({ status: "True", reason: "AllHealthy" });
  expect(condition(status, "Observed")).toMatchObject({ status: "True", reason: "CachesSynced" });
});

test("a workload that gets worse is told by itself, with the reason on both sides", async () => {
  const before = reports.length;
  await ready("api", 1);
  await eventually(seen, (rows) => rows.api === "degraded 1");
  expect(reports.slice(before).map(rowsOf)).toEqual([1]);
  const status = await eventually(shown, (each) => each?.workloads?.summary === "1/2");
  expect(status?.workloads?.attention).toEqual([`deployment/${SHOP}/api`]);
  const { stdout } = await cluster().kubectl(["get", "manageddeployments", "-n", GRANTS]);
  expect(stdout).toMatch(/HEALTHY.*OBSERVED[\s\S]*1\/2/);
  await ready("api", 2);
  const waited = ["wait", `manageddeployments.sallyport.dev/${objectName(world.deploymentId)}`, "-n", GRANTS];
  await cluster().kubectl([...waited, "--for=condition=WorkloadsHealthy", "--timeout=60s"]);
  expect(await seen()).toEqual({ api: "healthy 2", web: "healthy 2" });
});

test("what is deleted is gone from the vendor's lists", async () => {
  await cluster().apply([workload("brief")]);
  await ready("brief", 2);
  await eventually(seen, (rows) => rows.brief === "healthy 2");
  await cluster().kubectl(["delete", "deployment", "brief", "-n", SHOP]);
  await eventually(seen, (rows) => rows.brief === undefined);
  expect(await seen()).toEqual({ api: "healthy 2", web: "healthy 2" });
});

test("a right that is taken makes it unknown and nothing gone, and given back it is known again", async () => {
  const { stdout } = await cluster().kubectl(["get", "rolebindings", "-n", SHOP, "-o", "json"]);
  const bindings: { metadata: { name: string }; subjects: { name: string }[] }[] = JSON.parse(stdout).items;
  const own = bindings.filter(({ subjects }) => subjects.some(({ name }) => name === "sallyport-agent"));
  expect(own.length).toBeGreaterThan(0);
  for (const { metadata } of own) await cluster().kubectl(["delete", "rolebinding", metadata.name, "-n", SHOP]);
  await eventually(seen, (rows) => rows.api === "unknown 2" && rows.web === "unknown 2");
  const status = await eventually(shown, (each) => condition(each, "Observed")?.status === "False");
  expect(status?.collection).toContainEqual({ namespace: SHOP, kind: "Deployment", reason: "Forbidden" });
  expect(condition(status, "WorkloadsHealthy")?.status).toBe("Unknown");
  for (const { metadata, ...binding } of own) {
    await cluster().apply([{ ...binding, metadata: { name: metadata.name, namespace: SHOP } }]);
  }
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.web === "healthy 2");
  await eventually(shown, (each) => condition(each, "WorkloadsHealthy")?.status === "True");
});

test("a platform that was restored from before asks once, and has everything again", async () => {
  const { db } = world.platform;
  await db.deleteFrom("inventory_scopes").execute();
  await db.deleteFrom("resource_heartbeats").execute();
  const before = reports.length;
  await ready("api", 1);
  await eventually(seen, (rows) => rows.api === "degraded 1" && rows.web === "healthy 2");
  const full = () => reports.slice(before).filter(({ resourceLevel }) => resourceLevel?.full === true);
  expect(full()).toHaveLength(1);
  await ready("api", 2);
  await eventually(seen, (rows) => rows.api === "healthy 2");
  expect(full()).toHaveLength(1);
});

test("a destructive plan on old knowledge is refused; when the engineer accepts that, the approver reads it", async () => {
  await agent.stop();
  const { db } = world.platform;
  const observedAt = new Date(Date.now() - 43 * 60_000);
  await db.updateTable("resource_levels").set({ confirmed_at: observedAt }).execute();
  await db.updateTable("resource_heartbeats").set({ observed_at: observedAt }).execute();
  await db.updateTable("inventory_rows").set({ observed_at: observedAt }).execute();
  const { accessRequests } = world.engineer;
  const params = { namespace: SHOP, pod: "web-0" };
  const plan = {
    ...{ deploymentId: world.deploymentId, remediationPlanId: "plan-1", title: "Remove it", reason: "It hangs." },
    commands: [{ command: "kubernetes/delete-pod", summary: "web-0", params }],
  };
  const { id, planHash } = await accessRequests.create({ body: plan }, signal());
  await expect(accessRequests.queue({ params: { id } }, signal())).rejects.toMatchObject({
    code: "RESOURCE_STATE_STALE",
    status: 409,
  });
  const queued = await accessRequests.queue({ params: { id }, body: { acceptStale: true } }, signal());
  expect(queued.acceptedStale?.observedAt).toBe(observedAt.toISOString());
  agent = world.startAgent("agent-2");
  const grant = await world.grant(id, (each) => each !== undefined);
  expect(grant.spec.planHash).toBe(planHash);
  const kubeconfig = cluster().kubeconfigFor({ user: "alice" });
  const words = ["get", "accessgrants", objectName(id), "-n", GRANTS, "-o", "jsonpath={.spec.reason}"];
  const { stdout } = await cluster().kubectl(words, { kubeconfig });
  expect(stdout).toBe(
    `It hangs.\n\n[platform] Raised on knowledge that is 43 minutes old: the resources were last observed at ${observedAt.toISOString()}.`,
  );
});
